// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: night
// Gradients through normalizers, selections, masks, projections and finishes; what takes no part; what is refused.
#include <fovea/fovea.hpp>
#include <fovea/testing/gradient_laws.hpp>

#include "catch.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;
using Catch::Matchers::Contains;
using testing::check_gradients;

namespace {

auto made(extents_t<4> sizes, unsigned seed = 1) {
    testing::dice from(seed);
    return testing::random_tensor<double, 4>(from, sizes);
}
template <int Rank>
tensor<double, Rank> table(std::array<index_t, Rank> const& sizes, unsigned seed = 5) {
    testing::dice from(seed);
    return testing::random_tensor<double, Rank>(from, sizes);
}

/// A normalizer by key of one's own, as pages show it: it has a gradient without a rule.
struct softplus_t : stage<role::normalizer> {
    template <class V>
    static V weight(V const& score) {
        using std::abs, std::exp, std::log, std::max;
        return max(score, V(0)) + log(V(1) + exp(-abs(score)));
    }
};
constexpr softplus_t softplus{};

/// A normalizer with a state of one's own, and its rule.
struct l2_weights_t : stage<role::normalizer> {
    template <class T>
    struct state {
        T squares = 0;
    };
    template <class T, class Row>
    static constexpr T fold(state<T>& s, Row const& row) {
        s.squares += row.sum([](auto x) { return x * x; });
        row.map([](auto x) { return x; });
        return T(1);
    }
    template <class T>
    static constexpr std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        s.squares += other.squares;
        return {T(1), T(1)};
    }
    template <class T>
    static T finish(state<T> const& s) {
        return s.squares == T(0) ? T(0) : T(1) / std::sqrt(s.squares);
    }
    //! [rule]
    template <class Row>
    static void gradient(Row&& row) {
        auto const length = std::sqrt(row.sum([](auto s, auto, auto) { return s * s; }));
        auto const along = row.sum([](auto, auto w, auto g) { return w * g; });
        row.map([&](auto, auto w, auto g) { return (g - w * along) / length; });
    }
    //! [rule]
};
constexpr l2_weights_t l2_weights{};

}  // namespace

TEST_CASE("gradients go through normalizers", "[reference]") {
    auto const through = [](auto const& normalizer) { check_gradients(dot | normalizer | weighted_sum); };
    through(softmax);
    through(softmax_plus_one);
    through(sparsemax);
    through(entmax15);
    through(entmax(1.25));
    through(entmax(1.8));
    through(weigh(sigmoid(score - 1)));
    through(weigh(square(relu(score))));
    through(weigh(gelu(score)));
    through(normalized(exp(score)));
    through(normalized(square(relu(score)), 1e-6));
    through(averaged(silu(score)));
    through(unnormalized);
    through(uniform);
    through(l1_weights);
    check_gradients(compare(2 + sum(q * k)) | proportional | weighted_sum);
    through(softplus);
    through(l2_weights);
}

TEST_CASE("gradients go through selections", "[reference]") {
    auto const through = [](auto const& normalizer) { check_gradients(dot | normalizer | weighted_sum); };
    through(top_k_softmax(3));
    through(keep(top_k(4)) | weigh(sigmoid(score)));
    through(keep(top_p(0.8)) | softmax);
    through(keep(min_p(0.2)) | keep(top_k(3)) | sparsemax);
    through(keep(threshold(0.1)) | softmax_plus_one);
    through(keep(threshold(-0.5)) | averaged(score * score));
}

TEST_CASE("sinks and factors of weights have gradients", "[reference]") {
    auto sinks = table<1>({2}), gates = table<1>({2});
    check_gradients(scaled_dot | softmax_with_sink(sinks) | weighted_sum, sinks);
    check_gradients(scaled_dot | keep(top_k(3)) | softmax_with_sink(sinks) | weighted_sum, sinks);
    check_gradients(scaled_dot | softmax | reweight(weight * param(gates)[head]) | weighted_sum, gates);
    check_gradients(scaled_dot | weigh(sigmoid(score + param(gates)[head])) | weighted_sum, gates);
    check_gradients(scaled_dot | normalized(exp(score * param(gates)[head]), 1e-6) | weighted_sum, gates);
    check_gradients(scaled_dot | keep(top_k(3)) | averaged(silu(score - param(gates)[head])) | weighted_sum, gates);
    check_gradients(scaled_dot | softmax | reweight(tanh(3 * weight))
                    | reweight(weight * select(random(3) < 0.2, 0, 1.25)) | weighted_sum);
}

TEST_CASE("gradients respect masks, whatever the masked keys hold", "[reference]") {
    auto const under = [](auto const& mask) { check_gradients(scaled_dot | mask | softmax | weighted_sum); };
    under(causal);
    under(causal_at_end);
    under(causal_from(-2));  // rows without keys
    under(sliding_window(1, 0) && !global_tokens(1));
    under(chunked(3));
    under(dilated_window(4, 2));
    under(prefix_lm(2));
    std::vector<index_t> const lengths{0, 4}, ids{0, 0, 1, 1, 1, 2, 2};
    under(key_lengths(lengths));
    under(document(ids) | causal);
    under(where(head % 2 == 0 && kv_idx != 3));
    check_gradients(dot | key_lengths(lengths) | weigh(sigmoid(score)) | weighted_sum);
    check_gradients(dot | key_lengths(lengths) | sparsemax | weighted_sum);
}

TEST_CASE("gradients respect masks of grids, of tables and combined ones", "[reference]") {
    testing::call_sizes const usual{2, 2, 1, 4, 5, 4, 2}, grid{1, 1, 1, 8, 8, 2, 2};
    auto const under = [](auto const& mask, testing::call_sizes const& n) {
        check_gradients(scaled_dot | mask | softmax | weighted_sum, n);
    };
    under(everything, usual);
    under(causal || kv_idx < 1, usual);
    under(!causal, usual);  // the last query sees the last key alone
    tensor<std::uint8_t, 2> blocks({2, 3}, 1);
    blocks(0, 1) = blocks(1, 0) = 0;
    under(block_list(blocks, 2, 2), usual);
    tensor<std::uint8_t, 4> visible({2, 1, 4, 5}, 1);
    for (index_t j = 0; j < 5; ++j) visible(0, 0, 2, j) = visible(1, 0, j % 4, j) = 0;
    under(mask_tensor(visible), usual);
    std::vector<int> const ids{0, 0, 1, 1}, parents{-1, 0, 0, 1};
    under(shared_prefix(1, ids), usual);
    auto const ancestors = tree_ancestors(parents);
    under(tree(1, ancestors), usual);
    under(neighborhood({1, 3}, {2, 4}), grid);
    under(sliding_tiles({1, 2}, {1, 1}, {2, 4}), grid);
}

TEST_CASE("gradients go along the edges of a graph, to tables over them", "[reference]") {
    std::vector<graph::edge> const edges{{0, 1}, {0, 2}, {2, 0}, {2, 2}, {2, 2}, {3, 1}, {3, 4}};
    graph const g(5, edges);
    auto features = table<2>({7, 4});
    check_gradients(compare(sum(q * k) + sum(param(features)[edge] * q)) | neighbors(g) | softmax | weighted_sum,
                    testing::call_sizes{1, 2, 1, 5, 5, 4, 2}, features);
}

TEST_CASE("gradients go through projections, to matrices and biases", "[reference]") {
    testing::call_sizes const sizes{2, 1, 1, 4, 5, 2, 2};
    auto wq = table<2>({6, 4}), wk = table<2>({4, 6}), wv = table<2>({6, 2}), wo = table<2>({4, 3});
    auto bq = table<1>({4}), bo = table<1>({3});
    auto shared = table<2>({2, 6});
    check_gradients(project(linear(wq, bq), transposed(shared), wv, heads<2, 1>) | scaled_dot | softmax | weighted_sum,
                    sizes, wq, bq, shared, wv);
    check_gradients(project(wq, transposed(wk), transposed(wk), heads<2>) | scaled_dot | causal | softmax | weighted_sum
                        | output(wo, bo),
                    sizes, wk, wo, bo);  // keys and values through one matrix: the sum of both
    auto gain = table<2>({2, 2});
    check_gradients(
        project(wq | rms_normalized(gain) | rotary, transposed(wk) | l2_normalized | rotary, transposed(wk), heads<2>)
            | dot | softmax | weighted_sum,
        sizes, wq, wk);
    check_gradients(project(as_is | rotary.interleaved(), as_is | rotary.interleaved(), as_is, heads<2>) | dot | softmax
                        | weighted_sum,
                    sizes);
}

TEST_CASE("gradients go through finishes", "[reference]") {
    testing::call_sizes const sizes{2, 3, 1, 4, 5, 2, 2};
    auto bias_of_result = table<1>({6});
    auto w = table<2>({6, 3});
    check_gradients(dot | softmax | weighted_sum | concat_heads | map(elu(out + param(bias_of_result))), sizes,
                    bias_of_result);
    check_gradients(dot | softmax | weighted_sum | mean_heads | map(tanh(3 * out)), sizes);
    check_gradients(dot | softmax | weighted_sum | residual, sizes);
    check_gradients(dot | softmax | weighted_sum | output(w) | map(out * out), sizes, w);
    auto wq = table<2>({4, 4});
    check_gradients(project(wq, wq, wq, heads<2>) | dot | softmax | weighted_sum | residual,
                    testing::call_sizes{1, 1, 1, 3, 3, 2, 2}, wq);
}

TEST_CASE("an array that is read more than once has the sum of its gradients", "[reference]") {
    //! [example]
    tensor<double, 3> const x = [] {
        tensor<double, 3> numbers({1, 5, 4});
        for (index_t i = 0; i < numbers.size(); ++i) numbers.elements[static_cast<std::size_t>(i)] = std::sin(i);
        return numbers;
    }();
    tensor<double, 3> const d_result({1, 5, 4}, 1);
    tensor<double, 3> d_x({1, 5, 4});
    auto const spec = scaled_dot | causal | softmax | weighted_sum;
    reference::gradient(spec, x, d_result, grad(x, d_x));  // d_x = dL/dx as queries, keys and values together
    //! [example]
    auto const copies = x, others = x;
    tensor<double, 3> d_query(x.extents), d_key(x.extents), d_value(x.extents), d_cross(x.extents);
    reference::gradient(spec, x, copies, others, d_result, grad(x, d_query), grad(copies, d_key),
                        grad(others, d_value));
    reference::gradient(spec, queries(x), memory(copies), d_result, grad(copies, d_cross));
    for (std::size_t i = 0; i < d_x.elements.size(); ++i) {
        CHECK(d_x.elements[i] == Approx(d_query.elements[i] + d_key.elements[i] + d_value.elements[i]).margin(1e-14));
        CHECK(d_cross.elements[i] == Approx(d_key.elements[i] + d_value.elements[i]).margin(1e-14));
    }
}

TEST_CASE("slopes that a score reads have a gradient", "[reference]") {
    auto const query = made({1, 2, 5, 4}), key = made({1, 2, 5, 4}, 2), value = made({1, 2, 5, 4}, 3);
    auto const d_result = made({1, 2, 5, 4}, 4);
    //! [tables]
    std::vector<double> slopes{0.5, 0.25}, d_slopes(2);
    auto const spec = scaled_dot | alibi(slopes) | causal | softmax | weighted_sum;
    reference::gradient(spec, query, key, value, d_result, grad(slopes, d_slopes));
    for (std::size_t h = 0; h < slopes.size(); ++h) slopes[h] -= 0.1 * d_slopes[h];  // a step of gradient descent
    //! [tables]
    std::vector<double> after(2);
    reference::gradient(spec, query, key, value, d_result, grad(slopes, after));
    CHECK(after != d_slopes);
    CHECK(d_slopes[0] != 0);
}

TEST_CASE("nothing that is masked reaches a gradient, and rows without keys give zeros", "[reference]") {
    double const nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    auto query = made({1, 1, 3, 2}), key = made({1, 1, 4, 2}, 2), value = made({1, 1, 4, 2}, 3);
    auto const d = made({1, 1, 3, 2}, 4);
    for (index_t c = 0; c < 2; ++c) query(0, 0, 1, c) = nan, key(0, 0, 3, c) = infinity, value(0, 0, 3, c) = nan;
    auto d_query = made(query.extents), d_key = made(key.extents), d_value = made(value.extents);
    reference::gradient(scaled_dot | where(q_idx != 1 && kv_idx != 3) | softmax | weighted_sum, query, key, value, d,
                        grad(query, d_query), grad(key, d_key), grad(value, d_value));
    for (auto const* all : {&d_query, &d_key, &d_value})
        for (double const x : *all) CHECK(std::isfinite(x));
    for (index_t c = 0; c < 2; ++c) {
        CHECK(d_query(0, 0, 1, c) == 0);
        CHECK(d_key(0, 0, 3, c) == 0);
        CHECK(d_value(0, 0, 3, c) == 0);
    }
}

TEST_CASE("where a call has no results, or no keys, gradients are 0", "[reference]") {
    std::vector<double> slopes{1, 2}, d_slopes{7, 7};
    auto const spec = scaled_dot | alibi(slopes) | softmax | weighted_sum;
    tensor<double, 4> const none({0, 2, 3, 2}), no_keys({1, 1, 0, 2}), query({1, 2, 3, 2}, 1);
    reference::gradient(spec, none, none, none, none, grad(slopes, d_slopes));
    CHECK(d_slopes == std::vector<double>{0, 0});
    tensor<double, 4> d_query(query.extents, 7);
    reference::gradient(spec, query, no_keys, no_keys, query, grad(query, d_query));
    for (double const x : d_query) CHECK(x == 0);
}

TEST_CASE("the gradients of two keys by hand", "[reference]") {
    tensor<double, 2> const query({1, 1}, 2), d({1, 1}, 3);
    tensor<float, 2> key({2, 1}), value({2, 1});
    key.elements = {0, 1}, value.elements = {10, 20};
    tensor<double, 2> d_query({1, 1});
    tensor<float, 2> d_key({2, 1}), d_value({2, 1});
    reference::gradient(dot | softmax | weighted_sum, query, key, value, d, grad(key, d_key), grad(value, d_value),
                        grad(query, d_query));
    double const w = 1 / (1 + std::exp(-2));      // of the second key
    double const d_score = w * (1 - w) * 10 * 3;  // of its score; less of the first
    CHECK(d_value(1, 0) == Approx(3 * w));
    CHECK(d_key(1, 0) == Approx(2 * d_score));
    CHECK(d_key(0, 0) == Approx(-2 * d_score));
    CHECK(d_query(0, 0) == Approx(d_score));
}

TEST_CASE("a call of gradient is checked before anything is written", "[reference]") {
    auto const query = made({1, 1, 3, 2}), key = made({1, 1, 4, 2}, 2), d = made({1, 1, 3, 2}, 4);
    tensor<double, 4> d_query(query.extents, 7), wrong({1, 1, 2, 2}, 7);
    std::vector<double> slopes{1}, other{1}, d_slopes{7};
    auto const spec = scaled_dot | alibi(slopes) | softmax | weighted_sum;
    CHECK_THROWS_WITH(reference::gradient(spec, query, key, key, wrong, grad(query, d_query)),
                      Contains("the gradient of the result is (1, 1, 2, 2) and must be (1, 1, 3, 2)"));
    CHECK_THROWS_WITH(reference::gradient(spec, query, key, key, d, grad(query, wrong)),
                      Contains("the target of grad 1 is (1, 1, 2, 2), its array is (1, 1, 3, 2)"));
    CHECK_THROWS_WITH(reference::gradient(spec, query, key, key, d, grad(query, d_query), grad(other, d_slopes)),
                      Contains("grad names an array (1) of which the call has no gradient"));
    CHECK_THROWS_AS(reference::gradient(spec, query, key, key, d_query, grad(query, d_query)), shape_error);
    CHECK_THROWS_AS(reference::gradient(spec, query, key, key, d, grad(slopes, slopes)), shape_error);
    view<double, 4> const part(d_query.data() + 4, {1, 1, 1, 2});
    CHECK_THROWS_WITH(reference::gradient(spec, query, query, query, d, grad(slopes, d_slopes), grad(query, d_query),
                                          grad(view<double const, 4>(query.data(), {1, 1, 1, 2}), part)),
                      Contains("the target of grad 3 overlaps the target of grad 2 in memory"));
    for (double const x : d_query) CHECK(x == 7);
    CHECK(d_slopes[0] == 7);
    std::vector<double> limits(4), d_limits(4, 7);
    CHECK_THROWS_WITH(reference::gradient(dot | where(param(limits)[kv_idx] < 1) | softmax | weighted_sum, query, key,
                                          key, d, grad(limits, d_limits)),
                      Contains("grad names an array (4) of which the call has no gradient"));
}
