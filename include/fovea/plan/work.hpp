// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operations of a call in its sums over features, and the bytes of its arrays: what bounds its time from below.
#pragma once

#include <fovea/core/memory.hpp>
#include <fovea/plan/explain.hpp>
#include <fovea/plan/lowered_spec.hpp>
#include <fovea/spec/call/memory.hpp>
#include <fovea/spec/result_shapes.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace fovea::FOVEA_SET::plan {

/// The operations for one pair: a multiplication and an addition are two.
struct operations_of_pair {
    double score = 0, values = 0;
};

template <attention_spec A>
operations_of_pair count_operations(A const& a, operand_shapes const& n) {
    double const compared = static_cast<double>(n.compared()), features = static_cast<double>(n.features());
    operations_of_pair of{0, 2 * features};
    if constexpr (is_recurrent<A>) {
        of.score = 2 * compared * features;  // a key to the state; the values are a query from it
        of.values = of.score;
    } else {
        auto const parts = lower_attention(a).score.parts;
        of.score = 2 * compared * static_cast<double>(count_of<decltype(parts.products)>);
        for_each_part(parts.pairs, [&]<class Pair>(Pair const& pair) {
            constexpr index_t each = Pair::query_times_row || Pair::key_times_row
                                       ? 2
                                       : detail::operations_in<std::remove_cvref_t<decltype(pair.body)>> + 1;
            of.score += static_cast<double>(each) * static_cast<double>(pair.over.of(n.query[3], n.key[3]).count);
        });
    }
    return of;
}

/// The pairs of a call of which some are computed: `visible` of 1 where the mask leaves out whole tiles.
template <attention_spec A>
double count_pairs(A const& a, operand_shapes const& n, double visible) {
    double const heads = static_cast<double>(n.batches() * n.heads());
    if constexpr (is_recurrent<A>) return heads * static_cast<double>(std::max(n.queries(), n.keys()));
    else if constexpr (lists_keys<A>) return heads * static_cast<double>(a.mask.neighbor_list().edges());
    else return heads * static_cast<double>(n.queries() * n.keys()) * visible;
}

/// Those of a row map for each row of its source.
template <row_map Map>
double count_operations(Map const& map) {
    double sum = 0;
    for_each_row_map(map, [&]<class One>(One const& one) {
        if constexpr (linear_map<map_below<One>>)
            sum += 2 * static_cast<double>(inputs_of(row_map_below(one)) * outputs_of(row_map_below(one)));
    });
    return sum;
}

/// Those of all projections of a call and of what follows its heads.
template <attention_spec A>
double count_projections(A const& a, operand_shapes const& n) {
    double sum = 0;
    auto const add = [&](auto const& map, index_t positions) {
        sum += static_cast<double>(n.batches() * positions) * count_operations(map);
    };
    if constexpr (projection<decltype(a.project)>) {
        add(a.project.query, n.queries());
        add(a.project.key, n.keys());
        add(a.project.value, n.keys());
    }
    for_each_finish(a.aggregate, [&](auto const& finish) {
        if constexpr (linear_finish<std::remove_cvref_t<decltype(finish)>>) add(finish.linear(), n.queries());
    });
    return sum;
}

/// The bytes of a view that is written.
template <class T, int Rank>
double count_bytes(view<T, Rank> const& written) {
    return static_cast<double>(written.size()) * static_cast<double>(sizeof(T));
}
/// The bytes of arrays that are read, each counted once: for_each_array(visit) calls visit with their regions.
template <class ForEachArray>
double count_bytes(ForEachArray const& for_each_array) {
    std::vector<fovea::detail::memory_region> seen;
    double bytes = 0;
    for_each_array([&](fovea::detail::memory_region const& region) {
        if (std::any_of(seen.begin(), seen.end(), [&](auto const& other) { return region.same_as(other); })) return;
        seen.push_back(region);
        double size = region.element > 0 ? static_cast<double>(region.element) : 1.0 / 8;
        for (std::size_t axis = 0; axis < region.rank; ++axis)
            if (region.strides[axis] != 0) size *= static_cast<double>(region.extents[axis]);
        bytes += size;
    });
    return bytes;
}

/// "1.61 G", "820 k"
inline std::string in_thousands(double x) {
    constexpr std::array<char const*, 5> prefixes{"", "k", "M", "G", "T"};
    std::size_t n = 0;
    for (; x >= 999.5 && n + 1 < prefixes.size(); ++n) x /= 1000;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(),
                  n == 0 || x >= 99.95 ? "%.0f %s"
                  : x >= 9.995         ? "%.1f %s"
                                       : "%.2f %s",
                  x, prefixes[n]);
    return text.data();
}

/// "1.61 Gflop in sums over features; 8.39 MB read, 2.10 MB written"
inline std::string explain_work(double operations, double read, double written) {
    return in_thousands(operations) + "flop in sums over features; " + in_thousands(read) + "B read, "
         + in_thousands(written) + "B written";
}

}  // namespace fovea::FOVEA_SET::plan
