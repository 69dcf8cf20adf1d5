// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/integer_argument.hpp>
#include <fovea/score/rescore.hpp>

#include <cmath>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET {

/// The buckets of distances: bucket[d] of a distance d below `length`, exact up to half of them, then by logarithm.
/// Errors: shape_error for fewer than 2 buckets, or a max_distance that half of them reach.
inline std::vector<int> t5_buckets(integer_argument buckets, integer_argument max_distance, integer_argument length) {
    index_t const exact = buckets / 2;
    if (buckets < 2 || max_distance <= exact)
        raise_error(shape_error("t5_buckets: ", detail::there_are(buckets.value, "bucket"), " up to a distance of ",
                                max_distance.value, ": it takes 2 or more, and a distance above half of them"));
    std::vector<int> bucket;
    for (index_t d = 0; d < length; ++d) {
        if (d < exact) {
            bucket.push_back(static_cast<int>(d));
            continue;
        }
        double const share = std::log(static_cast<double>(d) / static_cast<double>(exact))
                           / std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
        auto const logarithmic = exact + static_cast<index_t>(share * static_cast<double>(buckets - exact));
        bucket.push_back(static_cast<int>(logarithmic < buckets ? logarithmic : buckets - 1));
    }
    return bucket;
}

/// t5_bias: a learned number for each bucket of distances and each head; buckets widen with the distance.
///
///     s' = s + table[bucket(kv_idx - q_idx), head]
///
/// Shapes: `table` is (bucket, head); of_distance is (distance), integers: t5_buckets of one direction, for as many
/// positions as the call has. Both are kept as views.
/// Cost: two numbers read for each pair.
/// Gradients: of the score and `table`.
/// Edge cases: in both directions, keys after the query use the second half of the buckets. Otherwise keys before the
/// query use all buckets, those after it the first.
/// Errors: shape_error where a table is smaller than the call.
/// Source: Raffel et al. 2020, section 2.1.
template <class Table, class Buckets>
constexpr auto t5_bias(Table&& table, Buckets&& of_distance, bool both_directions = true) {
    using namespace placeholders;
    auto const all = detail::table_param<2>(std::forward<Table>(table));
    index_t const half = both_directions ? all.table.extent(0) / 2 : 0;
    auto const distance = both_directions ? index_t{1} : index_t{0};
    auto const far = max(q_idx - kv_idx, distance * (kv_idx - q_idx));
    auto const behind = select(kv_idx > q_idx, half, index_t{0});
    return rescore(score + all(detail::table_param<1>(std::forward<Buckets>(of_distance))[far] + behind, head));
}
template <class... Others>
    requires(sizeof...(Others) != 2 && sizeof...(Others) != 3)
constexpr ill_formed t5_bias(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
