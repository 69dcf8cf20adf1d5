// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores that are summed for each pair, with tables inside the sum.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct graph_score_of_all : catalogue::specification {
    static constexpr std::string_view name = "second score of graph attention over all pairs";
    static constexpr auto tables = std::tuple(catalogue::reals<2>{catalogue::of_head_features, -0.5, 0.5});
    static auto spec(view<float const, 2> const& a) { return gatv2_score(a) | softmax | weighted_sum; }
};

struct vectors_of_distances : catalogue::specification {
    static constexpr std::string_view name = "a vector added to each key by its distance";
    static constexpr auto tables = std::tuple(catalogue::reals<2>{catalogue::of_distance_features<6>});
    static auto spec(view<float const, 2> const& table) {
        return relative_keys(table) | causal | softmax | weighted_sum;
    }
};

struct vectors_added_to_values : catalogue::specification {
    static constexpr std::string_view name = "a vector added to each value by its distance";
    static constexpr auto tables = std::tuple(
        catalogue::reals<2>{[](catalogue::drawn_sizes const& n) { return extents_t<2>{9, n.value_features}; }});
    static auto spec(view<float const, 2> const& table) {
        return scaled_dot | causal | softmax | relative_values(table);
    }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<graph_score_of_all>(),
                                        catalogue::compile<vectors_of_distances>(),
                                        catalogue::compile<vectors_added_to_values>()};

}  // namespace
