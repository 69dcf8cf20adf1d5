// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rest of a score and the mask, applied to vectors of scores, whichever operand lies in lanes.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/spec/row.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Vectors of scores: of one row and adjacent keys, or, with queries in lanes, of a vector of rows and one key after
/// the other. Terms are those of the (first) row, and of the first key.
template <class T, bool QueriesInLanes>
struct score_vectors {
    T* scores;              // the first plane; the result goes here too
    index_t stride, count;  // from vector to vector, and how many
    index_t first_key;      // its position
    index_t plane_stride;
    index_t products;    // planes of products; those of pairwise terms follow
    T const* row_terms;  // (terms, row_stride)
    index_t row_stride;
    T const* key_terms;  // (terms, key_stride)
    index_t key_stride;
    term_index<T, QueriesInLanes> const* row_indices;   // index terms: (terms, row_stride)
    term_index<T, !QueriesInLanes> const* key_indices;  // (terms, key_stride)
    T* row_max;  // with queries in lanes the maximum of each row so far: raised to that of these scores

    /// The names of an expression at a vector that begins `key` keys after the first. `row` is the (first) row.
    template <class Arch, class Rows>
    FOVEA_INLINE auto names(row_coordinates const& row, Rows const& rows, T const* vector_of_scores,
                            index_t key) const {
        using keys = std::conditional_t<QueriesInLanes, index_t, positions<T, Arch>>;
        return score_environment<T, Arch, keys, Rows>{{row, keys{first_key + key}},
                                                      rows,
                                                      vector_of_scores,
                                                      plane_stride,
                                                      products,
                                                      row_terms,
                                                      row_stride,
                                                      key_terms + key,
                                                      key_stride,
                                                      row_indices,
                                                      key_indices + key};
    }
};

namespace detail {
template <bool Masked, bool Exact, class T, class Arch, class Pointwise, class Predicate, class Rows, bool InLanes>
FOVEA_INLINE void transform_vectors(Pointwise const pointwise, Predicate const predicate, row_coordinates const row,
                                    Rows const rows, score_vectors<T, InLanes> const at) {
    using vector = pack<T, Arch>;
    vector maximum(excluded<T>);
    if constexpr (InLanes) maximum = vector::load(at.row_max);
    T* scores = at.scores;
    for (index_t n = 0; n < at.count; ++n, scores += at.stride) {
        index_t const key = InLanes ? n : n * vector::lanes;
        auto const here = at.template names<Arch>(row, rows, scores, key);
        auto score = as_pack<T, Arch>(evaluate_in_lanes<T, Arch, Exact>(pointwise, here));
        if constexpr (Masked) {
            auto const exists = [&] {  // keys after the last fill vectors
                if constexpr (InLanes) return lane_mask<T, Arch>::all();
                else return here.keys < row.kv_len;
            }();
            score = select(exists && evaluate_in_lanes<T, Arch, Exact>(predicate, here), score, vector(excluded<T>));
        }
        if constexpr (Masked || !plan::is_bare_product<Pointwise>) score.store(scores);
        if constexpr (InLanes) maximum = max(score, maximum);
    }
    if constexpr (InLanes) maximum.store(at.row_max);
}
template <bool Masked, class T, class Arch, class Pointwise, class Predicate, class Rows, bool InLanes>
[[gnu::noinline]] void transform_exactly(Pointwise const& pointwise, Predicate const& predicate,
                                         row_coordinates const& row, Rows const& rows,
                                         score_vectors<T, InLanes> const& at) {
    transform_vectors<Masked, true, T, Arch>(pointwise, predicate, row, rows, at);
}
}  // namespace detail

/// transform: the rest of the score, pointwise, and the mask where a pair may be excluded. `indices` holds both
/// expressions with references to index terms that have been computed before.
///
/// Expressions and coordinates are passed by value: stores of vectors might alias a referenced one, and what is the
/// same for the whole row would be computed again for each vector.
template <bool Masked, class T, class Arch, class Pointwise, class Predicate, class Indices, class Rows, bool InLanes>
FOVEA_INLINE void transform(Pointwise const& pointwise, Predicate const& predicate, Indices const& indices,
                            row_coordinates const row, Rows const rows, score_vectors<T, InLanes> const at) {
    if constexpr (!Masked && !InLanes && plan::is_bare_product<Pointwise>) return;
    if constexpr (asks_for_exact<T, Pointwise> || (Masked && asks_for_exact<T, Predicate>))
        if (row.exact) return detail::transform_exactly<Masked, T, Arch>(pointwise, predicate, row, rows, at);
    detail::transform_vectors<Masked, false, T, Arch>(indices.pointwise, indices.predicate, row, rows, at);
}

}  // namespace fovea::FOVEA_SET::kernel
