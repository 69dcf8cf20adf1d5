// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "catalogue/judge.hpp"

#include <fovea/core/subnormals.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"
#include "support/seeds.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <sstream>

namespace catalogue {

using fovea::testing::dice;
using fovea::testing::law_broken;

std::vector<visibility> visible_pairs(definition const& by, drawn_call const& call) {
    std::vector<visibility> all;
    for (auto const& s : call.sequences) {
        drawn_sizes n = call.n;
        n.queries = s.queries;
        n.keys = s.keys;
        all.push_back({s.queries, s.keys, by.visible(s, n, call.tables)});
    }
    return all;
}

namespace {

/// Calls f(place in the memory) for each element of keys or values that some query sees.
template <class Place, class F>
void for_each_seen(drawn_call const& call, std::vector<visibility> const& visible, fovea::extents_t<4> const& operand,
                   Place const& place, F const& f) {
    for (std::size_t s = 0; s < call.sequences.size(); ++s) {
        auto const& at = call.sequences[s];
        for (index_t h = 0; h < operand[1]; ++h)
            for (index_t j = 0; j < at.keys; ++j) {
                bool seen = false;
                for (index_t of = 0; of < call.n.heads() && !seen; ++of)
                    for (index_t i = 0; i < at.queries && !seen && call.head_in(operand, of) == h; ++i)
                        seen = visible[s](of, i, j);
                for (index_t c = 0; seen && c < operand[3]; ++c) f(place(call.batch_of(at), h, at.first_key + j, c));
            }
    }
}

}  // namespace

void poison_unseen(drawn_call const& call, std::vector<visibility> const& visible, dice& from) {
    double const nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    auto const poison = [&](drawn_rows const& rows, fovea::extents_t<4> const& operand, auto const& place) {
        std::vector<char> needed(static_cast<std::size_t>(rows.elements()));
        for_each_seen(call, visible, operand, place, [&](index_t at) { needed[static_cast<std::size_t>(at)] = true; });
        rows.for_each([&](index_t at) {
            if (!needed[static_cast<std::size_t>(at)])
                rows.set(at, rows.kind() == stored::int8 ? -128 : at % 2 == 0 ? nan : inf);
        });
    };
    poison(*call.key, call.extents.key,
           [&](index_t b, index_t h, index_t n, index_t c) { return call.key_place(b, h, n, c); });
    poison(*call.value, call.extents.value,
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

numbers sequence_numbers(drawn_call const& call, drawn_sequence const& s, index_t copies) {
    numbers x{call.extents, {}, {}, {}, &call.tables};
    index_t const b = call.batch_of(s);
    auto const collect = [&](std::vector<double>& to, fovea::extents_t<4>& e, index_t positions, auto const& element) {
        e[0] = copies;
        e[2] = positions;
        for (index_t copy = 0; copy < copies; ++copy)
            for (index_t h = 0; h < e[1]; ++h)
                for (index_t i = 0; i < e[2]; ++i)
                    for (index_t c = 0; c < e[3]; ++c) to.push_back(element(h, i, c));
    };
    collect(x.query, x.extents.query, s.queries, [&](index_t h, index_t i, index_t c) {
        return call.query->get(call.query->place(b, h, s.first_query + i, c));
    });
    collect(x.key, x.extents.key, s.keys,
            [&](index_t h, index_t i, index_t c) { return call.key->get(call.key_place(b, h, s.first_key + i, c)); });
    collect(x.value, x.extents.value, s.keys, [&](index_t h, index_t i, index_t c) {
        return call.value->get(call.value_place(b, h, s.first_key + i, c));
    });
    x.extents.result[0] = copies;
    x.extents.result[2] = s.queries;
    return x;
}

namespace {
/// How much more the storage of an element may move it.
double rounding_of(stored kind, double x) {
    if (kind == stored::bfloat16) return std::abs(x) * 0x1p-8;
    if (kind == stored::float16) return std::abs(x) * 0x1p-11 + 0x1p-25;
    return 0;
}
}  // namespace

void comparison::operator()(std::string const& name, drawn_rows const& got, std::vector<double> const& expected) const {
    double const unit = in_double ? 1e-14 : 1e-6;
    double size = 1;
    for (double const x : expected)
        if (std::isfinite(x)) size = std::max(size, std::abs(x));
    fovea::testing::tolerance const allowed{std::max(8 * loss, unit * size), 10 * unit};
    auto const columns = static_cast<std::size_t>(std::max<index_t>(got.extent(3), 1)),
               of_flag = width > 0 ? static_cast<std::size_t>(width) : columns;
    // Subnormal numbers are what they are where there is no mode for them.
    double const smallest = got.kind() == stored::float64 ? std::numeric_limits<double>::min() : 0x1p-126,
                 least = fovea::subnormals_as_zero::has_mode ? smallest : 0;
    std::size_t i = 0;
    got.for_each([&](index_t at) {
        std::size_t const n = i++;
        double const want = expected[n], have = got.get(at);
        if (have != 0 && std::abs(have) < least)
            throw law_broken(name + "[" + std::to_string(n) + "] is a subnormal number, and no call makes one");
        if (open && (*open)[n / of_flag]) return;
        auto here = allowed;
        here.absolute += rounding_of(got.kind(), want) + (room && std::isfinite((*room)[n]) ? (*room)[n] : 0);
        if (here.allows(want, have)) return;
        std::ostringstream text;
        text.precision(10);
        text << name << "[" << n << "] (row " << n / columns << ", column " << n % columns << ") is " << have
             << ", the definition has " << want << "; allowed are " << here.absolute << " + " << here.relative
             << " |x|";
        throw law_broken(text.str());
    });
}

void for_trials(std::string const& name, call_shape const& shape, call_types const& types, unsigned trials,
                std::function<std::string(drawn_call&, dice&)> const& broken_law) {
    auto draw = seeds::dice_for(name);
    // Every remainder by 32 once, of the features and of the values, in any order.
    std::vector<index_t> remainders(32), value_remainders(32);
    for (auto* const deck : {&remainders, &value_remainders}) {
        std::iota(deck->begin(), deck->end(), 0);
        for (std::size_t i = deck->size() - 1; i > 0; --i)
            std::swap((*deck)[i], (*deck)[static_cast<std::size_t>(draw.between(0, static_cast<index_t>(i)))]);
    }
    auto const only = seeds::given("FOVEA_TRIAL");
    int failures = 0;
    for (unsigned trial = 0; trial < trials && failures < 2; ++trial) {
        if (only && *only != trial) continue;
        auto from = seeds::dice_for(name, trial + 1);
        auto const sized = [&](index_t remainder) { return remainder + 32 * from.between(0, (130 - remainder) / 32); };
        // One feature more often than others: its products may be made of any size.
        index_t const features = trial % 8 == 7 ? 1 : sized(remainders[trial % 32]),
                      value_features = sized(value_remainders[trial % 32]);
        drawn_call call(from, types, shape, draw_sizes(from, features, value_features, types.ragged, shape.of_sizes));
        std::string const where =
            name + "\n  " + call.text() + "\n" + seeds::how_to_repeat("FOVEA_TRIAL=" + std::to_string(trial) + " ");
        INFO(where);  // also where the program stops at a page that may not be touched
        auto const broken = broken_law(call, from);
        if (broken.empty()) continue;
        ++failures;
        FAIL_CHECK(broken);
    }
}

}  // namespace catalogue
