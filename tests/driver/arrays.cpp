// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native change
// Every array that a call reads or writes is refused, by name and with nothing written, when it cannot be what it says.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>

#include "support/call_arrays.hpp"

#include <cmath>
#include <cstdint>
#include <span>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

float wave(index_t i) { return std::sin(0.7f * static_cast<float>(i)); }
std::int32_t zero(index_t) { return 0; }
std::int32_t counted(index_t i) { return static_cast<std::int32_t>(i); }

}  // namespace

TEST_CASE("arrays of a projected attention with all outputs", "[driver]") {
    call_arrays a;
    auto const x = a.add<float>("query", {3, 7, 6}, wave);
    auto const m = a.add<float>("key", {3, 9, 6}, wave);
    auto const v = a.add<float>("value", {3, 9, 6}, wave);
    auto const wq = a.add<float>("the matrix for query", {6, 16}, wave);
    auto const bq = a.add<float>("the bias added to query", {16}, wave);
    auto const wk = a.add<float>("the matrix for key", {8, 6}, wave);
    auto const wv = a.add<float>("the matrix for value", {6, 8}, wave);
    auto const gain = a.add<float>("the gain of rms_normalized on query", {8}, wave);
    auto const from = a.add<std::int32_t>("the first positions for query", {3}, counted);
    auto const positions = a.add<std::int32_t>("the positions of query", {3, 7}, counted);
    auto const frequencies = a.add<float>("the frequencies of rotary on query", {4}, wave);
    auto const ids = a.add<std::int32_t>("a table", {9}, zero, fit::longer);
    auto const lengths = a.add<std::int32_t>("a table", {3}, [](index_t) { return 9; }, fit::longer);
    auto const pairs = a.add<float>("a table", {7, 9}, wave, fit::longer);
    auto const sinks = a.add<float>("a table", {2}, wave, fit::longer);
    auto const gates = a.add<float>("a table", {2}, wave, fit::longer);
    auto const wo = a.add<float>("the matrix for the result", {16, 5}, wave);
    auto const bo = a.add<float>("the bias added to the result", {5}, wave);
    auto const shift = a.add<float>("a table", {5}, wave);
    auto const to = a.add_written("result", {3, 7, 5});
    auto const sums = a.add_written("lse", {3, 2, 7});
    auto const w = a.add_written("weights", {3, 2, 7, 9});
    auto const raw = a.add_written("scores", {3, 2, 7, 9});
    auto const columns = a.add_written("column_sums", {3, 2, 9});
    auto const spread = a.add_written("entropy", {3, 2, 7});
    auto const best = a.add_written<std::int64_t>("best_key", {3, 2, 7});
    a.also_named(positions, "rotary on query: positions");
    a.also_named(from, "rotary on query: there are");
    a.also_named(shift, "the result");
    a.spoil_each([&](call_arrays const& at) {
        auto const matrix = [&](std::size_t i) { return at[i].as<float const, 2>(); };
        auto const row = [&](std::size_t i) { return at[i].as<float const, 1>(); };
        auto const first = at[from].as<std::int32_t const, 1>();
        auto const places = at[positions].as<std::int32_t const, 2>();
        auto const angles = row(frequencies), gains = row(gain);
        auto const turned = rotary.from(first).positions(places).frequencies(angles);
        auto const query = linear(matrix(wq), row(bq)) | rms_normalized(gains) | turned;
        auto const document_ids = at[ids].as<std::int32_t const, 1>();
        auto const spec = project(query, linear(transposed(matrix(wk))), linear(matrix(wv)), heads<2, 1>) | scaled_dot
                        | bias(matrix(pairs)) | document(document_ids)
                        | key_lengths(param(at[lengths].as<std::int32_t const, 1>())[batch])
                        | softmax_with_sink(param(row(sinks))[head]) | reweight(weight * param(row(gates))[head])
                        | weighted_sum | output(linear(matrix(wo), row(bo)))
                        | map(fovea::placeholders::out + param(row(shift)));
        attend(threads(2), spec, at[x].as<float const, 3>(), at[m].as<float const, 3>(), at[v].as<float const, 3>(),
               at[to].as<float, 3>(), lse(at[sums].as<float, 3>()), weights(at[w].as<float, 4>()),
               scores<score_stage::raw>(at[raw].as<float, 4>()), column_sums(at[columns].as<float, 3>()),
               entropy(at[spread].as<float, 3>()), best_key(at[best].as<std::int64_t, 3>()));
    });
}

TEST_CASE("tables of scores and masks", "[driver]") {
    call_arrays a;
    auto const q = a.add<float>("query", {2, 3, 7, 6}, wave);
    auto const k = a.add<float>("key", {2, 3, 9, 6}, wave);
    auto const v = a.add<float>("value", {2, 3, 9, 5}, wave);
    auto const hidden = a.add<float>("a table", {6}, wave);
    auto const slopes = a.add<float>("a table", {3}, wave, fit::longer);
    auto const distances = a.add<float>("a table", {3, 5}, wave, fit::free);
    auto const buckets = a.add<std::int32_t>("a table", {9}, [](index_t i) { return int(i) / 3; }, fit::longer);
    auto const biases = a.add<float>("a table", {6, 3}, wave, fit::free);
    auto const pairs = a.add<std::uint8_t>("a table", {3, 7, 9}, [](index_t) { return std::uint8_t{1}; }, fit::longer);
    auto const blocks = a.add<std::int32_t>("a table", {2, 3}, [](index_t) { return 1; }, fit::longer);
    auto const ancestors = a.add<std::uint8_t>("a table", {7, 7}, [](index_t) { return std::uint8_t{1}; }, fit::free);
    auto const prefixes = a.add<std::int32_t>("a table", {2}, [](index_t) { return 2; }, fit::longer);
    auto const offsets = a.add<std::int64_t>("a table", {2}, [](index_t) { return std::int64_t{9}; }, fit::longer);
    auto const to = a.add_written("result", {2, 3, 7, 5});
    auto const sums = a.add_written("lse", {2, 3, 7});
    a.spoil_each([&](call_arrays const& at) {
        auto const seen = at[blocks].as<std::int32_t const, 2>();
        auto const node_of = at[ancestors].as<std::uint8_t const, 2>();
        auto const prefix = param(at[prefixes].as<std::int32_t const, 1>())[batch];
        auto const spec = additive(at[hidden].as<float const, 1>()) | alibi(at[slopes].as<float const, 1>())
                        | relative_bias(at[distances].as<float const, 2>())
                        | t5_bias(at[biases].as<float const, 2>(), at[buckets].as<std::int32_t const, 1>())
                        | mask_tensor(at[pairs].as<std::uint8_t const, 3>()) | block_list(seen, 4, 3)
                        | tree(prefix, node_of) | causal_from(param(at[offsets].as<std::int64_t const, 1>())[batch])
                        | softmax | weighted_sum;
        attend(spec, at[q].as<float const, 4>(), at[k].as<float const, 4>(), at[v].as<float const, 4>(),
               at[to].as<float, 4>(), lse(at[sums].as<float, 3>()));
    });
}

TEST_CASE("pages and their tables", "[driver]") {
    call_arrays a;
    auto const page = [](index_t i) { return std::int32_t(i % 5); };
    auto const q = a.add<float>("query", {2, 4, 1, 6}, wave);
    auto const keys = a.add<float>("key", {5, 2, 3, 6}, wave);
    auto const key_table = a.add<std::int32_t>("key's page table", {2, 4}, page);
    auto const values = a.add<float>("value", {5, 2, 3, 7}, wave);
    auto const value_table = a.add<std::int32_t>("value's page table", {2, 4}, page);
    auto const to = a.add_written("result", {2, 4, 1, 7});
    auto const sums = a.add_written("lse", {2, 4, 1});
    for (auto i : {key_table, value_table}) a.also_named(i, i == key_table ? "key" : "value");
    a.also_named(key_table, "value has");
    for (auto i : {keys, values}) a.any_length(i, 0);  // pages that the tables do not ask for
    a.spoil_each([&](call_arrays const& at) {
        attend(scaled_dot | softmax | weighted_sum, at[q].as<float const, 4>(),
               paged(at[keys].as<float const, 4>(), at[key_table].as<std::int32_t const, 2>()),
               paged(at[values].as<float const, 4>(), at[value_table].as<std::int32_t const, 2>()),
               at[to].as<float, 4>(), lse(at[sums].as<float, 3>()));
    });
}

TEST_CASE("graphs and numbers of their edges", "[driver]") {
    call_arrays a;
    auto const x = a.add<float>("query", {6, 4}, wave);
    auto const offsets = a.add<index_t>("graph", {7}, [](index_t i) { return 2 * i; });
    auto const keys = a.add<std::int32_t>("graph", {12}, [](index_t i) { return std::int32_t(i % 6); });
    auto const numbers = a.add<index_t>("graph", {12}, [](index_t i) { return 11 - i; });
    auto const weight_of_edge = a.add<float>("a table", {12}, wave, fit::longer);
    auto const target = a.add<float>("a table", {1, 4}, wave, fit::free);
    auto const source = a.add<float>("a table", {1, 4}, wave, fit::free);
    auto const to = a.add_written("result", {6, 4});
    auto const sums = a.add_written("lse", {6});
    a.spoil_each([&](call_arrays const& at) {
        auto const span_of = []<class T>(view<T, 1> const& v) {
            return std::span<T>(v.data, static_cast<std::size_t>(v.extent(0)));
        };
        graph_view const listed{span_of(at[offsets].as<index_t const, 1>()),
                                span_of(at[keys].as<std::int32_t const, 1>()),
                                span_of(at[numbers].as<index_t const, 1>())};
        auto const spec = gat_score(at[target].as<float const, 2>(), at[source].as<float const, 2>())
                        | rescore(score + param(at[weight_of_edge].as<float const, 1>())[edge]) | neighbors(listed)
                        | softmax | weighted_sum;
        auto const nodes = at[x].as<float const, 2>();
        attend(spec, nodes, nodes, nodes, at[to].as<float, 2>(), lse(at[sums].as<float, 1>()));
    });
}

TEST_CASE("gates, rates and states", "[driver]") {
    call_arrays a;
    auto const q = a.add<float>("query", {3, 6, 9, 6}, wave);
    auto const k = a.add<float>("key", {3, 3, 9, 6}, wave);
    auto const v = a.add<float>("value", {3, 3, 9, 5}, wave);
    auto const decay = a.add<float>("gated", {3, 3, 9, 6}, [](index_t) { return -0.1f; });
    auto const rate = a.add<float>("delta", {3, 3, 9}, [](index_t) { return 0.5f; });
    auto const before = a.add<float>("past_state", {3, 3, 6, 5}, wave);
    auto const to = a.add_written("result", {3, 6, 9, 5});
    auto const after = a.add_written("present_state", {3, 3, 6, 5});
    a.may_coincide(after, before);
    auto const call = [&](call_arrays const& at) {
        auto const decays = at[decay].as<float const, 4>();
        auto const rates = at[rate].as<float const, 3>();
        attend(dot | causal | unnormalized | running_state | gated(decays) | delta(rates), at[q].as<float const, 4>(),
               at[k].as<float const, 4>(), at[v].as<float const, 4>(), at[to].as<float, 4>(),
               past_state(at[before].as<float const, 4>()), present_state(at[after].as<float, 4>()));
    };
    a.spoil_each(call);
}

TEST_CASE("ragged offsets, and what is cut along them", "[driver]") {
    auto const offset = [](index_t i) { return std::int32_t(i * 5); };
    call_arrays a;
    auto const q = a.add<float>("query", {1, 3, 10, 6}, wave);
    auto const k = a.add<float>("key", {1, 3, 10, 6}, wave);
    auto const v = a.add<float>("value", {1, 3, 10, 5}, wave);
    auto const queries_at = a.add<std::int32_t>("query offsets", {3}, offset);
    auto const keys_at = a.add<std::int32_t>("key offsets", {3}, offset);
    auto const to = a.add_written("result", {1, 3, 10, 5});
    SECTION("lse and a table by sequence") {
        auto const lengths = a.add<std::int32_t>("a table", {2}, [](index_t) { return 4; }, fit::longer);
        auto const sums = a.add_written("lse", {3, 10});
        a.spoil_each([&](call_arrays const& at) {
            auto const limits = at[lengths].as<std::int32_t const, 1>();
            auto const first = at[queries_at].as<std::int32_t const, 1>();
            auto const second = at[keys_at].as<std::int32_t const, 1>();
            attend(ragged(first, second), scaled_dot | key_lengths(limits) | softmax | weighted_sum,
                   at[q].as<float const, 4>(), at[k].as<float const, 4>(), at[v].as<float const, 4>(),
                   at[to].as<float, 4>(), lse(at[sums].as<float, 2>()));
        });
    }
    SECTION("gates and states") {
        auto const decay = a.add<float>("gated", {1, 3, 10}, [](index_t) { return -0.1f; });
        auto const before = a.add<float>("past_state", {2, 3, 6, 5}, wave);
        auto const after = a.add_written("present_state", {2, 3, 6, 5});
        a.may_coincide(after, before);
        a.spoil_each([&](call_arrays const& at) {
            auto const decays = at[decay].as<float const, 3>();
            auto const first = at[queries_at].as<std::int32_t const, 1>();
            auto const second = at[keys_at].as<std::int32_t const, 1>();
            attend(ragged(first, second), dot | causal | unnormalized | running_state | gated(decays),
                   at[q].as<float const, 4>(), at[k].as<float const, 4>(), at[v].as<float const, 4>(),
                   at[to].as<float, 4>(), past_state(at[before].as<float const, 4>()),
                   present_state(at[after].as<float, 4>()));
        });
    }
}

TEST_CASE("parts that are merged", "[driver]") {
    call_arrays a;
    auto const first = a.add<float>("part 1", {2, 3, 7, 5}, wave);
    auto const first_sums = a.add<float>("lse of part 1", {2, 3, 7}, wave);
    auto const second = a.add<float>("part 2", {2, 3, 7, 5}, wave);
    auto const second_sums = a.add<float>("lse of part 2", {2, 3, 7}, wave);
    auto const to = a.add_written("result", {2, 3, 7, 5});
    auto const sums = a.add_written("lse", {2, 3, 7});
    a.may_coincide(to, first);
    a.may_coincide(to, second);
    a.may_coincide(sums, first_sums);
    a.may_coincide(sums, second_sums);
    a.spoil_each([&](call_arrays const& at) {
        merge(at[first].as<float const, 4>(), at[first_sums].as<float const, 3>(), at[second].as<float const, 4>(),
              at[second_sums].as<float const, 3>(), at[to].as<float, 4>(), at[sums].as<float, 3>());
    });
}

TEST_CASE("explain refuses the arrays that attend refuses", "[driver]") {
    call_arrays a;
    auto const q = a.add<float>("query", {2, 3, 7, 6}, wave);
    auto const k = a.add<float>("key", {2, 3, 9, 6}, wave);
    auto const v = a.add<float>("value", {2, 3, 9, 5}, wave);
    auto const ids = a.add<std::int32_t>("a table", {9}, zero, fit::longer);
    a.also_named(q, "a table");
    a.any_length(v, 3);
    a.any_length(q, 2);
    a.spoil_each([&](call_arrays const& at) {
        auto const table = at[ids].as<std::int32_t const, 1>();
        static_cast<void>(explain(scaled_dot | document(table) | softmax | weighted_sum, at[q].as<float const, 4>(),
                                  at[k].as<float const, 4>(), at[v].as<float const, 4>()));
    });
}

TEST_CASE("a state may be replaced where it lies, and a result lie among its operands", "[driver]") {
    testing::dice random{5};
    auto rows = testing::random_tensor<float>(random, extents_t<4>{2, 33, 4, 24});  // q | k | v | o for each position
    auto const slot = [&](index_t i) { return view<float, 4>(&rows(0, 0, i, 0), {2, 3, 33, 8}, {33 * 96, 8, 96, 1}); };
    auto const spec = scaled_dot | causal | softmax | weighted_sum;
    tensor<float, 4> expected({2, 3, 33, 8});
    attend(spec, slot(0), slot(1), slot(2), expected);
    auto const before = rows.elements;
    for (int n : {1, 3}) {
        rows.elements = before;
        attend(threads(n), spec, slot(0), slot(1), slot(2), slot(3));
        bool same = true, untouched = true;
        for (index_t b = 0; b < 2; ++b)
            for (index_t h = 0; h < 3; ++h)
                for (index_t i = 0; i < 33; ++i)
                    for (index_t c = 0; c < 8; ++c) same = same && slot(3)(b, h, i, c) == expected(b, h, i, c);
        for (std::size_t i = 0; i < before.size(); ++i)
            untouched = untouched && (i % 96 >= 72 || rows.elements[i] == before[i]);
        CHECK(same);
        CHECK(untouched);
    }
    auto const shifted = view<float, 4>(&rows(0, 0, 3, 0) - 1, {2, 3, 33, 8}, {33 * 96, 8, 96, 1});
    CHECK_THROWS_WITH(attend(spec, slot(0), slot(1), slot(2), shifted),
                      "result overlaps value in memory: it would be overwritten while it is read");
}
