// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables over pairs and over positions, and outputs of whole rows.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include "calls/calls.hpp"

#include <algorithm>
#include <limits>

using namespace fovea;

namespace {

/// Conditions on the tables: ids for each position, numbers for each pair that sees the other.
void judge_tables(fuzz::memory& all, view<float const, 4> const& numbers, view<std::int64_t const, 1> const& ids,
                  extents_t<4> const& q, index_t keys) {
    if (all.is_refused() || q[0] * q[1] * q[2] == 0 || keys == 0) return;
    all.must_refuse(ids.extent(0) < std::max(q[2], keys), "ids are too few");
    if (all.is_refused()) return;
    auto const within = [&](int axis, index_t i) { return numbers.extent(axis) == 1 || i < numbers.extent(axis); };
    bool inside = true;
    for (index_t i = 0; i < q[2]; ++i)
        for (index_t j = 0; j < keys; ++j)
            if (ids(i) == ids(j))
                inside = inside && within(0, q[0] - 1) && within(1, q[1] - 1) && within(2, i) && within(3, j);
    all.must_refuse(!inside, "bias is too small");
}

}  // namespace

void fuzz::tables(bytes& in) {
    memory all(in);
    sizes const n(in);
    auto const broadcast = in.byte();
    bool const has_nan = in.one_in(8);
    auto const axis = [&](int i, index_t size) { return (broadcast >> i) % 2 == 1 ? index_t{1} : size; };
    auto const q = all.read<float>("query", n.batches, n.heads, n.queries, n.features);
    auto const k = all.read<float>("key", n.batches, n.key_heads, n.keys, n.features);
    auto const v = all.read<float>("value", n.batches, n.key_heads, n.keys, n.value_features);
    auto const numbers =
        all.table<float>("bias", axis(0, n.batches), axis(1, n.heads), axis(2, n.queries), axis(3, n.keys));
    all.fill_last<float>([&] {
        auto const x = all.random().below(64);
        if (x == 0 && has_nan) return std::numeric_limits<float>::quiet_NaN();
        return x < 4 ? -std::numeric_limits<float>::infinity() : static_cast<float>(x) / 32;
    });
    auto const ids = all.table<std::int64_t>("ids", std::max(n.queries, n.keys));
    all.fill_last<std::int64_t>([&] { return static_cast<std::int64_t>(all.random().below(5) % 3) * 0x100000001; });
    auto const result = all.written<float>("result", n.batches, n.heads, n.queries, n.value_features);
    auto const shares = all.written<float>("weights", n.batches, n.heads, n.queries, n.keys);
    auto const sums = all.written<float>("column_sums", n.batches, n.heads, n.keys);
    judge_operands(all, q.extents, k.extents, v.extents, result.extents);
    all.must_refuse(shares.extents != extents_t<4>{q.extent(0), q.extent(1), q.extent(2), k.extent(2)},
                    "weights do not fit");
    all.must_refuse(sums.extents != extents_t<3>{q.extent(0), q.extent(1), k.extent(2)}, "column_sums do not fit");
    if (!all.is_refused() && is_long(q.extents, k.extents, v.extents)) return;
    judge_tables(all, numbers, ids, q.extents, k.extent(2));

    auto const spec_of = [](auto const& of_pairs, auto const& of_positions) {
        return dot | bias(of_pairs) | document(of_positions) | softmax | weighted_sum;
    };
    all.settle();
    bool const compared = !all.is_refused() && all.is_comparable();
    tensor<float, 4> q_copy, k_copy, v_copy, numbers_copy;
    tensor<std::int64_t, 1> ids_copy;
    if (compared) {
        q_copy = memory::copy(q), k_copy = memory::copy(k), v_copy = memory::copy(v);
        numbers_copy = memory::copy(numbers), ids_copy = memory::copy(ids);
    }
    auto const call = [&] { attend(spec_of(numbers, ids), q, k, v, result, weights(shares), column_sums(sums)); };
    if (!all.call(call) || !compared) return;
    auto const spec = spec_of(std::as_const(numbers_copy), std::as_const(ids_copy));
    tensor<double, 4> expected(result.extents), shares_expected(shares.extents);
    tensor<double, 3> sums_expected(sums.extents);
    tensor<float, 4> plain(result.extents), shares_plain(shares.extents);
    tensor<float, 3> sums_plain(sums.extents);
    reference::attend_in<double>(spec, q_copy, k_copy, v_copy, expected, weights(shares_expected),
                                 column_sums(sums_expected));
    reference::attend_in<float>(spec, q_copy, k_copy, v_copy, plain, weights(shares_plain), column_sums(sums_plain));
    all.expect("result", result, expected, plain);
    all.expect("weights", shares, shares_expected, shares_plain);
    all.expect("column_sums", sums, sums_expected, sums_plain);
}
