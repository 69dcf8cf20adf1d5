// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Attention with a running state, against its definition and against attention over all keys.
#include "support/recurrent.hpp"

#include <limits>
#include <stdexcept>

using namespace fovea;
using Catch::Matchers::ContainsSubstring;
using namespace fovea::placeholders;

namespace {

template <class Spec>
tensor<float, 4> result_of(recurrent_call<float> const& c, Spec const& spec, auto const&... extra) {
    tensor<float, 4> y(c.result());
    attend(spec, c.q.elements, c.k.elements, c.v.elements, y, extra...);
    return y;
}

/// The positions from first on, count of them.
template <class T>
view<T const, 4> positions(view<T, 4> const& all, index_t first, index_t count) {
    return {all.place(index_t{0}, index_t{0}, first, index_t{0}),
            {all.extent(0), all.extent(1), count, all.extent(3)},
            all.strides};
}

constexpr auto mapped = feature_map(elu(q) + 1);
recurrent_sizes const some{2, 6, 2, 45, 45, 12, 37};

}  // namespace

TEST_CASE("chunks that hand on their state are the whole, bit by bit", "[driver]") {
    recurrent_call<float> const c(some, 4);
    auto const check = [&](auto const& make, index_t columns) {
        auto const whole = result_of(c, make(0, 45));
        tensor<float, 4> y(c.result()), state({2, 2, 12, columns});
        index_t first = 0;
        for (index_t const count : {1, 20, 0, 7, 17}) {
            view<float, 4> const to(&y.elements[static_cast<std::size_t>(first * 37)], {2, 6, count, 37},
                                    y.view().strides);
            attend(make(first, count), positions(c.q.elements, first, count), positions(c.k.elements, first, count),
                   positions(c.v.elements, first, count), to, past_state(state), present_state(state));
            first += count;
        }
        CHECK(y.elements == whole.elements);
    };
    check([](index_t, index_t) { return scaled_dot | causal | unnormalized | running_state; }, 37);
    check([](index_t, index_t) { return mapped | causal | proportional | running_state; }, 38);
    check(
        [&](index_t first, index_t count) {
            auto const rate = view<float const, 4>(&c.rate(0, 0, first), {2, 2, count, 1}, {90, 45, 1, 1});
            return dot | causal | unnormalized | running_state | gated(positions(c.decay.view(), first, count))
                 | delta(rate);
        },
        37);
}

TEST_CASE("any number of threads gives the same bits", "[driver]") {
    recurrent_call<float> const c({1, 2, 1, 40, 40, 12, 150}, 6);
    auto const spec = mapped | causal | proportional | running_state | gated(c.decay);
    extents_t<4> const of_state{1, 1, 12, 151};
    tensor<float, 4> one(c.result()), state(of_state), begin(of_state, 0.5f);
    attend(spec, c.q.elements, c.k.elements, c.v.elements, one, past_state(begin), present_state(state));
    for (int n : {2, 3, 8}) {
        tensor<float, 4> y(c.result()), again = begin;
        attend(threads(n), spec, c.q.elements, c.k.elements, c.v.elements, y, past_state(again), present_state(again));
        CHECK(y.elements == one.elements);
        CHECK(again.elements == state.elements);
    }
}

TEST_CASE("explain says that a state runs", "[driver]") {
    recurrent_call<float> const c(some, 10);
    auto const text = explain(mapped | causal | proportional | running_state | gated(c.decay), c.q.elements,
                              c.k.elements, c.v.elements);
    CHECK_THAT(text, ContainsSubstring("| causal | proportional | running_state | gated\n"));
    CHECK_THAT(text, ContainsSubstring("mask        causal: in the order of the keys\n"));
    CHECK_THAT(text, ContainsSubstring("driver/recurrent/recurrent.hpp"));
    CHECK_THAT(text, ContainsSubstring("a state of 12 x 37 for each of 4 heads of keys, 1 key in a pass\n"));
}

TEST_CASE("states, gates and rates that do not fit are named, and nothing is written", "[driver]") {
    recurrent_call<float> const c(some, 10);
    constexpr auto plain = scaled_dot | causal | unnormalized | running_state;
    tensor<float, 4> y(c.result(), 7), state({2, 2, 12, 37}, 7), wide({2, 2, 12, 38}, 7);
    auto const call = [&](auto const& spec, auto const&... extra) {
        attend(spec, c.q.elements, c.k.elements, c.v.elements, y, extra...);
    };
    CHECK_THROWS_WITH(
        call(plain, past_state(wide)),
        "past_state is (2, 2, 12, 38), (batch, head, feature of key, feature of value) is (2, 2, 12, 37)");
    CHECK_THROWS_WITH(call(mapped | causal | proportional | running_state, present_state(state)),
                      ContainsSubstring("and the sum of the keys is (2, 2, 12, 38)"));
    tensor<float, 3> const three({2, 2, 44});
    CHECK_THROWS_WITH(call(plain | gated(three)),
                      ContainsSubstring("gated is (2, 2, 44, 1), (batch, head, position, feature)"));
    CHECK_THROWS_WITH(call(plain | delta(c.decay)), ContainsSubstring("it has one number for each step"));
    view<float, 4> const in_result(y.data(), {2, 2, 12, 37});
    CHECK_THROWS_WITH(call(plain, past_state(in_result)), ContainsSubstring("result overlaps past_state"));
    CHECK_THROWS_WITH(call(plain, present_state(in_result)), ContainsSubstring("present_state overlaps result"));
    view<float, 4> const shifted(wide.data() + 1, {2, 2, 12, 37}), unshifted(wide.data(), {2, 2, 12, 37});
    CHECK_THROWS_WITH(call(plain, past_state(unshifted), present_state(shifted)),
                      ContainsSubstring("present_state overlaps past_state"));
    CHECK_THROWS_WITH(attend(plain, positions(c.q.elements, 0, 5), c.k.elements, c.v.elements,
                             view<float, 4>(y.data(), {2, 6, 5, 37})),
                      ContainsSubstring("query has 5 positions, key has 45"));
    for (float x : y) CHECK(x == 7);
    for (float x : state) CHECK(x == 7);
    for (float x : wide) CHECK(x == 7);
}

TEST_CASE("operands, gates and states of 16 bits are computed in float", "[driver]") {
    recurrent_call<float> const c({1, 2, 1, 20, 20, 9, 21}, 11);
    auto const narrow = [](view<float, 4> const& from) {
        tensor<float16, 4> to(from.extents);
        for (index_t h = 0; h < from.extent(1); ++h)
            for (index_t n = 0; n < from.extent(2); ++n)
                for (index_t f = 0; f < from.extent(3); ++f) to(0, h, n, f) = float16(from(0, h, n, f));
        return to;
    };
    auto const widen = [](auto const& from) {
        tensor<float, 4> to(from.extents);
        for (std::size_t i = 0; i < to.elements.size(); ++i) to.elements[i] = static_cast<float>(from.elements[i]);
        return to;
    };
    auto const queries = narrow(c.q.elements), keys = narrow(c.k.elements), values = narrow(c.v.elements);
    auto decay_of = c.decay;
    auto const decay = narrow(decay_of.view());
    auto const wide = widen(decay);
    tensor<float16, 4> y(c.result()), state({1, 1, 9, 21});
    tensor<float, 4> expected(c.result()), expected_state({1, 1, 9, 21});
    constexpr auto kept = scaled_dot | causal | unnormalized | running_state;
    attend(kept | gated(decay), queries, keys, values, y, present_state(state));
    attend(kept | gated(wide), widen(queries), widen(keys), widen(values), expected, present_state(expected_state));
    for (std::size_t i = 0; i < y.elements.size(); ++i) CHECK(y.elements[i].bits == float16(expected.elements[i]).bits);
    for (std::size_t i = 0; i < state.elements.size(); ++i)
        CHECK(state.elements[i].bits == float16(expected_state.elements[i]).bits);
}
