// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running states: gates, rates, the state before and the state behind.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include "calls/calls.hpp"

using namespace fovea;

namespace {

/// A table of steps has the keys' number along each axis, or one for all.
template <int Rank>
bool fits_steps(view<float const, Rank> const& steps, extents_t<4> const& keys) {
    bool fits = true;
    for (std::size_t axis = 0; axis < Rank; ++axis)
        fits = fits && (steps.extents[axis] == 1 || steps.extents[axis] == keys[axis]);
    return fits;
}

}  // namespace

void fuzz::states(bytes& in) {
    memory all(in);
    sizes const n(in);
    auto const broadcast = in.byte();
    auto const axis = [&](int i, index_t size) { return (broadcast >> i) % 2 == 1 ? index_t{1} : size; };
    auto const q = all.read<float>("query", n.batches, n.heads, n.queries, n.features);
    auto const k = all.read<float>("key", n.batches, n.key_heads, n.queries, n.features);
    auto const v = all.read<float>("value", n.batches, n.key_heads, n.queries, n.value_features);
    auto const decay =
        all.read<float>("gated", axis(0, n.batches), axis(1, n.key_heads), axis(2, n.queries), axis(3, n.features));
    all.fill_last<float>([&] { return -static_cast<float>(all.random().below(9)) / 8; });
    auto const rate = all.read<float>("delta", axis(4, n.batches), axis(5, n.key_heads), axis(6, n.queries));
    all.fill_last<float>([&] { return static_cast<float>(all.random().below(9)) / 16; });
    auto const past = all.read<float>("past_state", n.batches, n.key_heads, n.features, n.value_features);
    auto const present = all.written<float>("present_state", n.batches, n.key_heads, n.features, n.value_features);
    all.allow_same(5, 6);
    auto const result = all.written<float>("result", n.batches, n.heads, n.queries, n.value_features);
    judge_operands(all, q.extents, k.extents, v.extents, result.extents);
    all.must_refuse(q.extent(2) != k.extent(2), "a state goes along queries and keys together");
    extents_t<4> const state{k.extent(0), k.extent(1), k.extent(3), v.extent(3)};
    all.must_refuse(past.extents != state, "past_state does not fit");
    all.must_refuse(present.extents != state, "present_state does not fit");
    all.must_refuse(!fits_steps(decay, k.extents), "gated does not fit");
    all.must_refuse(!fits_steps(rate, k.extents), "delta does not fit");
    double const heads = static_cast<double>(k.extent(0)) * static_cast<double>(k.extent(1));
    if (!all.is_refused() && (is_long(q.extents, k.extents, v.extents) || heads > 1e6)) return;

    auto const spec_of = [](auto const& by_step, auto const& by_key) {
        return dot | causal | unnormalized | running_state | gated(by_step) | delta(by_key);
    };
    all.settle();
    bool const compared = !all.is_refused() && all.is_comparable();
    tensor<float, 4> q_copy, k_copy, v_copy, decay_copy, past_copy;
    tensor<float, 3> rate_copy;
    if (compared) {
        q_copy = memory::copy(q), k_copy = memory::copy(k), v_copy = memory::copy(v);
        decay_copy = memory::copy(decay), rate_copy = memory::copy(rate), past_copy = memory::copy(past);
    }
    auto const call = [&] { attend(spec_of(decay, rate), q, k, v, result, past_state(past), present_state(present)); };
    if (!all.call(call) || !compared) return;
    auto const spec = spec_of(std::as_const(decay_copy), std::as_const(rate_copy));
    tensor<double, 4> expected(result.extents), present_expected(present.extents);
    tensor<float, 4> plain(result.extents), present_plain(present.extents);
    reference::attend_in<double>(spec, q_copy, k_copy, v_copy, expected, past_state(past_copy),
                                 present_state(present_expected));
    reference::attend_in<float>(spec, q_copy, k_copy, v_copy, plain, past_state(past_copy),
                                present_state(present_plain));
    all.expect("result", result, expected, plain);
    all.expect("present_state", present, present_expected, present_plain);
}
