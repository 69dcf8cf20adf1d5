// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/fovea.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"

#include <vector>

/// The sizes of one call of an attention with a running state.
struct recurrent_sizes {
    fovea::index_t batches = 1, heads = 1, key_heads = 1, queries = 1, keys = 1, features = 1, value_features = 1;
};

/// Around the widths of vectors, panels, and the steps that are worked on together.
inline std::vector<recurrent_sizes> const& odd_recurrent_sizes() {
    static std::vector<recurrent_sizes> const sizes{
        {1, 1, 1, 1, 1, 1, 1},    {2, 2, 1, 3, 3, 3, 5},    {1, 2, 2, 16, 16, 16, 17}, {1, 6, 1, 18, 18, 5, 33},
        {2, 1, 1, 37, 37, 9, 70}, {1, 10, 2, 5, 5, 20, 32}, {1, 1, 1, 70, 70, 33, 64}, {1, 3, 1, 0, 0, 4, 4},
    };
    return sizes;
}

/// Operands of one call, wherever they lie; keys are short enough for the delta rule to be stable.
template <class T>
struct recurrent_call {
    fovea::testing::dice random;
    recurrent_sizes n;
    fovea::testing::scattered<T> q{random, {n.batches, n.heads, n.queries, n.features}};
    fovea::testing::scattered<T> k{random, {n.batches, n.key_heads, n.keys, n.features}};
    fovea::testing::scattered<T> v{random, {n.batches, n.key_heads, n.keys, n.value_features}};
    fovea::tensor<T, 4> decay{{n.batches, n.key_heads, n.keys, n.features}};
    fovea::tensor<T, 3> rate{{n.batches, n.key_heads, n.keys}};

    recurrent_call(recurrent_sizes const& sizes, unsigned seed) : random(seed), n(sizes) {
        q.fill(random, 1);
        k.fill(random, 1 / std::sqrt(static_cast<double>(n.features)));
        v.fill(random, 1);
        for (auto& x : decay) x = static_cast<T>(random.real(-0.5, 0));
        for (auto& x : rate) x = static_cast<T>(random.real(0, 1));
    }
    fovea::extents_t<4> result() const { return {n.batches, n.heads, n.queries, n.value_features}; }
};

/// The fused loop against the definition, the result and the state behind it; the state before it is random.
template <class T, class Arch, class Spec>
void check_recurrence(recurrent_call<T> const& call, Spec const& spec) {
    using namespace fovea;
    using exact = std::conditional_t<std::is_same_v<T, float>, double, long double>;
    auto const& n = call.n;
    index_t const columns = n.value_features + (divides_by_sum<Spec> ? 1 : 0);
    extents_t<4> const of_state{n.batches, n.key_heads, n.features, columns};
    testing::dice random(77);
    auto past = testing::random_tensor<T>(random, of_state);
    if (divides_by_sum<Spec>)  // the sum of positive features is positive
        for (index_t i = 0; i < past.size() / columns; ++i)
            past.elements[static_cast<std::size_t>((i + 1) * columns - 1)] = 2;
    view<T const, 4> const q(call.q.elements), k(call.k.elements), v(call.v.elements);
    tensor<exact, 4> expected(call.result()), state_expected(of_state);
    tensor<T, 4> plain(call.result()), state_plain(of_state), state(of_state);
    reference::attend_in<exact>(spec, q, k, v, expected, past_state(past), present_state(state_expected));
    reference::attend_in<T>(spec, q, k, v, plain, past_state(past), present_state(state_plain));
    testing::scattered<T> result(random, call.result());
    workspace scratch;
    attend_on<Arch>(serial, scratch, spec, q, k, v, result.elements, past_state(past), present_state(state));
    auto const close = [&](char const* what, std::vector<exact> const& want, std::vector<T> const& near,
                           std::vector<T> const& got) {
        CHECK_NOTHROW(testing::check_close<exact, T>(what, want, got, testing::tolerance_for<T, exact>(want, near)));
    };
    CHECK_NOTHROW(result.check_gaps());
    close("result", expected.elements, plain.elements, result.collected());
    close("state", state_expected.elements, state_plain.elements, state.elements);
}

/// The same at all odd sizes and for vectors of every width; `make(call)` gives the specification.
template <class T, class Make>
void check_recurrence_at_all_widths(Make const& make) {
    unsigned seed = 1;
    for (auto const& n : odd_recurrent_sizes()) {
        CAPTURE(n.batches, n.heads, n.key_heads, n.keys, n.features, n.value_features);
        recurrent_call<T> const call(n, seed++);
        auto const spec = make(call);
        [&]<class... Arch>(std::type_identity<std::tuple<Arch...>>) {
            (check_recurrence<T, Arch>(call, spec), ...);
        }(std::type_identity<lane_widths>{});
    }
}
