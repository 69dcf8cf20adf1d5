// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native
// Sequences that lie one after another give what each of them gives alone.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <cstdint>
#include <vector>

using namespace fovea;
using Catch::Matchers::ContainsSubstring;
using namespace fovea::placeholders;

namespace {

/// Five sequences, one without queries and one without keys.
struct packed {
    std::vector<index_t> q_offsets{0, 7, 7, 25, 26, 30}, k_offsets{0, 7, 19, 50, 50, 61};
    testing::dice random{41};
    tensor<float, 4> q = testing::random_tensor<float>(random, extents_t<4>{1, 4, 30, 8});
    tensor<float, 4> k = testing::random_tensor<float>(random, extents_t<4>{1, 2, 61, 8});
    tensor<float, 4> v = testing::random_tensor<float>(random, extents_t<4>{1, 2, 61, 5});
    tensor<float, 4> out{{1, 4, 30, 5}, 7}, expected{{1, 4, 30, 5}, 7};
    tensor<float, 3> sums{{1, 4, 30}, 7}, expected_sums{{1, 4, 30}, 7};

    template <class T>
    static view<T, 4> rows(view<T, 4> const& all, std::vector<index_t> const& offsets, std::size_t i) {
        return {all.place(index_t{0}, index_t{0}, offsets[i], index_t{0}),
                {1, all.extent(1), offsets[i + 1] - offsets[i], all.extent(3)},
                all.strides};
    }
    /// One call for each sequence.
    template <class Spec>
    void attend_alone(Spec const& spec) {
        for (std::size_t i = 0; i < 5; ++i) {
            tensor<float, 3> lse_of({1, 4, q_offsets[i + 1] - q_offsets[i]});
            attend(spec, rows(q.view(), q_offsets, i), rows(k.view(), k_offsets, i), rows(v.view(), k_offsets, i),
                   rows(expected.view(), q_offsets, i), lse(lse_of));
            for (index_t h = 0; h < 4; ++h)
                for (index_t n = 0; n < lse_of.extent(2); ++n) expected_sums(0, h, q_offsets[i] + n) = lse_of(0, h, n);
        }
    }
};

}  // namespace

TEST_CASE("a ragged call is one call for each sequence, bit by bit", "[driver]") {
    packed p;
    constexpr auto spec = scaled_dot | causal_at_end | softmax | weighted_sum;
    p.attend_alone(spec);
    attend(ragged(p.q_offsets, p.k_offsets), spec, p.q, p.k, p.v, p.out, lse(p.sums));
    CHECK(p.out.elements == p.expected.elements);
    CHECK(p.sums.elements == p.expected_sums.elements);
    for (int n : {2, 5, 9}) {
        workspace scratch;
        tensor<float, 4> threaded({1, 4, 30, 5});
        attend(threads(n), scratch, ragged(p.q_offsets, p.k_offsets), spec, p.q, p.k, p.v, threaded);
        CHECK(threaded.elements == p.expected.elements);
    }
    tensor<float, 4> defined({1, 4, 30, 5});
    reference::attend(ragged(p.q_offsets, p.k_offsets), spec, p.q, p.k, p.v, defined);
    for (std::size_t i = 0; i < defined.elements.size(); ++i)
        CHECK(defined.elements[i] == Approx(p.expected.elements[i]).margin(1e-5));
}

namespace {
/// Weights of a row that depend on its indices: the scores times an expression.
template <class E>
struct times_t : stage<role::normalizer> {
    static constexpr std::string_view name = "times";
    E factor;

    struct of_row : stage<role::normalizer> {
        float factor;
        template <class V>
        V weight(V score) const {
            return score * static_cast<float>(factor);
        }
    };
    explicit times_t(E const& e) : factor(e) {}
    auto for_row(auto const& at) const {
        of_row row;
        row.factor = static_cast<float>(at(factor));
        return row;
    }
};
}  // namespace

TEST_CASE("batch is the number of the sequence, in every part", "[driver]") {
    packed p;
    tensor<float, 1> table({5});
    for (index_t i = 0; i < 5; ++i) table(i) = 0.25f * static_cast<float>(i + 1);
    auto const make = [](auto const& factor, auto const& number) {
        return dot | rescore(score * factor) | where(kv_idx % 4 <= number) | times_t(as_expression(number + factor))
             | reweight(weight + factor) | weighted_sum | map(placeholders::out + number);
    };
    auto const spec = make(param(table)[batch], batch);
    attend(ragged(p.q_offsets, p.k_offsets), spec, p.q, p.k, p.v, p.out);
    for (std::size_t i = 0; i < 5; ++i)
        attend(make(table.elements[i], literal<index_t>{static_cast<index_t>(i)}),
               packed::rows(p.q.view(), p.q_offsets, i), packed::rows(p.k.view(), p.k_offsets, i),
               packed::rows(p.v.view(), p.k_offsets, i), packed::rows(p.expected.view(), p.q_offsets, i));
    tensor<float, 4> defined({1, 4, 30, 5});
    reference::attend(ragged(p.q_offsets, p.k_offsets), spec, p.q, p.k, p.v, defined);
    for (std::size_t i = 0; i < defined.elements.size(); ++i) {
        CHECK(p.out.elements[i] == Approx(p.expected.elements[i]).margin(1e-6));
        CHECK(p.out.elements[i] == Approx(defined.elements[i]).margin(1e-5));
    }
    for (index_t h = 0; h < 4; ++h) CHECK(p.out(0, h, 25, 0) == 3);  // the fourth sequence has no keys
}

TEST_CASE("prompts of different lengths through one layer", "[driver]") {
    testing::dice random(42);
    auto const wq = testing::random_tensor<float>(random, std::array<index_t, 2>{12, 16}, 0.5);
    auto const wk = testing::random_tensor<float>(random, std::array<index_t, 2>{12, 8}, 0.5);
    auto const wv = testing::random_tensor<float>(random, std::array<index_t, 2>{12, 8}, 0.5);
    auto const wo = testing::random_tensor<float>(random, std::array<index_t, 2>{16, 12}, 0.5);
    auto const x = testing::random_tensor<float>(random, std::array<index_t, 2>{24, 12});
    tensor<float, 2> y({24, 12}), alone({24, 12});

    //! [example]
    std::vector<std::int32_t> const offsets{0, 5, 17, 24};  // three prompts of 5, 12 and 7 tokens
    tensor<index_t, 1> cached({3});                         // how many tokens of each were seen before
    cached(1) = 100;
    auto const turned = rotary.from(cached);
    auto const layer = project(wq | turned, wk | turned, wv, heads<4, 2>) | scaled_dot | causal | softmax | weighted_sum
                     | output(wo) | residual;
    attend(ragged(offsets), layer, x, y);
    //! [example]

    for (std::size_t i = 0; i < 3; ++i) {
        auto const turned_alone = rotary.from(cached.elements[i]);
        index_t const first = offsets[i], count = offsets[i + 1] - first;
        attend(project(wq | turned_alone, wk | turned_alone, wv, heads<4, 2>) | scaled_dot | causal | softmax
                   | weighted_sum | output(wo) | residual,
               view<float const, 2>(&x(first, 0), {count, 12}), view<float, 2>(&alone(first, 0), {count, 12}));
    }
    CHECK(y.elements == alone.elements);
}

TEST_CASE("each sequence has a running state of its own, and gates that are packed like its keys", "[driver]") {
    packed p;
    auto const& offsets = p.k_offsets;
    auto const queries = testing::random_tensor<float>(p.random, extents_t<4>{1, 2, 61, 8});
    auto const decay = testing::random_tensor<float>(p.random, extents_t<4>{1, 2, 61, 8});
    auto const begin = testing::random_tensor<float>(p.random, extents_t<4>{5, 2, 8, 5});
    tensor<float, 4> states = begin, alone = begin, y({1, 2, 61, 5}), expected({1, 2, 61, 5});
    constexpr auto kept = scaled_dot | causal | unnormalized | running_state;
    attend(ragged(offsets), kept | gated(decay), queries, p.k, p.v, y, past_state(states), present_state(states));
    for (std::size_t i = 0; i < 5; ++i) {
        view<float, 4> const state(&alone(static_cast<index_t>(i), 0, 0, 0), {1, 2, 8, 5});
        attend(kept | gated(packed::rows(decay.view(), offsets, i)), packed::rows(queries.view(), offsets, i),
               packed::rows(p.k.view(), offsets, i), packed::rows(p.v.view(), offsets, i),
               packed::rows(expected.view(), offsets, i), past_state(state), present_state(state));
    }
    CHECK(y.elements == expected.elements);
    CHECK(states.elements == alone.elements);
}

TEST_CASE("offsets that do not fit are named, and nothing is written", "[driver]") {
    packed p;
    constexpr auto spec = scaled_dot | softmax | weighted_sum;
    auto const call = [&](std::vector<index_t> const& q_offsets, std::vector<index_t> const& k_offsets) {
        attend(ragged(q_offsets, k_offsets), spec, p.q, p.k, p.v, p.out, lse(p.sums));
    };
    CHECK_THROWS_WITH(call({0, 30}, {0, 30, 61}), "ragged: there are 2 query offsets and 3 key offsets");
    CHECK_THROWS_WITH(call({1, 30}, {0, 61}), "ragged: the query offsets do not begin with 0");
    CHECK_THROWS_WITH(call({0, 20, 10, 30}, {0, 1, 2, 61}), "ragged: the query offsets fall from 20 to 10");
    CHECK_THROWS_WITH(call({0, 30}, {0, 60}), "ragged: the key offsets end at 60, key has 61 positions");
    CHECK_THROWS_WITH(call({}, {}), "ragged: the query offsets do not begin with 0");
    tensor<float, 4> const two({2, 4, 30, 8});
    CHECK_THROWS_WITH(attend(ragged(p.q_offsets, p.k_offsets), spec, two, p.k, p.v, p.out),
                      ContainsSubstring("query has 2 batch elements"));
    tensor<float, 4> states({4, 2, 8, 5}, 7), y({1, 2, 61, 5}, 7);
    view<float const, 4> const queries(p.q.data(), {1, 2, 61, 8}, {0, 8, 8, 1});
    CHECK_THROWS_WITH(attend(ragged(p.k_offsets), dot | causal | unnormalized | running_state, queries, p.k, p.v, y,
                             present_state(states)),
                      "present_state has 4 states for 5 sequences");
    for (float x : p.out) CHECK(x == 7);
    for (float x : p.sums) CHECK(x == 7);
    for (float x : y) CHECK(x == 7);
}
