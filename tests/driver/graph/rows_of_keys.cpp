// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Gradients of tables that have rows of their own for each key of a graph, such as keys by kind of edge: summed by the
// pass over the keys, or in shares where something else reads them.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "driver/score_gradient_case.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using score_gradient_case::difference;
using score_gradient_case::worst;

namespace {

constexpr index_t nodes = 40, kinds = 3;

/// A random graph, a kind for each edge, and for each kind and key a vector.
struct relations {
    graph edges;
    tensor<int, 1> kind;
    tensor<float, 4> keys;  // (kind, head, key, feature)
    tensor<float, 2> of_kinds;

    relations(testing::dice& random, index_t heads, index_t features)
        : edges(listed(random)),
          kind({index_t{5} * nodes}),
          keys(testing::random_tensor<float>(random, extents_t<4>{kinds, heads, nodes, features})),
          of_kinds(testing::random_tensor<float>(random, extents_t<2>{kinds, features})) {
        for (int& each : kind.elements) each = static_cast<int>(random.between(0, kinds - 1));
    }
    auto product() const { return sum(q * param(keys)(param(kind)[edge], head, kv_idx)) * rsqrt(dim); }

private:
    static graph listed(testing::dice& random) {
        std::vector<graph::edge> all;
        for (index_t e = 0; e < 5 * nodes; ++e)
            all.push_back({static_cast<std::int32_t>(random.between(0, nodes - 1)),
                           static_cast<std::int32_t>(random.between(0, nodes - 2))});  // one is listed by nobody
        return graph(nodes, all);
    }
};

/// The gradients of a query, a key, a value and a table, those that `asked` has a bit for, in targets that hold
/// `before`.
template <class Spec, class Table>
auto gradients(int workers, Spec const& spec, score_gradient_case::operands<float> const& of, Table const& table,
               unsigned asked, float before = 0, bool adds = false) {
    auto all = std::tuple(tensor<float, 4>(of.query.extents, before), tensor<float, 4>(of.key.extents, before),
                          tensor<float, 4>(of.value.extents, before), Table(table.extents, before));
    auto& [d_query, d_key, d_value, d_table] = all;
    auto const wanted = [&](unsigned bit, auto const& operand, auto& target) {
        auto each = adds ? grad(operand, add_to(target)) : grad(operand, target);
        each.wanted = (asked >> bit & 1U) != 0;
        return each;
    };
    gradient(threads(workers), spec, of.query, of.key, of.value, of.d_result, wanted(0, of.query, d_query),
             wanted(1, of.key, d_key), wanted(2, of.value, d_value), wanted(3, table, d_table));
    return all;
}

template <class Spec, class Table>
void check_alone(Spec const& spec, score_gradient_case::operands<float> const& of, Table const& table) {
    auto const together = gradients(1, spec, of, table, 15);
    for (unsigned asked = 1; asked < 16; ++asked)
        for (int workers : {1, 3}) {
            CAPTURE(asked, workers);
            auto const some = gradients(workers, spec, of, table, asked);
            auto const check = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
                if ((asked >> N & 1U) != 0) CHECK(std::get<N>(some).elements == std::get<N>(together).elements);
            };
            [&]<std::size_t... N>(std::index_sequence<N...>) {
                (check(std::integral_constant<std::size_t, N>()), ...);
            }(std::make_index_sequence<4>());
        }
}

}  // namespace

TEST_CASE("gradients of keys by relation are those of the definition", "[driver]") {
    // Rows that fill a vector for each head, and rows of an odd size.
    for (auto const& n : {score_gradient_case::sizes{2, 4, 4, nodes, nodes, 16, 8},
                          score_gradient_case::sizes{1, 3, 3, nodes, nodes, 7, 5}}) {
        CAPTURE(n.features);
        testing::dice random(static_cast<unsigned>(n.features));
        relations const r(random, n.heads, n.features);
        score_gradient_case::operands<float> const of(random, n);
        CHECK(worst(compare(r.product()) | neighbors(r.edges) | softmax | weighted_sum, of, r.keys) < 3e-5);
        // A table of kinds alone has copies; sums of keys go beside it.
        CHECK(worst(compare(r.product() + sum(q * (k + param(r.of_kinds)[param(r.kind)[edge]]))) | neighbors(r.edges)
                        | softmax | weighted_sum,
                    of, r.keys, r.of_kinds)
              < 3e-5);
        // The rest of the score reads the table, too: that is summed over queries.
        CHECK(worst(compare(r.product() * param(r.keys)(0, head, kv_idx, 1)) | neighbors(r.edges) | softmax
                        | weighted_sum,
                    of, r.keys)
              < 3e-5);
        CHECK(worst(compare(r.product()) | neighbors(r.edges) | sparsemax | weighted_sum, of, r.keys) < 3e-5);
    }
}

TEST_CASE("the gradient of keys by relation is written, or added to what is there", "[driver]") {
    score_gradient_case::sizes const n{1, 4, 4, nodes, nodes, 16, 8};
    testing::dice random(3);
    relations const r(random, n.heads, n.features);
    score_gradient_case::operands<float> const of(random, n);
    auto const spec = compare(r.product()) | neighbors(r.edges) | softmax | weighted_sum;
    constexpr unsigned table = 8;
    tensor<double, 4> expected(r.keys.extents);
    reference::gradient(spec, of.query, of.key, of.value, of.d_result, grad(r.keys, expected));
    for (int workers : {1, 3}) {
        CAPTURE(workers);
        CHECK(difference(std::get<3>(gradients(workers, spec, of, r.keys, table, 7)), expected) < 3e-5);
        auto sums = std::get<3>(gradients(workers, spec, of, r.keys, table, 7, true));
        for (float& each : sums.elements) each -= 7;
        CHECK(difference(sums, expected) < 3e-5);
    }
}

TEST_CASE("a gradient over listed keys is the same, bit by bit, whatever is asked for beside it", "[driver]") {
    for (auto const& n : {score_gradient_case::sizes{1, 4, 4, nodes, nodes, 16, 16},
                          score_gradient_case::sizes{2, 3, 3, nodes, nodes, 7, 5}}) {
        CAPTURE(n.features);
        testing::dice random(static_cast<unsigned>(n.features) + 1);
        relations const r(random, n.heads, n.features);
        score_gradient_case::operands<float> const of(random, n);
        auto const vectors = testing::random_tensor<float>(random, extents_t<2>{index_t{5} * nodes, n.features});
        auto const by_edge = compare(sum(q * (k + param(vectors)[edge])) * rsqrt(dim)) | neighbors(r.edges);
        auto const by_relation = compare(r.product()) | neighbors(r.edges);
        // Weights are kept for each edge, where rows would be gathered again, or they are computed again.
        check_alone(by_edge | softmax | weighted_sum, of, vectors);
        check_alone(by_relation | softmax | weighted_sum, of, r.keys);
        check_alone(compare(sum(q * (k + param(r.of_kinds)[param(r.kind)[edge]]))) | neighbors(r.edges) | softmax
                        | weighted_sum,
                    of, r.of_kinds);
    }
}
