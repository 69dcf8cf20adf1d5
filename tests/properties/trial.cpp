// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/trial.hpp"

#include <fovea/testing/tolerance.hpp>

#include "support/seeds.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <sstream>

using fovea::index_t;
using fovea::testing::dice;
using fovea::testing::law_broken;

namespace {

constexpr int thread_counts[] = {1, 2, 3, 8};

/// Which rows are compared with the definition, and which pairs take part.
struct visibility {
    index_t heads, queries, keys;
    std::vector<bool> pairs;  // of one sequence: (head, query, key)

    bool operator()(index_t h, index_t i, index_t j) const {
        return pairs[static_cast<std::size_t>((h * queries + i) * keys + j)];
    }
};

std::vector<visibility> visible_pairs(definition const& by, drawn_call const& call) {
    std::vector<visibility> all;
    for (auto const& s : call.sequences)
        all.push_back({call.n.heads(), s.queries, s.keys, by.visible(s, call.n.heads(), call.n.features)});
    return all;
}

/// Calls f(sequence, place in the memory) for each element of keys or values that some query sees.
template <class Place, class F>
void for_each_seen(drawn_call const& call, std::vector<visibility> const& visible, index_t features, Place const& place,
                   F const& f) {
    for (std::size_t s = 0; s < call.sequences.size(); ++s) {
        auto const& at = call.sequences[s];
        for (index_t h = 0; h < call.n.key_heads; ++h)
            for (index_t j = 0; j < at.keys; ++j) {
                bool seen = false;
                for (index_t g = 0; g < call.n.group && !seen; ++g)
                    for (index_t i = 0; i < at.queries && !seen; ++i) seen = visible[s](h * call.n.group + g, i, j);
                for (index_t c = 0; seen && c < features; ++c)
                    f(place(call.types.ragged ? 0 : at.batch, h, at.first_key + j, c));
            }
    }
}

/// What no query sees may hold anything, and its pages need not be there.
void poison_unseen(drawn_call const& call, std::vector<visibility> const& visible, dice& from) {
    double const nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    auto const poison = [&](drawn_rows const& rows, index_t features, auto const& place) {
        std::vector<bool> needed(static_cast<std::size_t>(rows.elements()));
        for_each_seen(call, visible, features, place, [&](index_t at) { needed[static_cast<std::size_t>(at)] = true; });
        rows.for_each([&](index_t at) {
            if (!needed[static_cast<std::size_t>(at)])
                rows.set(at, rows.kind() == stored::int8 ? -128 : at % 2 == 0 ? nan : inf);
        });
    };
    poison(*call.key, call.n.features,
           [&](index_t b, index_t h, index_t n, index_t c) { return call.key_place(b, h, n, c); });
    poison(*call.value, call.n.value_features,
           [&](index_t b, index_t h, index_t n, index_t c) { return call.value_place(b, h, n, c); });
    if (!call.types.paged || !from.chance(0.5)) return;
    for (auto const* pages : {&call.key_pages, &call.value_pages})
        for (std::size_t s = 0; s < call.sequences.size(); ++s)
            for (index_t p = 0; p < pages->per_sequence; ++p) {
                bool seen = false;
                for (index_t j = p * pages->slots; j < (p + 1) * pages->slots; ++j)
                    for (index_t h = 0; h < call.n.heads() && !seen; ++h)
                        for (index_t i = 0; i < call.n.queries && !seen; ++i) seen = visible[s](h, i, j);
                if (!seen) pages->entry(static_cast<index_t>(s), p) = -1;
            }
}

/// One element of the keys or values that somebody sees becomes NaN: which rows see it, (batch, head, query).
void poison_one(drawn_call const& call, std::vector<visibility> const& visible, dice& from, std::vector<bool>& open) {
    bool const of_key = from.chance(0.5);
    auto const& rows = of_key ? *call.key : *call.value;
    index_t const features = rows.extent(3);
    if (rows.kind() == stored::int8 || call.n.keys == 0 || features == 0) return;
    auto const place = [&](index_t b, index_t h, index_t n, index_t c) {
        return of_key ? call.key_place(b, h, n, c) : call.value_place(b, h, n, c);
    };
    index_t const storages = call.types.ragged ? 1 : call.n.batches;
    index_t const at = place(from.between(0, storages - 1), from.between(0, call.n.key_heads - 1),
                             from.between(0, call.n.keys - 1), from.between(0, features - 1));
    rows.set(at, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t s = 0; s < call.sequences.size(); ++s) {
        auto const& q = call.sequences[s];
        index_t const b = call.types.ragged ? 0 : q.batch;
        for (index_t h = 0; h < call.n.heads(); ++h)
            for (index_t j = 0; j < q.keys; ++j) {
                index_t const first = place(b, h / call.n.group, q.first_key + j, 0);
                if (at < first || at >= first + features) continue;
                for (index_t i = 0; i < q.queries; ++i)
                    if (visible[s](h, i, j))
                        open[static_cast<std::size_t>((b * call.n.heads() + h) * call.n.queries + q.first_query + i)] =
                            true;
            }
    }
}

/// One sequence as numbers; where the definition reads the number of the sequence, as the last of so many.
numbers sequence_numbers(drawn_call const& call, drawn_sequence const& s, index_t copies) {
    auto const& n = call.n;
    numbers x{{copies, n.heads(), s.queries, n.features},
              {copies, n.key_heads, s.keys, n.features},
              {copies, n.key_heads, s.keys, n.value_features},
              {},
              {},
              {}};
    index_t const b = call.types.ragged ? 0 : s.batch;
    auto const collect = [&](std::vector<double>& to, fovea::extents_t<4> const& e, auto const& element) {
        for (index_t copy = 0; copy < copies; ++copy)
            for (index_t h = 0; h < e[1]; ++h)
                for (index_t i = 0; i < e[2]; ++i)
                    for (index_t c = 0; c < e[3]; ++c) to.push_back(element(h, i, c));
    };
    collect(x.query, x.query_extents, [&](index_t h, index_t i, index_t c) {
        return call.query->get(call.query->place(b, h, s.first_query + i, c));
    });
    collect(x.key, x.key_extents,
            [&](index_t h, index_t i, index_t c) { return call.key->get(call.key_place(b, h, s.first_key + i, c)); });
    collect(x.value, x.value_extents, [&](index_t h, index_t i, index_t c) {
        return call.value->get(call.value_place(b, h, s.first_key + i, c));
    });
    return x;
}

/// The definition on the whole of a call, its parts where the parts of the call's results are.
template <class Compute>
answer defined(definition const& by, drawn_call const& call, Compute const& compute) {
    auto const& n = call.n;
    index_t const rows = (call.types.ragged ? 1 : n.batches) * n.heads() * n.queries;
    answer all{std::vector<long double>(static_cast<std::size_t>(rows * n.value_features)),
               std::vector<long double>(static_cast<std::size_t>(call.types.ragged ? 0 : rows * n.keys)),
               std::vector<long double>(static_cast<std::size_t>(by.has_log_sum ? rows : 0))};
    for (auto const& s : call.sequences) {
        index_t const last = by.reads_batch ? s.batch : 0, b = call.types.ragged ? 0 : s.batch;
        answer const part = compute(sequence_numbers(call, s, last + 1));
        for (index_t h = 0; h < n.heads(); ++h)
            for (index_t i = 0; i < s.queries; ++i) {
                index_t const from = (last * n.heads() + h) * s.queries + i;
                index_t const to = (b * n.heads() + h) * n.queries + s.first_query + i;
                auto const copy = [&](std::vector<long double> const& row, std::vector<long double>& target,
                                      index_t width) {
                    if (!row.empty() && !target.empty())
                        std::copy_n(row.begin() + from * width, width, target.begin() + to * width);
                };
                copy(part.result, all.result, n.value_features);
                if (!call.types.ragged) copy(part.weights, all.weights, n.keys);
                copy(part.lse, all.lse, 1);
            }
    }
    return all;
}

/// What the type that is computed in loses: plain loops on the operands, and on the operands moved by a unit in their
/// last place. Calls of a few rows would lose little by chance.
struct losses {
    double result = 0, weights = 0, lse = 0;
};
losses measured(definition const& by, engine const& computed, drawn_call const& call, answer const& expected,
                dice& from) {
    losses most;
    double const unit = computed.in_double ? 0x1p-52 : 0x1p-23;
    auto const add = [](double& worst, std::vector<long double> const& exact, std::vector<long double> const& plain) {
        for (std::size_t i = 0; i < exact.size() && i < plain.size(); ++i)
            if (std::isfinite(exact[i]) && std::isfinite(plain[i]))
                worst = std::max(worst, static_cast<double>(std::abs(plain[i] - exact[i])));
    };
    int const runs = expected.result.size() < 4096 ? 4 : 1;
    for (int run = 0; run < runs; ++run) {
        answer const plain = defined(by, call, [&](numbers x) {
            for (auto* const of : {&x.query, &x.key, &x.value})
                for (double& e : *of) e *= 1 + (run == 0 ? 0 : from.real(-unit, unit));
            return (computed.in_double ? by.in_double : by.in_float)(x);
        });
        add(most.result, expected.result, plain.result);
        add(most.weights, expected.weights, plain.weights);
        add(most.lse, expected.lse, plain.lse);
    }
    return most;
}

/// Rows in which the chosen scores are as near to the others as rounding.
void open_undecided(definition const& by, engine const& computed, drawn_call const& call,
                    std::vector<visibility> const& visible, std::vector<bool>& open) {
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
        index_t const last = by.reads_batch ? at.batch : 0, b = call.types.ragged ? 0 : at.batch;
        auto const scores = by.scores(sequence_numbers(call, at, last + 1)).weights;
        for (index_t h = 0; h < call.n.heads(); ++h)
            for (index_t i = 0; i < at.queries; ++i) {
                std::vector<double> row;
                for (index_t j = 0; j < at.keys; ++j)
                    if (visible[s](h, i, j))
                        row.push_back(static_cast<double>(scores[static_cast<std::size_t>(
                            ((last * call.n.heads() + h) * at.queries + i) * at.keys + j)]));
                auto const chosen = static_cast<std::size_t>(by.chosen);
                if (row.size() <= chosen) continue;
                std::sort(row.begin(), row.end(), std::greater<>());
                if (!(row[chosen - 1] - row[chosen] > unit))
                    open[static_cast<std::size_t>((b * call.n.heads() + h) * call.n.queries + at.first_query + i)] =
                        true;
            }
    }
}

/// How much more the storage of an element may move it.
double rounding_of(stored kind, double x) {
    if (kind == stored::bfloat16) return std::abs(x) * 0x1p-8;
    if (kind == stored::float16) return std::abs(x) * 0x1p-11 + 0x1p-25;
    return 0;
}

/// One array of results against what is expected. `room` is what rounded weights may move each element by.
void compare(char const* name, drawn_rows const& got, std::vector<long double> const& expected, double loss,
             bool in_double, std::vector<bool> const& open, index_t row_width,
             std::vector<double> const* room = nullptr) {
    double const unit = in_double ? 1e-14 : 1e-6;
    double size = 1;
    for (auto const x : expected)
        if (std::isfinite(x)) size = std::max(size, static_cast<double>(std::abs(x)));
    fovea::testing::tolerance const allowed{std::max(8 * loss, unit * size), 10 * unit};
    std::size_t i = 0;
    got.for_each([&](index_t at) {
        std::size_t const n = i++;
        if (open[n / static_cast<std::size_t>(row_width)]) return;
        double const want = static_cast<double>(expected[n]), have = got.get(at);
        auto here = allowed;
        here.absolute += rounding_of(got.kind(), want) + (room ? (*room)[n] : 0);
        if (here.allows(want, have)) return;
        std::ostringstream text;
        text.precision(10);
        text << name << "[" << n << "] (row " << n / static_cast<std::size_t>(row_width) << ", column "
             << n % static_cast<std::size_t>(row_width) << ") is " << have << ", the definition has " << want
             << "; allowed are " << here.absolute << " + " << here.relative << " |x|";
        throw law_broken(text.str());
    });
}

/// bfloat16 weights meet bfloat16 values: sum of weights times the size of values, rounded.
std::vector<double> bfloat16_room(drawn_call const& call, answer const& expected,
                                  std::vector<visibility> const& visible, definition const& by) {
    auto const& n = call.n;
    std::vector<double> room(expected.result.size());
    for (std::size_t s = 0; s < call.sequences.size(); ++s) {
        auto const& at = call.sequences[s];
        index_t const b = call.types.ragged ? 0 : at.batch, last = by.reads_batch ? at.batch : 0;
        std::vector<long double> own;
        if (call.types.ragged) own = by.in_double(sequence_numbers(call, at, last + 1)).weights;
        for (index_t h = 0; h < n.heads(); ++h)
            for (index_t i = 0; i < at.queries; ++i) {
                index_t const row = (b * n.heads() + h) * n.queries + at.first_query + i;
                for (index_t j = 0; j < at.keys; ++j) {
                    if (!visible[s](h, i, j)) continue;
                    auto const w = static_cast<double>(
                        call.types.ragged
                            ? own[static_cast<std::size_t>(((last * n.heads() + h) * at.queries + i) * at.keys + j)]
                            : expected.weights[static_cast<std::size_t>(row * n.keys + j)]);
                    for (index_t c = 0; w != 0 && c < n.value_features; ++c)
                        room[static_cast<std::size_t>(row * n.value_features + c)] +=
                            0x1.04p-8
                            * std::abs(w * call.value->get(call.value_place(b, h / n.group, at.first_key + j, c)));
                }
            }
    }
    return room;
}

/// Scratch memory full of NaN.
void make_dirty(fovea::workspace& scratch, int workers) {
    auto const fill = [](fovea::arena& memory) {
        for (int again = 0; again < 2; ++again) {
            std::memset(memory.take<char>(1 << 18), 0xff, 1 << 18);
            memory.clear();
        }
    };
    scratch.prepare(workers);
    for (int w = 0; w < workers; ++w) fill(scratch.worker(w));
    fill(scratch.shared());
}

struct results {
    drawn_rows result;
    std::unique_ptr<drawn_rows> lse, weights;

    results(dice& from, engine const& e, drawn_call const& call)
        : result(from, e.types.result,
                 {call.types.ragged ? 1 : call.n.batches, call.n.heads(), call.n.queries, call.n.value_features},
                 drawn_rows::use::written) {
        index_t const batches = result.extent(0);
        auto const kind = e.in_double ? stored::float64 : stored::float32;
        if (e.lse)
            lse = std::make_unique<drawn_rows>(
                from, kind, fovea::extents_t<4>{batches, call.n.heads(), 1, call.n.queries}, drawn_rows::use::written);
        if (e.weights)
            weights = std::make_unique<drawn_rows>(
                from, kind, fovea::extents_t<4>{batches, call.n.heads(), call.n.queries, call.n.keys},
                drawn_rows::use::written);
    }
    template <class F>
    void each(F const& f) const {
        f("result", result);
        if (lse) f("lse", *lse);
        if (weights) f("weights", *weights);
    }
};

}  // namespace

std::string broken_law(definition const& by, engine const& computed, drawn_call& call, dice& from,
                       fovea::workspace& scratch) try {
    auto const& n = call.n;
    auto const visible = visible_pairs(by, call);
    poison_unseen(call, visible, from);
    std::vector<bool> open(static_cast<std::size_t>((call.types.ragged ? 1 : n.batches) * n.heads() * n.queries));
    if (from.chance(0.15)) poison_one(call, visible, from, open);

    answer const expected = defined(by, call, computed.in_double ? by.in_long_double : by.in_double);
    losses const loss = measured(by, computed, call, expected, from);
    open_undecided(by, computed, call, visible, open);

    results const to(from, computed, call);
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
    bool const all_bfloat16 = computed.types.value == stored::bfloat16 && computed.types.result == stored::bfloat16;
    auto const room = all_bfloat16 && by.adds ? bfloat16_room(call, expected, visible, by) : std::vector<double>{};
    if (n.value_features > 0)
        compare("result", to.result, expected.result, loss.result, computed.in_double, open, n.value_features,
                room.empty() ? nullptr : &room);
    if (to.lse) compare("lse", *to.lse, expected.lse, loss.lse, computed.in_double, open, 1);
    if (to.weights && n.keys > 0) {
        compare("weights", *to.weights, expected.weights, loss.weights, computed.in_double, open, n.keys);
        for (std::size_t s = 0; s < call.sequences.size(); ++s)
            for (index_t h = 0; h < n.heads(); ++h)
                for (index_t i = 0; i < n.queries; ++i)
                    for (index_t j = 0; j < n.keys; ++j)
                        if (index_t const at = to.weights->place(call.sequences[s].batch, h, i, j);
                            !visible[s](h, i, j) && to.weights->get(at) != 0)
                            throw law_broken("the weight of a pair that takes no part is exactly 0, but at ("
                                             + std::to_string(s) + ", " + std::to_string(h) + ", " + std::to_string(i)
                                             + ", " + std::to_string(j) + ") it is "
                                             + std::to_string(to.weights->get(at)));
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

void try_engine(definition const& by, engine const& computed) {
    std::string const name = by.text + ": " + computed.text;
    auto draw = seeds::dice_for(name);
    // Every remainder by 32 once, of the features and of the values, in any order.
    std::vector<index_t> remainders(32), value_remainders(32);
    for (auto* const deck : {&remainders, &value_remainders}) {
        std::iota(deck->begin(), deck->end(), 0);
        for (std::size_t i = deck->size() - 1; i > 0; --i)
            std::swap((*deck)[i], (*deck)[static_cast<std::size_t>(draw.between(0, static_cast<index_t>(i)))]);
    }
    fovea::workspace scratch;
    auto const only = seeds::given("FOVEA_TRIAL");
    int failures = 0;
    for (unsigned trial = 0; trial < 32 && failures < 2; ++trial) {
        if (only && *only != trial) continue;
        auto from = seeds::dice_for(name, trial + 1);
        auto const sized = [&](index_t remainder) { return remainder + 32 * from.between(0, (130 - remainder) / 32); };
        index_t const features = sized(remainders[trial]), value_features = sized(value_remainders[trial]);
        auto const sizes = draw_sizes(from, features, value_features, computed.types.ragged);
        drawn_call call(from, computed.types, sizes);
        std::string const where =
            name + "\n  " + call.text() + "\n" + seeds::how_to_repeat("FOVEA_TRIAL=" + std::to_string(trial) + " ");
        INFO(where);  // also where the program stops at a page that may not be touched
        auto const broken = broken_law(by, computed, call, from, scratch);
        if (broken.empty()) continue;
        ++failures;
        FAIL_CHECK(broken);
    }
}
