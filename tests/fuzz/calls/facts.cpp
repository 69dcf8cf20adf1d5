// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers for each batch and head, and outputs of one number for each query or pair.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include "calls/calls.hpp"

using namespace fovea;
using namespace fovea::placeholders;

void fuzz::coordinates(bytes& in) {
    memory all(in);
    sizes const n(in);
    auto const q = all.read<float>("query", n.batches, n.heads, n.queries, n.features);
    auto const k = all.read<float>("key", n.batches, n.key_heads, n.keys, n.features);
    auto const v = all.read<float>("value", n.batches, n.key_heads, n.keys, n.value_features);
    auto const slopes = all.table<float>("slopes", n.heads);
    auto const lengths = all.table<std::int32_t>("lengths", n.batches);
    all.fill_last<std::int32_t>([&] { return in.integer(); });
    auto const result = all.written<float>("result", n.batches, n.heads, n.queries, n.value_features);
    auto const best = all.written<std::int64_t>("best_key", n.batches, n.heads, n.queries);
    auto const spread = all.written<float>("entropy", n.batches, n.heads, n.queries);
    auto const raw = all.written<float>("scores", n.batches, n.heads, n.queries, n.keys);
    judge_operands(all, q.extents, k.extents, v.extents, result.extents);
    extents_t<3> const rows{q.extent(0), q.extent(1), q.extent(2)};
    all.must_refuse(best.extents != rows, "best_key does not fit");
    all.must_refuse(spread.extents != rows, "entropy does not fit");
    all.must_refuse(raw.extents != extents_t<4>{rows[0], rows[1], rows[2], k.extent(2)}, "scores do not fit");
    if (!all.is_refused() && is_long(q.extents, k.extents, v.extents)) return;
    if (!all.is_refused() && rows[0] * rows[1] * rows[2] > 0 && k.extent(2) > 0) {
        all.must_refuse(lengths.extent(0) < rows[0], "lengths are too few");
        bool seen = false;
        for (index_t b = 0; b < rows[0] && !all.is_refused(); ++b) seen = seen || lengths(b) > 0;
        all.must_refuse(seen && slopes.extent(0) < rows[1], "slopes are too few");
    }

    auto const spec_of = [](auto const& by_head, auto const& by_batch) {
        return dot | rescore(score + param(by_head)[head] * kv_idx) | key_lengths(by_batch) | hardmax | weighted_sum;
    };
    all.settle();
    bool const compared = !all.is_refused() && all.is_comparable();
    tensor<float, 4> q_copy, k_copy, v_copy;
    tensor<float, 1> slopes_copy;
    tensor<std::int32_t, 1> lengths_copy;
    if (compared) {
        q_copy = memory::copy(q), k_copy = memory::copy(k), v_copy = memory::copy(v);
        slopes_copy = memory::copy(slopes), lengths_copy = memory::copy(lengths);
    }
    auto const call = [&] {
        attend(spec_of(slopes, lengths), q, k, v, result, best_key(best), entropy(spread), scores(raw));
    };
    if (!all.call(call) || !compared) return;
    // Numbers are eighths: every score is exact, so that float finds the same greatest one.
    auto const spec = spec_of(std::as_const(slopes_copy), std::as_const(lengths_copy));
    tensor<double, 4> expected(result.extents), raw_expected(raw.extents);
    tensor<double, 3> spread_expected(rows);
    tensor<std::int64_t, 3> best_expected(rows);
    reference::attend_in<double>(spec, q_copy, k_copy, v_copy, expected, best_key(best_expected),
                                 entropy(spread_expected), scores(raw_expected));
    all.expect("result", result, expected);
    all.expect("entropy", spread, spread_expected);
    all.expect("scores", raw, raw_expected);
    if (memory::copy(best).elements != best_expected.elements) finding("best_key differs from the reference");
}
