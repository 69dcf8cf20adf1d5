// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Queries in lanes, and log-sum-exps.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include "calls/calls.hpp"

using namespace fovea;

void fuzz::dense(bytes& in) {
    memory all(in);
    sizes const n(in);
    auto const q = all.read<float>("query", n.batches, n.heads, n.queries, n.features);
    auto const k = all.read<float>("key", n.batches, n.key_heads, n.keys, n.features);
    auto const v = all.read<float>("value", n.batches, n.key_heads, n.keys, n.value_features);
    auto const result = all.written<float>("result", n.batches, n.heads, n.queries, n.value_features);
    auto const sums = all.written<float>("lse", n.batches, n.heads, n.queries);
    judge_operands(all, q.extents, k.extents, v.extents, result.extents);
    all.must_refuse(sums.extents != extents_t<3>{q.extent(0), q.extent(1), q.extent(2)}, "lse does not fit");
    if (!all.is_refused() && is_long(q.extents, k.extents, v.extents)) return;

    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    all.settle();
    tensor<float, 4> q_copy, k_copy, v_copy;
    bool const compared = !all.is_refused() && all.is_comparable();
    if (compared) q_copy = memory::copy(q), k_copy = memory::copy(k), v_copy = memory::copy(v);
    if (!all.call([&] { attend(spec, q, k, v, result, lse(sums)); }) || !compared) return;
    tensor<double, 4> expected(result.extents);
    tensor<double, 3> sums_expected(sums.extents);
    tensor<float, 4> plain(result.extents);
    tensor<float, 3> sums_plain(sums.extents);
    reference::attend_in<double>(spec, q_copy, k_copy, v_copy, expected, lse(sums_expected));
    reference::attend_in<float>(spec, q_copy, k_copy, v_copy, plain, lse(sums_plain));
    all.expect("result", result, expected, plain);
    all.expect("lse", sums, sums_expected, sums_plain);
}
