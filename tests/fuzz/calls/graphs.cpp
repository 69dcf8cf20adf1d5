// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Neighbour lists with any content, and graphs made of any edges.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include "calls/calls.hpp"

#include <algorithm>
#include <span>
#include <vector>

using namespace fovea;

namespace {

using offsets_view = view<index_t const, 1>;
using keys_view = view<std::int32_t const, 1>;

/// Ascending offsets and keys in range, and then whatever the input changes.
void fill_graph(fuzz::bytes& in, offsets_view const& offsets, keys_view const& keys, index_t nodes) {
    auto* const to = const_cast<index_t*>(offsets.data);
    auto* const from = const_cast<std::int32_t*>(keys.data);
    index_t const edges = keys.extent(0), rows = offsets.extent(0);
    for (index_t i = 0; i < rows; ++i) to[i] = rows > 1 ? i * edges / (rows - 1) : 0;
    for (index_t i = 0; i < edges; ++i)
        from[i] = nodes > 0 ? static_cast<std::int32_t>(in.byte() % std::min<index_t>(nodes, 200)) : 0;
    if (!in.one_in(3)) return;
    for (int changes = in.below(4); changes-- > 0;) {
        if (rows > 0 && in.one_in(2)) to[in.byte() % rows] = in.integer();
        else if (edges > 0) from[in.byte() % edges] = static_cast<std::int32_t>(in.integer());
    }
}

bool is_graph(offsets_view const& offsets, keys_view const& keys, index_t nodes) {
    auto const* const at = offsets.data;
    index_t const rows = offsets.extent(0), edges = keys.extent(0);
    return at[0] == 0 && at[rows - 1] == edges && std::is_sorted(at, at + rows)
        && std::all_of(keys.data, keys.data + edges, [=](std::int32_t key) { return key >= 0 && key < nodes; });
}

/// A graph of any edges is refused, or lists each edge with its query.
void check_edges(fuzz::bytes& in) {
    index_t const queries = in.between(-2, 12);
    std::vector<graph::edge> edges(static_cast<std::size_t>(in.below(20)));
    bool const hostile = in.one_in(2);
    bool fits = queries >= 0;
    for (auto& e : edges) {
        e = {in.between(0, 11), in.between(0, 11)};
        if (hostile && in.one_in(4)) e.to = in.integer();
        if (hostile && in.one_in(4)) e.from = in.integer();
        fits = fits && e.to >= 0 && e.to < queries && e.from >= 0 && e.from <= std::numeric_limits<std::int32_t>::max();
    }
    try {
        graph const made(queries, edges);
        if (!fits) fuzz::finding("a graph was made of edges that no graph has");
        index_t listed = 0;
        for (index_t i = 0; i < queries; ++i)
            for (auto const key : made.view().of(i)) {
                ++listed;
                if (std::none_of(edges.begin(), edges.end(), [&](auto& e) { return e.to == i && e.from == key; }))
                    fuzz::finding("a graph lists an edge that nobody gave");
            }
        if (listed != static_cast<index_t>(edges.size())) fuzz::finding("a graph has lost an edge");
    } catch (graph_error const&) {
        if (fits) fuzz::finding("a graph was refused although its edges are right");
    }
    fuzz::count("graphs of edges");
}

}  // namespace

void fuzz::graphs(bytes& in) {
    if (in.one_in(4)) return check_edges(in);
    memory all(in);
    sizes const n(in);
    auto const offsets = all.read<index_t>("offsets", n.queries + 1);
    auto const keys = all.read<std::int32_t>("keys", in.between(0, 24));
    if (all.is_refused()) return;  // a span cannot be so
    fill_graph(in, offsets, keys, n.keys);
    auto const q = all.read<float>("query", n.batches, n.heads, n.queries, n.features);
    auto const k = all.read<float>("key", n.batches, n.key_heads, n.keys, n.features);
    auto const v = all.read<float>("value", n.batches, n.key_heads, n.keys, n.value_features);
    auto const result = all.written<float>("result", n.batches, n.heads, n.queries, n.value_features);
    auto const sums = all.written<float>("lse", n.batches, n.heads, n.queries);
    judge_operands(all, q.extents, k.extents, v.extents, result.extents);
    all.must_refuse(sums.extents != extents_t<3>{q.extent(0), q.extent(1), q.extent(2)}, "lse does not fit");
    if (!all.is_refused() && is_long(q.extents, k.extents, v.extents)) return;
    index_t const rows = offsets.extent(0);
    all.must_refuse(rows != q.extent(2) + 1 && !(rows == 0 && q.extent(2) == 0), "the graph has other queries");
    if (!all.is_refused()) {
        bool const sound = rows == 0 ? keys.extent(0) == 0 : is_graph(offsets, keys, k.extent(2));
        if (q.extent(2) == 0) all.leave_open(!sound);
        else all.must_refuse(!sound, "the graph is not one");
    }

    auto const spec_of = [](auto const& of, auto const& to) {
        graph_view const listed{{of.data, static_cast<std::size_t>(of.extent(0))},
                                {to.data, static_cast<std::size_t>(to.extent(0))}};
        return dot | neighbors(listed) | softmax | weighted_sum;
    };
    all.settle();
    bool const compared = !all.is_refused() && all.is_comparable();
    tensor<float, 4> q_copy, k_copy, v_copy;
    tensor<index_t, 1> offsets_copy;
    tensor<std::int32_t, 1> keys_copy;
    if (compared) {
        q_copy = memory::copy(q), k_copy = memory::copy(k), v_copy = memory::copy(v);
        offsets_copy = memory::copy(offsets), keys_copy = memory::copy(keys);
    }
    if (!all.call([&] { attend(spec_of(offsets, keys), q, k, v, result, lse(sums)); }) || !compared) return;
    auto const spec = spec_of(offsets_copy.view(), keys_copy.view());
    tensor<double, 4> expected(result.extents);
    tensor<double, 3> sums_expected(sums.extents);
    tensor<float, 4> plain(result.extents);
    tensor<float, 3> sums_plain(sums.extents);
    reference::attend_in<double>(spec, q_copy, k_copy, v_copy, expected, lse(sums_expected));
    reference::attend_in<float>(spec, q_copy, k_copy, v_copy, plain, lse(sums_plain));
    all.expect("result", result, expected, plain);
    all.expect("lse", sums, sums_expected, sums_plain);
}
