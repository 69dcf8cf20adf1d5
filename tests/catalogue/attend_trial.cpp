// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "catalogue/judge.hpp"

#include <fovea/core/subnormals.hpp>
#include <fovea/testing/tolerance.hpp>

#include <algorithm>
#include <limits>

namespace catalogue {

using fovea::testing::dice;
using fovea::testing::law_broken;

namespace {

constexpr int thread_counts[] = {1, 2, 3, 8};

/// Flags for the rows of the result, or of (batch, head, query).
struct row_flags {
    std::vector<char> result, heads;

    explicit row_flags(drawn_call const& call)
        : result(flags(call.extents.result[0] * call.extents.result[1] * call.n.queries)),
          heads(flags(call.extents.result[0] * call.n.heads() * call.n.queries)) {}

    void set(drawn_call const& call, index_t batch, index_t head, index_t query) {
        auto const& e = call.extents.result;
        result[static_cast<std::size_t>((batch * e[1] + call.head_in(e, head)) * e[2] + query)] = true;
        heads[static_cast<std::size_t>((batch * call.n.heads() + head) * e[2] + query)] = true;
    }

private:
    static std::vector<char> flags(index_t n) { return std::vector<char>(static_cast<std::size_t>(n)); }
};

/// One element of the keys or values becomes NaN.
void poison_one(drawn_call const& call, dice& from) {
    bool const of_key = from.chance(0.5);
    auto const& rows = of_key ? *call.key : *call.value;
    auto const& operand = of_key ? call.extents.key : call.extents.value;
    if (rows.kind() == stored::int8 || call.n.keys == 0 || operand[3] == 0) return;
    index_t const b = from.between(0, call.types.ragged ? 0 : call.n.batches - 1), h = from.between(0, operand[1] - 1),
                  n = from.between(0, call.n.keys - 1), c = from.between(0, operand[3] - 1);
    rows.set(of_key ? call.key_place(b, h, n, c) : call.value_place(b, h, n, c),
             std::numeric_limits<double>::quiet_NaN());
}

/// Keys of one feature give scores that are huge, infinite, or no numbers; or only numbers and -inf. Where they are
/// infinite, values may be no numbers: what has a score of -inf takes no part.
void make_hostile(drawn_call const& call, dice& from) {
    double const inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    double const odd[] = {-inf, inf, 3e38, nan};
    double const often = from.chance(0.3) ? 0.9 : 0.1;
    bool const numbers = from.chance(0.5);
    call.query->for_each([&](index_t at) { call.query->set(at, numbers || from.chance(0.7) ? 1 : -1); });
    if (call.key->kind() == stored::int8) return;
    call.key->for_each([&](index_t at) {
        if (from.chance(often)) call.key->set(at, odd[numbers ? 0 : from.between(0, 3)]);
    });
    auto const& e = call.extents.value;
    if (call.value->kind() == stored::int8 || e[3] == 0) return;
    for (index_t b = 0; b < (call.types.ragged ? 1 : call.n.batches); ++b)
        for (index_t h = 0; h < e[1]; ++h)
            for (index_t j = 0; j < call.n.keys; ++j)
                if (std::isinf(call.key->get(call.key_place(b, h, j, 0))) && from.chance(0.5))
                    call.value->set(call.value_place(b, h, j, from.between(0, e[3] - 1)),
                                    odd[from.chance(0.5) ? 1 : 3]);
}

/// The definition on the whole of a call, its parts where the parts of the call's results are.
template <class Compute>
answer defined(definition const& by, drawn_call const& call, Compute const& compute) {
    auto const& e = call.extents.result;
    index_t const heads = call.n.heads(), rows = e[0] * heads * call.n.queries;
    auto const room = [](index_t elements) { return std::vector<double>(static_cast<std::size_t>(elements)); };
    bool const pairs = by.has_weights && !call.types.ragged;
    answer all{room(e[0] * e[1] * call.n.queries * e[3]), room(pairs ? rows * call.n.keys : 0),
               room(by.has_log_sum ? rows : 0)};
    for (auto const& s : call.sequences) {
        index_t const copies = copies_of(by, s), b = call.batch_of(s);
        answer const part = compute(sequence_numbers(call, s, copies));
        auto const copy = [&](std::vector<double> const& from, std::vector<double>& to, index_t of_heads,
                              index_t width) {
            for (index_t h = 0; h < of_heads; ++h)
                for (index_t i = 0; i < s.queries && !from.empty() && !to.empty(); ++i)
                    std::copy_n(from.data() + (((copies - 1) * of_heads + h) * s.queries + i) * width, width,
                                to.data() + ((b * of_heads + h) * call.n.queries + s.first_query + i) * width);
        };
        copy(part.result, all.result, e[1], e[3]);
        copy(part.weights, all.weights, heads, pairs ? call.n.keys : 0);
        copy(part.lse, all.lse, heads, 1);
    }
    return all;
}

/// The loss of the type that is computed in: plain loops on the operands moved by a unit in their last place, in that
/// type, or in double, with subnormal numbers as zero, as calls have them. Calls of a few rows would lose little by
/// chance. A row that leaves the range of the type, which may make NaN of an infinity too, is open.
struct losses {
    double result = 0, weights = 0, lse = 0;
};
losses measured(definition const& by, attend_engine const& computed, drawn_call const& call, answer const& expected,
                row_flags& open, dice& from) {
    losses most;
    double const unit = computed.in_double ? 0x1p-52 : 0x1p-23;
    auto const add = [](double& worst, std::vector<double> const& exact, std::vector<double> const& plain,
                        std::vector<char>& rows, index_t width) {
        for (std::size_t i = 0; i < exact.size() && i < plain.size(); ++i)
            if (std::isfinite(exact[i]) && std::isfinite(plain[i]))
                worst = std::max(worst, std::abs(plain[i] - exact[i]));
            else if (!(plain[i] == exact[i] || (std::isnan(plain[i]) && std::isnan(exact[i]))))
                rows[i / static_cast<std::size_t>(width)] = true;
    };
    int const runs = expected.result.size() < 4096 ? 2 : 1;
    for (int run = 0; run < runs; ++run) {
        answer const plain = defined(by, call, [&](numbers x) {
            for (auto* const of : {&x.query, &x.key, &x.value})
                for (double& e : *of) e *= 1 + (run == 0 && !computed.in_double ? 0 : from.real(-unit, unit));
            fovea::subnormals_as_zero const mode;
            return (computed.in_double ? by.in_double : by.in_float)(x);
        });
        add(most.result, expected.result, plain.result, open.result, call.extents.result[3]);
        add(most.weights, expected.weights, plain.weights, open.heads, call.n.keys);
        add(most.lse, expected.lse, plain.lse, open.heads, 1);
    }
    return most;
}

/// Rows in which the chosen scores are as near to the others as rounding.
void open_undecided(definition const& by, attend_engine const& computed, drawn_call const& call,
                    std::vector<visibility> const& visible, row_flags& open) {
    if (by.chosen == 0) return;
    double size = 1;
    auto const greatest = [&](drawn_rows const& rows) {
        double most = 0;
        rows.for_each([&](index_t at) {
            if (double const x = std::abs(rows.get(at)); std::isfinite(x)) most = std::max(most, x);
        });
        return most;
    };
    size += greatest(*call.query) * greatest(*call.key) * static_cast<double>(call.n.features);
    double const unit = (computed.in_double ? 1e-14 : 2e-6) * size;
    for (std::size_t s = 0; s < call.sequences.size(); ++s) {
        auto const& at = call.sequences[s];
        index_t const copies = copies_of(by, at);
        auto const scores = by.scores(sequence_numbers(call, at, copies)).weights;
        for (index_t h = 0; h < call.n.heads(); ++h)
            for (index_t i = 0; i < at.queries; ++i) {
                std::vector<double> row;
                for (index_t j = 0; j < at.keys; ++j)
                    if (visible[s](h, i, j))
                        row.push_back(scores[static_cast<std::size_t>(
                            (((copies - 1) * call.n.heads() + h) * at.queries + i) * at.keys + j)]);
                auto const chosen = static_cast<std::size_t>(by.chosen);
                bool const numbers = std::none_of(row.begin(), row.end(), [](double x) { return std::isnan(x); });
                if (row.size() <= chosen || !numbers) continue;
                std::sort(row.begin(), row.end(), std::greater<>());
                if (!(row[chosen - 1] - row[chosen] > unit)) open.set(call, call.batch_of(at), h, at.first_query + i);
            }
    }
}

/// The room of weights that are rounded by a share of them: that of the sum of weights times the size of values.
std::vector<double> room_of_weights(drawn_call const& call, std::vector<visibility> const& visible,
                                    definition const& by, double share) {
    auto const& e = call.extents.result;
    std::vector<double> room(static_cast<std::size_t>(e[0] * e[1] * call.n.queries * e[3]));
    for (std::size_t s = 0; s < call.sequences.size(); ++s) {
        auto const& at = call.sequences[s];
        index_t const b = call.batch_of(at), copies = copies_of(by, at);
        auto const weights = by.in_double(sequence_numbers(call, at, copies)).weights;
        for (index_t h = 0; h < call.n.heads(); ++h)
            for (index_t i = 0; i < at.queries; ++i) {
                index_t const row = (b * e[1] + call.head_in(e, h)) * call.n.queries + at.first_query + i;
                for (index_t j = 0; j < at.keys; ++j) {
                    if (!visible[s](h, i, j)) continue;
                    double const w = weights[static_cast<std::size_t>(
                        (((copies - 1) * call.n.heads() + h) * at.queries + i) * at.keys + j)];
                    index_t const of = call.head_in(call.extents.value, h);
                    for (index_t c = 0; w != 0 && c < e[3]; ++c)
                        room[static_cast<std::size_t>(row * e[3] + c)] +=
                            share * std::abs(w * call.value->get(call.value_place(b, of, at.first_key + j, c)));
                }
            }
    }
    return room;
}

/// The weight of a pair that takes no part.
void check_weights_of_hidden(drawn_call const& call, std::vector<visibility> const& visible,
                             drawn_rows const& weights) {
    for (std::size_t s = 0; s < call.sequences.size(); ++s)
        for (index_t h = 0; h < call.n.heads(); ++h)
            for (index_t i = 0; i < call.n.queries; ++i)
                for (index_t j = 0; j < call.n.keys; ++j)
                    if (double const w = weights.get(weights.place(call.sequences[s].batch, h, i, j));
                        !visible[s](h, i, j) && w != 0)
                        throw law_broken("the weight of a pair that takes no part is exactly 0, but at ("
                                         + std::to_string(s) + ", " + std::to_string(h) + ", " + std::to_string(i)
                                         + ", " + std::to_string(j) + ") it is " + std::to_string(w));
}

}  // namespace

std::string broken_law(definition const& by, attend_engine const& computed, drawn_call& call, dice& from,
                       fovea::workspace& scratch) try {
    auto const& n = call.n;
    auto const visible = visible_pairs(by, call);
    row_flags open(call);
    if (by.of_products && call.n.features == 1) make_hostile(call, from);
    else if (from.chance(0.15)) poison_one(call, from);
    poison_unseen(call, visible, from);

    answer const expected = defined(by, call, by.in_double);
    losses const loss = measured(by, computed, call, expected, open, from);
    open_undecided(by, computed, call, visible, open);

    attend_results const to(from, computed, call);
    drawn_rows const* const operands[] = {call.query.get(), call.key.get(), call.value.get()};
    std::vector<std::vector<unsigned char>> before;
    for (auto const* rows : operands) before.push_back(rows->snapshot());
    auto const run = [&](int workers, fovea::workspace& memory, index_t batch = -1) {
        unsigned char const byte = from.chance(0.5) ? 0xff : 0x41;
        to.each([&](char const*, drawn_rows const& rows) { rows.fill_with(byte); });
        computed.run({call, to.result, to.lse.get(), to.weights.get(), workers, memory, batch});
        to.each([&](char const* name, drawn_rows const& rows) {
            if (index_t const at = rows.touched(byte); at >= 0)
                throw law_broken(std::string(name) + ": element " + std::to_string(at)
                                 + " of the memory lies between the rows and was written, on " + std::to_string(workers)
                                 + " threads");
        });
    };

    int const first = thread_counts[from.between(0, 3)];
    make_dirty(scratch, first);
    run(first, scratch);
    // bfloat16 weights meet bfloat16 values, and weights in two such parts those of results in float16.
    bool const all_bfloat16 = computed.types.value == stored::bfloat16 && computed.types.result == stored::bfloat16;
    double const share = all_bfloat16 ? 0x1.04p-8 : computed.types.result == stored::float16 ? 0x1.04p-17 : 0;
    auto const room = share > 0 && by.adds ? room_of_weights(call, visible, by, share) : std::vector<double>{};
    comparison{loss.result, computed.in_double, &open.result, room.empty() ? nullptr : &room}("result", to.result,
                                                                                              expected.result);
    if (to.lse) comparison{loss.lse, computed.in_double, &open.heads, nullptr, 1}("lse", *to.lse, expected.lse);
    if (to.weights) {
        comparison{loss.weights, computed.in_double, &open.heads}("weights", *to.weights, expected.weights);
        check_weights_of_hidden(call, visible, *to.weights);
    }

    std::vector<std::vector<unsigned char>> bits;
    to.each([&](char const*, drawn_rows const& rows) { bits.push_back(rows.element_bytes()); });
    auto const require_bits = [&](std::string const& how, index_t batch = -1) {
        std::size_t i = 0;
        to.each([&](char const* name, drawn_rows const& rows) {
            auto const got = rows.element_bytes(batch);
            auto const& all = bits[i++];
            auto const part = rows.extent(0) == 0 || batch < 0 ? 0 : static_cast<std::size_t>(batch) * got.size();
            if (!std::equal(got.begin(), got.end(), all.begin() + static_cast<std::ptrdiff_t>(part)))
                throw law_broken(std::string(name) + " has other bits " + how + " than on " + std::to_string(first)
                                 + " threads from a used workspace");
        });
    };
    for (int const workers : thread_counts) {
        fovea::workspace fresh;
        run(workers, workers == first ? fresh : scratch);
        require_bits("on " + std::to_string(workers) + " threads from "
                     + (workers == first ? "a fresh workspace" : "the same workspace"));
    }
    if (!call.types.ragged && n.batches > 1) {
        index_t const batch = by.reads_batch ? 0 : from.between(0, n.batches - 1);
        run(1, scratch, batch);
        require_bits("where batch element " + std::to_string(batch) + " is alone", batch);
    }
    for (std::size_t i = 0; i < 3; ++i)
        if (operands[i]->snapshot() != before[i]) return "an operand was written";
    return "";
} catch (std::exception const& e) {
    return e.what();
}

void try_attend(entry const& of, attend_engine const& computed) {
    fovea::workspace scratch;
    for_trials(std::string(of.name) + ": " + computed.text, of.shape, computed.types, FOVEA_TEST_LEVEL > 1 ? 64 : 16,
               [&](drawn_call& call, dice& from) { return broken_law(of.by, computed, call, from, scratch); });
}

}  // namespace catalogue
