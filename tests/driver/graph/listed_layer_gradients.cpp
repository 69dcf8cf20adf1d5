// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Gradients of layers over listed keys, with projections and finishes, are what the definition says.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"
#include "support/layer_gradients.hpp"

#include <cstdint>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;
using namespace layer_gradients;

namespace {

/// Edges with loops, some of them twice; the last query has no key, and nobody sees the last key.
graph some_edges(arrays<float>& random, index_t queries, index_t keys) {
    std::vector<graph::edge> all;
    for (index_t e = 0; e < 5 * queries; ++e)
        all.push_back(
            {random.dice.between(0, std::max<index_t>(queries - 2, 0)), random.dice.between(0, keys - 1) * 3 / 4});
    all.push_back(all.front());
    return graph(queries, all);
}

/// The gradients have the same bits in any number of threads, with a workspace that is used again.
template <class A, class X, class D, class... Of>
void check_threads(A const& a, X const& x, D const& d, Of const&... of) {
    workspace scratch;
    auto const in_threads = [&](int count) {
        return gradients_of<float>([&](auto... asked) { gradient(threads(count), scratch, a, x, d, asked...); }, of...);
    };
    auto const one = in_threads(1);
    for (int const count : {2, 5})
        std::apply(
            [&](auto const&... again) {
                std::apply([&](auto const&... once) { CHECK(((again.elements == once.elements) && ...)); }, one);
            },
            in_threads(count));
}

}  // namespace

TEST_CASE("gradients of a layer over listed keys reach maps of heads, grouped heads and finishes", "[driver]") {
    arrays<float> random;
    index_t const m = 11, n = 33;
    auto const wq = random(m, index_t{24}), wk = random(m, index_t{12}), wv = random(m, index_t{10}),
               wo = random(index_t{20}, m);
    auto const bk = random(index_t{12}), bo = random(m), slope = random(index_t{4});
    auto const edges = some_edges(random, n, n);
    auto const layer = project(wq | rotary, linear(wk, bk) | l2_normalized, wv, heads<4, 2>) | scaled_dot
                     | rescore(score - param(slope)[head] * abs(q_idx - kv_idx)) | (neighbors(edges) && causal)
                     | softmax | weighted_sum | output(wo, bo) | residual;
    auto const x = random(index_t{2}, n, m), d = random(index_t{2}, n, m);
    CHECK(worst<float>(serial, layer, std::tuple(x.view(), d.view()), x, wq, wk, wv, wo, bk, bo, slope) < 2e-5);
    check_threads(layer, x, d, x, wq, wk, wv, wo, slope);
}

TEST_CASE("gradients over listed keys reach an array that is a source, a table and a matrix at once", "[driver]") {
    arrays<double> random;
    arrays<float> of_edges;
    index_t const m = 6, n = 6, keys = 13;
    auto const x = random(n, m), memory_rows = random(keys, m), d = random(n, index_t{3}),
               gates = random(n, index_t{2});
    auto const edges = some_edges(of_edges, n, keys);
    auto const layer = project(transposed(x), as_is, as_is, heads<2>) | scaled_dot
                     | rescore(score + param(x)(head + 1, q_idx) + param(gates)(q_idx, head)) | neighbors(edges)
                     | softmax | weighted_sum | mean_heads | map(tanh(out) * 2);
    CHECK(worst<double>(serial, layer, std::tuple(queries(x), memory(memory_rows), d.view()), x, memory_rows, gates)
          < 1e-13);
}

TEST_CASE("a layer of finishes alone over listed keys has its gradients, of heads of its own", "[driver]") {
    arrays<float> random;
    index_t const n = 21, keys = 17;
    auto const q = random(index_t{2}, index_t{4}, n, index_t{5}), k = random(index_t{2}, index_t{2}, keys, index_t{5}),
               v = random(index_t{2}, index_t{2}, keys, index_t{3});
    auto const d = random(index_t{2}, n, index_t{7});
    auto const wo = random(index_t{12}, index_t{7});
    auto const edges = some_edges(random, n, keys);
    auto const layer = dot | neighbors(edges) | softmax | weighted_sum | output(wo);
    CHECK(worst<float>(threads(3), layer, std::tuple(q.view(), k.view(), v.view(), d.view()), q, k, v, wo) < 2e-5);
}

TEST_CASE("gradients of a layer over listed keys in bfloat16 are sums in float", "[driver]") {
    arrays<bfloat16> random;
    arrays<float> of_edges;
    index_t const m = 12, n = 33;
    auto const x = random(n, m), w = random(m, m), wo = random(m, m);
    auto const d = arrays<float>()(n, m);
    auto const edges = some_edges(of_edges, n, n);
    auto const layer =
        project(w, w, as_is, heads<3>) | scaled_dot | neighbors(edges) | softmax | weighted_sum | output(wo) | residual;
    CHECK(worst<float>(serial, layer, std::tuple(x.view(), d.view()), x, w, wo) < 1e-5);
}

TEST_CASE("gradients over listed keys whose integers need 64 bits are those of double", "[driver]") {
    arrays<float> random;
    index_t const n = 19;
    auto const edges = some_edges(random, n, n);
    std::vector<std::int64_t> times;
    for (index_t i = 0; i < n; ++i) times.push_back((std::int64_t{1} << 40) + 1000 * i);
    auto const t = param(times);
    auto const spec =
        scaled_dot | rescore(score + (t[q_idx] - t[kv_idx]) * 0.0001f) | neighbors(edges) | softmax | weighted_sum;
    auto const x = random(index_t{2}, n, index_t{6}), d = random(index_t{2}, n, index_t{6});
    CHECK(worst<float>(serial, spec, std::tuple(x.view(), x.view(), x.view(), d.view()), x) < 2e-5);
    auto const w = random(index_t{6}, index_t{6});
    auto const layer = project(linear(w), linear(w), linear(w), heads<2>) | spec;
    CHECK(worst<float>(serial, layer, std::tuple(x.view(), d.view()), x, w) < 2e-5);
}
