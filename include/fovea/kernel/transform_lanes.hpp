// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rest of the score and the mask, as in kernel/transform.hpp, with a query in each lane.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/score_packs.hpp>
#include <fovea/plan/index_terms.hpp>
#include <fovea/spec/row.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Rows that are neighbouring queries of one head.
template <class T, class Arch>
struct neighbouring_queries {
    FOVEA_INLINE positions<T, Arch> query(row_facts const& first) const { return {first.q_idx}; }
    FOVEA_INLINE index_t head(row_facts const& first) const { return first.head; }
};

/// Rows that are queries of several heads.
template <class T, class Arch>
struct queries_of_heads {
    integer_like<T> const* queries;
    integer_like<T> const* heads;
    FOVEA_INLINE auto query(row_facts const&) const { return index_pack<T, Arch>::load(queries); }
    FOVEA_INLINE auto head(row_facts const&) const { return index_pack<T, Arch>::load(heads); }
};

/// Scores of a vector of rows and some keys, and the terms of both sides.
template <class T>
struct lane_scores {
    T* scores;                // (keys, stride): products, and then scores
    index_t stride;           // of a key, and of a term of the rows
    index_t first_key, keys;  // the first by its position
    T const* row_terms;       // (terms, stride)
    T const* key_terms;       // (terms, key_term_stride)
    index_t key_term_stride;
    integer_like<T> const* row_indices;  // index terms: (terms, stride)
    index_t const* key_indices;          // (terms, key_term_stride)
    T* row_max;                          // the maximum of each row so far: raised to that of these scores
};

/// The environment of one key and a vector of rows; the facts are those of the first row.
template <class T, class Arch, class Rows>
struct lane_environment : index_environment<T, Arch, index_t> {
    Rows rows;
    T const* product;    // of each row with the key
    T const* row_terms;  // (terms, row_term_stride) of each row
    index_t row_term_stride;
    T const* key_terms;  // (terms, key_term_stride), the first of the key
    index_t key_term_stride;
    integer_like<T> const* row_indices;  // (terms, row_term_stride) of each row
    index_t const* key_indices;          // (terms, key_term_stride), the first of the key

    using index_environment<T, Arch, index_t>::operator();
    FOVEA_INLINE auto operator()(q_idx_t) const { return rows.query(this->row); }
    FOVEA_INLINE auto operator()(head_t) const { return rows.head(this->row); }
    FOVEA_INLINE auto operator()(plan::reference<plan::part::product, 0>) const { return pack<T, Arch>::load(product); }
    template <std::size_t I>
    FOVEA_INLINE auto operator()(plan::reference<plan::part::row_term, I>) const {
        return pack<T, Arch>::load(row_terms + static_cast<index_t>(I) * row_term_stride);
    }
    template <std::size_t I>
    FOVEA_INLINE T operator()(plan::reference<plan::part::key_term, I>) const {
        return key_terms[static_cast<index_t>(I) * key_term_stride];
    }
    template <std::size_t I>
    FOVEA_INLINE auto operator()(plan::index_reference<plan::side::query, I>) const {
        return index_pack<T, Arch>::load(row_indices + static_cast<index_t>(I) * row_term_stride);
    }
    template <std::size_t I>
    FOVEA_INLINE index_t operator()(plan::index_reference<plan::side::key, I>) const {
        return key_indices[static_cast<index_t>(I) * key_term_stride];
    }
};

namespace detail {
template <bool Masked, bool Exact, class T, class Arch, class Pointwise, class Predicate, class Rows>
FOVEA_INLINE void transform_keys(Pointwise const pointwise, Predicate const predicate, row_facts const first,
                                 Rows const rows, lane_scores<T> const at) {
    using vector = pack<T, Arch>;
    auto maximum = vector::load(at.row_max);
    T* scores = at.scores;
    for (index_t k = 0; k < at.keys; ++k, scores += at.stride) {
        lane_environment<T, Arch, Rows> const here{{first, at.first_key + k},
                                                   rows,
                                                   scores,
                                                   at.row_terms,
                                                   at.stride,
                                                   at.key_terms + k,
                                                   at.key_term_stride,
                                                   at.row_indices,
                                                   at.key_indices + k};
        auto score = as_pack<T, Arch>(evaluate_in_lanes<T, Arch, Exact>(pointwise, here));
        if constexpr (Masked)
            score = select(lane_mask<T, Arch>::all() && evaluate_in_lanes<T, Arch, Exact>(predicate, here), score,
                           vector(excluded<T>));
        if constexpr (Masked || !plan::is_bare_product<Pointwise>) score.store(scores);
        maximum = max(score, maximum);
    }
    maximum.store(at.row_max);
}
template <bool Masked, class T, class Arch, class Pointwise, class Predicate, class Rows>
[[gnu::noinline]] void transform_keys_exactly(Pointwise const& pointwise, Predicate const& predicate,
                                              row_facts const& first, Rows const& rows, lane_scores<T> const& at) {
    transform_keys<Masked, true, T, Arch>(pointwise, predicate, first, rows, at);
}
}  // namespace detail

/// transform_lanes: the rest of the score, pointwise, on a vector of rows and some keys, and the mask where a pair may
/// be excluded. `indices` holds both expressions with references to index terms that have been computed before.
/// Expressions and facts are passed by value, as those of transform are.
template <bool Masked, class T, class Arch, class Pointwise, class Predicate, class Indices, class Rows>
FOVEA_INLINE void transform_lanes(Pointwise const& pointwise, Predicate const& predicate, Indices const& indices,
                                  row_facts const first, Rows const rows, lane_scores<T> const at) {
    if constexpr (asks_for_exact<T, Pointwise> || (Masked && asks_for_exact<T, Predicate>))
        if (first.exact) return detail::transform_keys_exactly<Masked, T, Arch>(pointwise, predicate, first, rows, at);
    detail::transform_keys<Masked, false, T, Arch>(indices.pointwise, indices.predicate, first, rows, at);
}

}  // namespace fovea::FOVEA_SET::kernel
