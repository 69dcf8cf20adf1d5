// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ragged batches with any offsets.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include "calls/calls.hpp"

#include <algorithm>

using namespace fovea;

namespace {

/// Ascending offsets up to a number of positions, and then whatever the input changes.
void fill_offsets(fuzz::bytes& in, view<std::int32_t const, 1> const& offsets, index_t positions) {
    auto* const to = const_cast<std::int32_t*>(offsets.data);
    index_t const n = offsets.extent(0);
    for (index_t i = 0; i < n; ++i)
        to[i] = i == 0     ? 0
              : i + 1 == n ? static_cast<std::int32_t>(positions)
                           : static_cast<std::int32_t>(in.between(0, positions));
    if (n > 2) std::sort(to, to + n);
    if (n > 0 && in.one_in(4)) to[in.byte() % n] = static_cast<std::int32_t>(in.integer());
}

bool are_offsets(view<std::int32_t const, 1> const& offsets, index_t positions) {
    auto const* const at = offsets.data;
    index_t const n = offsets.extent(0);
    return n > 0 && at[0] == 0 && at[n - 1] == positions && std::is_sorted(at, at + n);
}

}  // namespace

void fuzz::sequences(bytes& in) {
    memory all(in);
    sizes n(in);
    n.queries = std::min<index_t>(n.queries, 200);
    index_t const count = in.between(0, 5);
    auto const q_offsets = all.read<std::int32_t>("query offsets", count + 1);
    if (!all.is_refused()) fill_offsets(in, q_offsets, n.queries);
    auto const k_offsets = all.read<std::int32_t>("key offsets", count + 1);
    if (!all.is_refused()) fill_offsets(in, k_offsets, n.keys);
    auto const q = all.read<float>("query", 1, n.heads, n.queries, n.features);
    auto const k = all.read<float>("key", 1, n.key_heads, n.keys, n.features);
    auto const v = all.read<float>("value", 1, n.key_heads, n.keys, n.value_features);
    auto const result = all.written<float>("result", 1, n.heads, n.queries, n.value_features);
    auto const sums = all.written<float>("lse", 1, n.heads, n.queries);
    judge_operands(all, q.extents, k.extents, v.extents, result.extents);
    all.must_refuse(q.extent(0) != 1, "a ragged batch has one element");
    all.must_refuse(sums.extents != extents_t<3>{1, q.extent(1), q.extent(2)}, "lse does not fit");
    all.must_refuse(q_offsets.extents != k_offsets.extents, "there are other offsets of queries than of keys");
    if (!all.is_refused())
        all.must_refuse(!are_offsets(q_offsets, q.extent(2)) || !are_offsets(k_offsets, k.extent(2)),
                        "the offsets are none");
    if (!all.is_refused() && is_long(q.extents, k.extents, v.extents)) return;

    constexpr auto spec = dot | causal | softmax | weighted_sum;
    all.settle();
    bool const compared = !all.is_refused() && all.is_comparable();
    tensor<float, 4> q_copy, k_copy, v_copy;
    tensor<std::int32_t, 1> q_offsets_copy, k_offsets_copy;
    if (compared) {
        q_copy = memory::copy(q), k_copy = memory::copy(k), v_copy = memory::copy(v);
        q_offsets_copy = memory::copy(q_offsets), k_offsets_copy = memory::copy(k_offsets);
    }
    auto const call = [&] { attend(ragged(q_offsets, k_offsets), spec, q, k, v, result, lse(sums)); };
    if (!all.call(call) || !compared) return;
    tensor<double, 4> expected(result.extents);
    tensor<double, 3> sums_expected(sums.extents);
    reference::attend(ragged(q_offsets_copy, k_offsets_copy), spec, q_copy, k_copy, v_copy, expected,
                      lse(sums_expected));
    all.expect("result", result, expected);
    all.expect("lse", sums, sums_expected);
}
