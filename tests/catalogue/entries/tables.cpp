// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores and masks with tables by query and key.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

using catalogue::drawn_sizes;
using testing::dice;

/// Axes of one element, which stands for all positions, as often as not.
extents_t<3> of_some_pairs(drawn_sizes const& n) {
    return {n.features % 2 == 0 ? 1 : n.heads(), n.queries % 3 == 0 ? 1 : n.queries, n.keys % 3 == 0 ? 1 : n.keys};
}
struct biases_of_pairs : catalogue::specification {
    static constexpr std::string_view name = "a bias for each pair, of each head or of all";
    static constexpr auto tables = std::tuple(catalogue::reals<3>{of_some_pairs});
    static auto spec(view<float const, 3> const& table) { return scaled_dot | bias(table) | softmax | weighted_sum; }
};

struct terms_of_indices : catalogue::specification {
    static constexpr std::string_view name = "tables of the query and of the key alone";
    static constexpr catalogue::limits sizes{.least_features = 1};  // without features the scale is that of 0 / 0
    static constexpr auto tables =
        std::tuple(catalogue::reals<1>{catalogue::of_queries, 0.5, 1}, catalogue::reals<1>{catalogue::of_keys},
                   catalogue::reals<2>{[](drawn_sizes const& n) { return extents_t<2>{n.keys, 3}; }});
    static auto spec(view<float const, 1> const& of_query, view<float const, 1> const& of_key,
                     view<float const, 2> const& vectors) {
        auto const of_vector = sum(param(vectors)[0] * param(vectors)[kv_idx]);
        return scaled_dot | rescore(score * param(of_query)[q_idx] + param(of_key)[kv_idx] - 0.01 * kv_idx + of_vector)
             | where(kv_idx + 1 < q_idx || q_idx % 7 != 2) | softmax | weighted_sum;
    }
};

struct listed_pairs : catalogue::specification {
    static constexpr std::string_view name = "a table of visible pairs";
    static constexpr bool of_products = true;
    static void some(dice& from, drawn_sizes const&, std::span<std::int32_t> to) {
        for (auto& x : to) x = from.chance(0.4);
    }
    static constexpr auto tables = std::tuple(catalogue::integers<2>{catalogue::of_pairs, some});
    static auto spec(view<std::int32_t const, 2> const& visible) {
        return scaled_dot | mask_tensor(visible) | softmax | weighted_sum;
    }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<biases_of_pairs>(), catalogue::compile<terms_of_indices>(),
                                        catalogue::compile<listed_pairs>()};

}  // namespace
