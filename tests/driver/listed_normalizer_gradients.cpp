// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients over listed keys of every normalizer, selection and reweighting are what the definition says.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"
#include "support/layer_gradients.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using namespace layer_gradients;

namespace {

/// Operands with lists of keys of any length, the last one empty, and a key that nobody sees, which holds no number.
template <class T>
struct listed_call {
    index_t heads, queries, keys, features;
    arrays<T> random;
    graph edges{0, {}};
    tensor<T, 4> q, k, v, d;

    listed_call(index_t h, index_t key_heads, index_t n, index_t m, index_t f)
        : heads(h),
          queries(n),
          keys(m),
          features(f),
          q(random(index_t{2}, h, n, f)),
          k(random(index_t{2}, key_heads, m, f)),
          v(random(index_t{2}, key_heads, m, f + 1)),
          d(random(index_t{2}, h, n, f + 1)) {
        std::vector<graph::edge> all;
        for (index_t e = 0; e < 6 * n; ++e)
            all.push_back({random.dice.between(0, std::max<index_t>(n - 2, 0)),
                           random.dice.between(0, std::max<index_t>(m - 2, 0))});
        edges = graph(n, all);
        if (m > 1)
            for (index_t h2 = 0; h2 < key_heads; ++h2)
                k(1, h2, m - 1, 0) = v(1, h2, m - 1, f) = std::numeric_limits<T>::quiet_NaN();
    }

    /// The worst difference from the definition, of scores with a normalizer, the gradients of tables among them.
    template <class Scores, class N, class... Tables>
    double through(Scores const& scores, N const& normalize, Tables const&... tables) const {
        auto const a = scores | neighbors(edges) | normalize | weighted_sum;
        return worst<T>(threads(2), a, std::tuple(q.view(), k.view(), v.view(), d.view()), q, k, v, tables...);
    }
};

/// Heads that fill no vector, one, and more than one; grouped heads; one edge, and rows of several vectors.
template <class T, class F>
void at_sizes(F const& check) {
    for (auto const& [h, key_heads, n, m, f] : {std::array<index_t, 5>{1, 1, 1, 1, 3},
                                                {2, 2, 9, 60, 4},
                                                {3, 1, 12, 13, 5},
                                                {8, 8, 7, 11, 2},
                                                {20, 4, 5, 9, 3}}) {
        CAPTURE(h, key_heads, n, m, f);
        check(listed_call<T>(h, key_heads, n, m, f), sizeof(T) == 4 ? 3e-5 : 1e-12);
    }
}

}  // namespace

TEST_CASE("gradients over listed keys take every normalizer with a rule of its own", "[driver]") {
    at_sizes<float>([](auto const& of, double tolerance) {
        CHECK(of.through(scaled_dot, sparsemax) < tolerance);
        CHECK(of.through(scaled_dot, entmax15) < tolerance);
        CHECK(of.through(scaled_dot, straight_through) < tolerance);
        CHECK(of.through(scaled_dot, l1_weights) < tolerance);
        CHECK(of.through(scaled_dot, keep(top_k(3)) | softmax) < tolerance);
    });
}

TEST_CASE("gradients over listed keys reach tables of normalizers, reweightings and scores", "[driver]") {
    at_sizes<double>([](auto const& of, double tolerance) {
        arrays<double> random;
        auto const sinks = random(of.heads), factors = random(of.heads);
        auto const gates = random(of.queries, of.keys), vectors = random(of.heads, of.features);
        auto const of_edges = random(of.edges.view().edges());
        CHECK(of.through(gatv2_score(vectors) | rescore(score * param(gates)(q_idx, kv_idx)), softmax_with_sink(sinks),
                         vectors, gates, sinks)
              < tolerance);
        CHECK(of.through(scaled_dot | rescore(tanh(score) + param(factors)[head] * kv_idx),
                         weigh(sigmoid(score - param(sinks)[head])) | reweight(weight * param(of_edges)[edge]), factors,
                         sinks, of_edges)
              < tolerance);
        CHECK(of.through(gat_score(vectors, vectors), keep(threshold(-1)) | entmax(1.25) | reweight(tanh(3 * weight)),
                         vectors)
              < tolerance);
    });
}

TEST_CASE("gradients of normalizers over listed keys see no pair that a mask excludes, whatever it holds", "[driver]") {
    at_sizes<float>([](auto of, double tolerance) {
        for (index_t h = 0; h < of.k.extent(1); ++h)
            for (index_t j = 0; j < of.keys; j += 3) {
                of.k(0, h, j, 0) = std::numeric_limits<float>::infinity();
                of.v(0, h, j, 1) = std::numeric_limits<float>::quiet_NaN();
            }
        auto const seen = where(kv_idx % 3 != 0);
        CHECK(of.through(scaled_dot | seen, sparsemax) < tolerance);
        CHECK(of.through(scaled_dot | seen, uniform | reweight(weight * (1 + weight))) < tolerance);
    });
}

TEST_CASE("a layer over listed keys with weights by key has the same bits in any number of threads", "[driver]") {
    listed_call<float> of(1, 1, 70, 70, 3);
    arrays<float> random;
    auto const x = random(index_t{70}, index_t{9}), w = random(index_t{9}, index_t{12}),
               wo = random(index_t{12}, index_t{9}), d = random(index_t{70}, index_t{9});
    auto const shifts = random(index_t{3});
    auto const layer = project(w, w, w, heads<3>) | scaled_dot | neighbors(of.edges)
                     | normalized(exp(score * param(shifts)[head]), 1e-6) | weighted_sum | output(wo) | residual;
    CHECK(worst<float>(serial, layer, std::tuple(x.view(), d.view()), x, w, wo, shifts) < 2e-5);
    auto const bits = [&](int count) {
        return gradients_of<float>([&](auto... asked) { gradient(threads(count), layer, x, d, asked...); }, x, w,
                                   shifts);
    };
    auto const one = bits(1), five = bits(5);
    CHECK(std::get<0>(one).elements == std::get<0>(five).elements);
    CHECK(std::get<1>(one).elements == std::get<1>(five).elements);
    CHECK(std::get<2>(one).elements == std::get<2>(five).elements);
}
