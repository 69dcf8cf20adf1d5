// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys and values of 16 bits in pages, whatever the tables of the pages hold.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include "calls/calls.hpp"

#include <algorithm>
#include <limits>

using namespace fovea;

namespace {

using pages_view = view<bfloat16 const, 4>;
using table_view = view<std::int32_t const, 2>;

/// Why pages and their table cannot be keys or values.
void judge_pages(fuzz::memory& all, pages_view const& pages, table_view const& table, extents_t<4>& rows) {
    index_t positions = 0;
    bool const too_many = __builtin_mul_overflow(table.extent(1), pages.extent(2), &positions);
    rows = {table.extent(0), pages.extent(1), positions, pages.extent(3)};
    all.must_refuse(too_many, "the pages have more positions than can be counted");
    if (all.is_refused()) return;
    bool const asks = table.extent(0) > 0 && table.extent(1) > 0;
    bool inside = true;
    if (asks && table.extent(0) < 1000)  // one row for all where there are more
        for (index_t b = 0; b < table.extent(0); ++b)
            for (index_t i = 0; i < table.extent(1); ++i) inside = inside && table(b, i) < pages.extent(0);
    else all.leave_open(asks);
    all.must_refuse(!inside, "a table asks for a page that is not there");
    // Whether pages without slots may be missing is nobody's question.
    if (asks && pages.extent(0) == 0) pages.extent(2) > 0 ? all.must_refuse(true, "no pages") : all.leave_open(true);
}

/// Whether a position below the length of its sequence lies in a page that is not there.
bool sees_a_missing_page(table_view const& table, index_t slots, index_t keys, view<std::int32_t const, 1> lengths) {
    for (index_t b = 0; b < table.extent(0); ++b)
        for (index_t p = 0; p < std::min<index_t>(lengths(b), keys); ++p)
            if (table(b, p / slots) < 0) return true;
    return false;
}

}  // namespace

void fuzz::pages(bytes& in) {
    memory all(in);
    sizes const n(in);
    index_t const slots = in.between(1, 9), count = (n.keys + slots - 1) / slots, stored = count * n.batches + 1;
    bool const hostile = in.one_in(3);
    auto const page = [&]() -> index_t { return hostile && in.one_in(4) ? in.integer() : in.below(5) % stored; };
    if (n.batches > 100 || stored > 40) return;
    auto const q = all.read<bfloat16>("query", n.batches, n.heads, n.queries, n.features);
    auto const k = all.read<bfloat16>("key", stored, n.key_heads, slots, n.features);
    auto const k_table = all.read<std::int32_t>("the table of the keys", n.batches, count);
    all.fill_last<std::int32_t>(page);
    auto const v = all.read<bfloat16>("value", stored, n.key_heads, slots, n.value_features);
    auto const v_table = all.read<std::int32_t>("the table of the values", n.batches, count);
    all.fill_last<std::int32_t>(page);
    auto const lengths = all.table<std::int32_t>("lengths", n.batches);
    all.fill_last<std::int32_t>([&] { return in.one_in(8) ? in.integer() : in.between(0, 40); });
    auto const result = all.written<float>("result", n.batches, n.heads, n.queries, n.value_features);
    extents_t<4> keys{}, values{};
    judge_pages(all, k, k_table, keys);
    judge_pages(all, v, v_table, values);
    judge_operands(all, q.extents, keys, values, result.extents);
    if (!all.is_refused() && is_long(q.extents, keys, values)) return;
    if (q.extent(0) * q.extent(1) * q.extent(2) > 0 && keys[2] > 0)
        all.must_refuse(lengths.extent(0) < q.extent(0), "lengths are too few");
    if (!all.is_refused() && q.extent(0) * q.extent(1) * q.extent(2) > 0)
        all.must_refuse(sees_a_missing_page(k_table, k.extent(2), keys[2], lengths)
                            || sees_a_missing_page(v_table, v.extent(2), values[2], lengths),
                        "a visible position has no page");

    auto const spec_of = [](auto const& by_batch) { return dot | key_lengths(by_batch) | softmax | weighted_sum; };
    all.settle();
    bool const compared = !all.is_refused() && all.is_comparable();
    tensor<bfloat16, 4> q_copy, k_copy, v_copy;
    tensor<std::int32_t, 2> k_table_copy, v_table_copy;
    tensor<std::int32_t, 1> lengths_copy;
    if (compared) {
        q_copy = memory::copy(q), k_copy = memory::copy(k), v_copy = memory::copy(v);
        k_table_copy = memory::copy(k_table), v_table_copy = memory::copy(v_table),
        lengths_copy = memory::copy(lengths);
    }
    auto const call = [&] { attend(spec_of(lengths), q, paged(k, k_table), paged(v, v_table), result); };
    if (!all.call(call) || !compared) return;
    auto const spec = spec_of(std::as_const(lengths_copy));
    auto const k_rows = paged(k_copy, k_table_copy), v_rows = paged(v_copy, v_table_copy);
    tensor<double, 4> expected(result.extents);
    tensor<float, 4> plain(result.extents);
    reference::attend_in<double>(spec, q_copy, k_rows, v_rows, expected);
    reference::attend_in<float>(spec, q_copy, k_rows, v_rows, plain);
    all.expect("result", result, expected, plain);
}
