// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys that are the neighbours of a node.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct over_a_graph : catalogue::specification {
    static constexpr catalogue::limits sizes{.lists_keys = true};
    static constexpr bool in_pages = false, ragged = false;
};

struct neighbours : over_a_graph {
    static constexpr std::string_view name = "products along edges";
    static constexpr bool of_products = true;
    static constexpr auto tables = std::tuple(catalogue::edges{});
    static auto spec(graph_view const& g) { return scaled_dot | neighbors(g) | softmax | weighted_sum; }
};

struct gat : over_a_graph {
    static constexpr std::string_view name = "graph attention";
    static constexpr auto tables = std::tuple(catalogue::edges{}, catalogue::reals<2>{catalogue::of_head_features},
                                              catalogue::reals<2>{catalogue::of_head_features});
    static auto spec(graph_view const& g, view<float const, 2> const& target, view<float const, 2> const& source) {
        return gat_score(target, source) | neighbors(g) | softmax | weighted_sum;
    }
};

struct gatv2 : over_a_graph {
    static constexpr std::string_view name = "second graph attention, sparse";
    static constexpr auto tables =
        std::tuple(catalogue::edges{}, catalogue::reals<2>{catalogue::of_head_features, -0.5, 0.5});
    static auto spec(graph_view const& g, view<float const, 2> const& a) {
        return gatv2_score(a) | neighbors(g) | sparsemax | weighted_sum;
    }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<neighbours>(), catalogue::compile<gat>(),
                                        catalogue::compile<gatv2>()};

}  // namespace
