// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rest of a score and the mask, applied to a row of scores with a key in each lane.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/spec/row.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Pointers to the parts of a lowered score for one row of a tile, at the first key of a run of packs.
template <class T>
struct row_parts {
    T* scores;  // first plane; the result goes here too
    index_t plane_stride;
    index_t products;  // planes of products; those of pairwise terms follow
    T const* row_terms;
    T const* key_terms;
    index_t key_term_stride;
    index_t const* row_indices;          // index terms: one for each
    integer_like<T> const* key_indices;  // (terms, key_term_stride)
};

namespace detail {
template <bool Masked, bool Exact, class T, class Arch, class Pointwise, class Predicate>
FOVEA_INLINE void transform_row(Pointwise const pointwise, Predicate const predicate, row_facts const row,
                                row_parts<T> const at, index_t first_key, index_t packs) {
    using vector = pack<T, Arch>;
    using keys = positions<T, Arch>;
    for (index_t p = 0; p < packs; ++p) {
        index_t const column = p * vector::lanes;
        tile_environment<T, Arch, keys> const here{{row, keys{first_key + column}},
                                                   at.scores + column,
                                                   at.plane_stride,
                                                   at.products,
                                                   at.row_terms,
                                                   at.key_terms + column,
                                                   at.key_term_stride,
                                                   at.row_indices,
                                                   at.key_indices + column};
        auto score = as_pack<T, Arch>(evaluate_in_lanes<T, Arch, Exact>(pointwise, here));
        if constexpr (Masked) {
            auto const visible = (here.keys < row.kv_len) && evaluate_in_lanes<T, Arch, Exact>(predicate, here);
            score = select(visible, score, vector(excluded<T>));
        }
        score.store(at.scores + column);
    }
}
template <bool Masked, class T, class Arch, class Pointwise, class Predicate>
[[gnu::noinline]] void transform_exactly(Pointwise const& pointwise, Predicate const& predicate, row_facts const& row,
                                         row_parts<T> const& at, index_t first_key, index_t packs) {
    transform_row<Masked, true, T, Arch>(pointwise, predicate, row, at, first_key, packs);
}
}  // namespace detail

/// transform: the rest of the score, pointwise, on one row, and the mask where the run is mixed. `indices` holds both
/// expressions with references to index terms that have been computed before.
///
/// Expressions and facts are passed by value: stores of vectors might alias a referenced one, and what is the same for
/// the whole row would be computed again for each vector.
template <bool Masked, class T, class Arch, class Pointwise, class Predicate, class Indices>
FOVEA_INLINE void transform(Pointwise const& pointwise, Predicate const& predicate, Indices const& indices,
                            row_facts const row, row_parts<T> const at, index_t first_key, index_t packs) {
    if constexpr (!Masked && plan::is_bare_product<Pointwise>) return;
    if constexpr (asks_for_exact<T, Pointwise> || (Masked && asks_for_exact<T, Predicate>))
        if (row.exact)
            return detail::transform_exactly<Masked, T, Arch>(pointwise, predicate, row, at, first_key, packs);
    detail::transform_row<Masked, false, T, Arch>(indices.pointwise, indices.predicate, row, at, first_key, packs);
}

}  // namespace fovea::FOVEA_SET::kernel
