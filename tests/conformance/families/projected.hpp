// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/fovea.hpp>

#include <cstdint>

namespace conformance {

/// Rows through a map of rows alone, by an attention in which each position sees itself.
template <class Engine, class Rows>
auto projected(auto const& map, Rows const& rows) {
    using namespace fovea::placeholders;
    auto const source = fovea::as_view(rows);
    using source_type = decltype(source);
    auto sizes = source.extents;
    sizes.back() = map.features(sizes.back());
    fovea::tensor<typename source_type::value_type, source_type::rank> result(sizes);
    auto const attention = fovea::project(fovea::as_is, fovea::as_is, map) | fovea::dot | fovea::where(q_idx == kv_idx)
                         | fovea::hardmax | fovea::weighted_sum;
    Engine::attend(attention, source, result.view());
    return result;
}

/// (position, heads * feature) or (batch, position, heads * feature), seen as (batch, head, position, feature).
template <class T, int Rank>
fovea::view<T const, 4> split(fovea::tensor<T, Rank> const& joined, fovea::index_t heads) {
    auto const rows = fovea::as_heads(joined.view());
    return fovea::split_heads(rows, heads, "a projected row");
}

/// A number of heads as a constant where it is among the counts, for project; other counts are met without project.
template <int... Counts>
void with_heads(std::int64_t count, auto const& use_constant, auto const& use_any) {
    bool const found = ((count == Counts && (use_constant(fovea::heads<Counts>), true)) || ...);
    if (!found) use_any();
}

}  // namespace conformance
