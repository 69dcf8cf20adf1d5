// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables of edges, and a layer over a graph.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

using catalogue::drawn_sizes;

struct over_a_graph : catalogue::specification {
    static constexpr catalogue::limits sizes{.lists_keys = true};
    static constexpr bool in_pages = false, ragged = false;
};

struct numbers_of_edges : over_a_graph {
    static constexpr std::string_view name = "a number of each edge, weights by key";
    static constexpr auto tables = std::tuple(catalogue::edges{}, catalogue::reals<1>{catalogue::of_edges},
                                              catalogue::reals<1>{catalogue::of_heads});
    static auto spec(graph_view const& g, view<float const, 1> const& of_edge, view<float const, 1> const& shifts) {
        return scaled_dot | rescore(score * param(of_edge)[edge]) | neighbors(g)
             | weigh(sigmoid(score - param(shifts)[head])) | weighted_sum;
    }
};

struct vectors_of_edges : over_a_graph {
    static constexpr std::string_view name = "a vector of each edge added to the key";
    static constexpr auto tables = std::tuple(catalogue::edges{}, catalogue::reals<2>{catalogue::of_edge_features});
    static auto spec(graph_view const& g, view<float const, 2> const& of_edge) {
        return compare(sum(q * (k + param(of_edge)[edge])) * rsqrt(dim)) | neighbors(g) | softmax | weighted_sum;
    }
};

struct gat_layer : over_a_graph {
    static constexpr std::string_view name = "a layer of graph attention";
    static constexpr catalogue::limits sizes{.heads = 3, .key_heads = 3, .least_features = 1, .lists_keys = true};
    static constexpr bool in_few_bits = false;
    static catalogue::operand_extents extents(drawn_sizes const& n) {
        return {{n.batches, 1, n.queries, n.features},
                {n.batches, 1, n.keys, n.features},
                {n.batches, 1, n.keys, n.features},
                {n.batches, 1, n.queries, 12}};
    }
    static constexpr auto tables =
        std::tuple(catalogue::edges{},
                   catalogue::reals<2>{[](drawn_sizes const& n) { return extents_t<2>{n.features, 12}; }, -0.3, 0.3},
                   catalogue::reals<2>{[](drawn_sizes const&) { return extents_t<2>{3, 4}; }},
                   catalogue::reals<2>{[](drawn_sizes const&) { return extents_t<2>{3, 4}; }});
    static auto spec(graph_view const& g, view<float const, 2> const& w, view<float const, 2> const& target,
                     view<float const, 2> const& source) {
        return project(w, w, w, heads<3>) | gat_score(target, source) | neighbors(g) | softmax | weighted_sum
             | concat_heads | map(elu(fovea::placeholders::out));
    }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<numbers_of_edges>(), catalogue::compile<vectors_of_edges>(),
                                        catalogue::compile<gat_layer>()};

}  // namespace
