// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "catalogue/judge.hpp"

#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace catalogue {

using fovea::testing::dice;
using fovea::testing::law_broken;

namespace {

/// The gradient of the result of one sequence, as the last of its copies; the others have none.
std::vector<double> of_sequence(drawn_call const& call, drawn_sequence const& s, drawn_rows const& d_result,
                                index_t copies) {
    auto const& e = call.extents.result;
    std::vector<double> d(static_cast<std::size_t>((copies - 1) * e[1] * s.queries * e[3]));
    for (index_t h = 0; h < e[1]; ++h)
        for (index_t i = 0; i < s.queries; ++i)
            for (index_t c = 0; c < e[3]; ++c)
                d.push_back(d_result.get(d_result.place(call.batch_of(s), h, s.first_query + i, c)));
    return d;
}

std::size_t elements_of(fovea::extents_t<4> const& e) { return static_cast<std::size_t>(e[0] * e[1] * e[2] * e[3]); }

/// The gradients of a whole call by the definition: those of its sequences, where these are, and their sums in tables.
template <class Change>
gradients defined(definition const& by, drawn_call const& call, drawn_rows const& d_result, Change const& change) {
    gradients all{std::vector<double>(elements_of(call.extents.query)),
                  std::vector<double>(elements_of(call.extents.key)),
                  std::vector<double>(elements_of(call.extents.value)),
                  {}};
    for (auto const& table : call.tables)
        all.tables.emplace_back(static_cast<std::size_t>(drawn_table::elements(table.extents)));
    for (auto const& s : call.sequences) {
        index_t const copies = copies_of(by, s), b = call.batch_of(s);
        auto x = sequence_numbers(call, s, copies);
        auto d = of_sequence(call, s, d_result, copies);
        for (auto* const of : {&x.query, &x.key, &x.value, &d}) change(*of);
        auto const part = by.gradient(x, d);
        auto const add = [&](std::vector<double> const& from, std::vector<double>& to, fovea::extents_t<4> const& e,
                             index_t first, index_t positions) {
            auto const* element = from.data() + from.size() - e[1] * positions * e[3];
            for (index_t h = 0; h < e[1]; ++h)
                for (index_t i = 0; i < positions; ++i)
                    for (index_t c = 0; c < e[3]; ++c)
                        to[static_cast<std::size_t>(((b * e[1] + h) * e[2] + first + i) * e[3] + c)] += *element++;
        };
        add(part.query, all.query, call.extents.query, s.first_query, s.queries);
        add(part.key, all.key, call.extents.key, s.first_key, s.keys);
        add(part.value, all.value, call.extents.value, s.first_key, s.keys);
        for (std::size_t t = 0; t < part.tables.size(); ++t)
            for (std::size_t i = 0; i < part.tables[t].size(); ++i) all.tables[t][i] += part.tables[t][i];
    }
    return all;
}

/// The definition's gradients against differences of its results, along an element and a direction of each array.
class differences {
public:
    /// Beside a kink, or a step of a selection, differences of two widths do not agree: these are left out, and
    /// counted.
    void compare(definition const& by, drawn_call const& call, drawn_rows const& d_result, dice& from) {
        auto const& s =
            call.sequences[static_cast<std::size_t>(from.between(0, static_cast<index_t>(call.sequences.size()) - 1))];
        index_t const copies = copies_of(by, s);
        auto x = sequence_numbers(call, s, copies);
        auto const d = of_sequence(call, s, d_result, copies);
        auto const found = by.gradient(x, d);
        // The loss whose gradients these are, by the definition of results.
        auto const loss = [&] {
            auto const result = by.in_double(x).result;
            double sum = 0;
            for (std::size_t i = 0; i < result.size(); ++i) sum += result[i] * d[i];
            return sum;
        };
        // One operand and one table of a call: all of them have their turn.
        switch (from.between(0, 2)) {
            case 0:
                compare("query", x.query, found.query, loss, from);
                break;
            case 1:
                compare("key", x.key, found.key, loss, from);
                break;
            default:
                compare("value", x.value, found.value, loss, from);
        }
        std::vector<std::size_t> trained;
        for (std::size_t t = 0; t < by.trained.size(); ++t)
            if (by.trained[t]) trained.push_back(t);
        if (trained.empty()) return;
        auto const t = trained[static_cast<std::size_t>(from.between(0, static_cast<index_t>(trained.size()) - 1))];
        compare("table " + std::to_string(t), *call.tables[t].reals, found.tables[t], loss, from);
    }
    /// How many have been compared.
    int count() const { return compared_; }

private:
    int compared_ = 0;

    template <class Elements, class Loss>
    void compare(std::string const& name, Elements& elements, std::vector<double> const& gradient, Loss const& loss,
                 dice& from) {
        for (bool const single : {true, false}) {
            if (gradient.empty()) return;
            auto const chosen = static_cast<std::size_t>(from.between(0, static_cast<index_t>(gradient.size()) - 1));
            std::vector<double> along(gradient.size());
            for (std::size_t i = 0; i < along.size(); ++i) along[i] = single ? i == chosen : from.real(-1, 1);
            // Narrow enough that few of a million kinks lie within, wide enough for what sums of doubles round.
            constexpr double width = 0x1p-18;
            auto const wide = step(elements, gradient, along, loss, width),
                       narrow = step(elements, gradient, along, loss, width / 2);
            double const size = 1 + std::abs(narrow.loss) + narrow.rounding / width,
                         of_wide = wide.loss - wide.gradient, of_narrow = narrow.loss - narrow.gradient;
            if (!(std::abs(of_wide - of_narrow) <= 2e-6 * size)) continue;
            ++compared_;
            double const off = (4 * of_narrow - of_wide) / 3;
            if (std::abs(off) <= 5e-6 * size) continue;
            std::ostringstream text;
            text << "the definition's gradient of " << name << " along " << (single ? "an element" : "a direction")
                 << " is " << narrow.gradient << ", differences say " << narrow.gradient + off;
            throw law_broken(text.str());
        }
    }

    /// The changes by a step, over its width: the loss, and what its gradient says; what the loss may be rounded by.
    struct change {
        double loss, gradient, rounding;
    };
    template <class Elements, class Loss>
    static change step(Elements& elements, std::vector<double> const& gradient, std::vector<double> const& along,
                       Loss const& loss, double width) {
        using number = std::remove_cvref_t<decltype(*elements.begin())>;
        std::vector<number> const before(elements.begin(), elements.end());
        change all{0, 0, 0};
        for (double const side : {1.0, -1.0}) {
            auto element = elements.begin();
            for (std::size_t i = 0; i < along.size(); ++i, ++element) {
                if (along[i] == 0 || !std::isfinite(before[i])) continue;
                *element = static_cast<number>(static_cast<double>(before[i]) + side * width * along[i]);
                // As far as the type of the element can step.
                all.gradient += side * gradient[i] * (static_cast<double>(*element) - static_cast<double>(before[i]));
            }
            double const here = loss();
            all.loss += side * here;
            all.rounding = 0x1p-32 * std::abs(here);  // in millionths of this a double is rounded
            std::copy(before.begin(), before.end(), elements.begin());
        }
        return {all.loss / (2 * width), all.gradient / (2 * width), all.rounding};
    }
};

/// Where the gradients of a call go.
struct targets {
    std::unique_ptr<drawn_rows> query, key, value;
    std::vector<std::unique_ptr<drawn_rows>> tables;

    targets(dice& from, gradient_engine const& e, drawn_call const& call, std::vector<char> const& trained) {
        auto const kind = e.in_double ? stored::float64 : stored::float32;
        auto const rows = [&](fovea::extents_t<4> const& extents) {
            return std::make_unique<drawn_rows>(from, kind, extents, drawn_rows::use::written);
        };
        query = rows(call.extents.query);
        if (!call.types.paged) {
            key = rows(call.extents.key);
            value = rows(call.extents.value);
        }
        for (std::size_t t = 0; t < call.tables.size(); ++t) {
            tables.push_back(nullptr);
            if (trained[t]) tables.back() = rows({1, 1, 1, drawn_table::elements(call.tables[t].extents)});
        }
    }
    template <class F>
    void each(F const& f) const {
        f("d_query", *query);
        if (key) f("d_key", *key);
        if (value) f("d_value", *value);
        for (std::size_t t = 0; t < tables.size(); ++t)
            if (tables[t]) f("the gradient of table " + std::to_string(t), *tables[t]);
    }
};

/// Gradients in the order of their targets.
std::vector<std::vector<double> const*> in_order(gradients const& of, targets const& to, definition const& by) {
    std::vector<std::vector<double> const*> all{&of.query};
    if (to.key) all.insert(all.end(), {&of.key, &of.value});
    for (std::size_t t = 0; t < by.trained.size(); ++t)
        if (by.trained[t]) all.push_back(&of.tables[t]);
    return all;
}

/// How many products add up to an element of a gradient, at most.
double terms_of(std::string const& target, drawn_sizes const& n) {
    index_t const pairs = target == "d_query" ? n.keys
                        : target == "d_key" || target == "d_value"
                            ? n.queries * n.group
                            : n.batches * n.heads() * std::max(n.queries, n.keys);
    return static_cast<double>(n.value_features * pairs);
}

/// The laws of one call; its definition is `compared` with differences where that is asked for.
std::string broken_gradient_law(definition const& by, gradient_engine const& computed, drawn_call& call, dice& from,
                                fovea::workspace& scratch, differences* compared) try {
    auto const visible = visible_pairs(by, call);
    poison_unseen(call, visible, from);
    drawn_rows const d_result(from, computed.types.result, call.extents.result, drawn_rows::use::read);
    d_result.fill(from, 1);
    auto const expected = defined(by, call, d_result, [](auto const&) {});
    // Their rounding: operands are moved by a unit in their last place.
    auto const moved = defined(by, call, d_result, [&](std::vector<double>& of) {
        double const unit = computed.in_double ? 0x1p-52 : 0x1p-23;
        for (double& x : of) x *= 1 + from.real(-unit, unit);
    });
    if (compared && by.differences && !call.sequences.empty() && from.chance(FOVEA_TEST_LEVEL > 0 ? 0.5 : 0.25))
        compared->compare(by, call, d_result, from);
    targets const to(from, computed, call, by.trained);
    drawn_rows const* const operands[] = {call.query.get(), call.key.get(), call.value.get(), &d_result};
    std::vector<std::vector<unsigned char>> before;
    for (auto const* rows : operands) before.push_back(rows->snapshot());
    auto const run = [&](int workers, fovea::workspace& memory) {
        unsigned char const byte = from.chance(0.5) ? 0xff : 0x41;
        to.each([&](std::string const&, drawn_rows const& rows) { rows.fill_with(byte); });
        computed.run({call, d_result, to.query.get(), to.key.get(), to.value.get(), to.tables, workers, memory});
        to.each([&](std::string const& name, drawn_rows const& rows) {
            if (index_t const at = rows.touched(byte); at >= 0)
                throw law_broken(name + ": element " + std::to_string(at)
                                 + " of the memory lies between the rows and was written, on " + std::to_string(workers)
                                 + " threads");
        });
    };
    int const first = static_cast<int>(from.between(1, 3));
    make_dirty(scratch, first);
    run(first, scratch);
    std::size_t n = 0;
    auto const wanted = in_order(expected, to, by), beside = in_order(moved, to, by);
    to.each([&](std::string const& name, drawn_rows const& rows) {
        double size = 1, loss = 0;
        for (std::size_t i = 0; i < wanted[n]->size(); ++i) {
            size = std::max(size, std::abs((*wanted[n])[i]));
            if (double const off = std::abs((*wanted[n])[i] - (*beside[n])[i]); std::isfinite(off))
                loss = std::max(loss, off);
        }
        // Products that cancel, as those of a query's only key do, leave their rounding, which moved operands do not
        // show: it grows with the root of their number. The mean that a normalizer subtracts from all keys of a row is
        // off by the same in each: the definition adds it up one by one, in double, over the number of keys.
        double const unit = computed.in_double ? 0x1p-52 : 0x1p-23,
                     cancelled = 4 * unit * std::sqrt(terms_of(name, call.n)),
                     of_mean = 0x1p-52 * std::pow(static_cast<double>(call.n.keys), 1.5);
        loss = std::max({loss, size * (computed.in_double ? 1e-13 : 4e-6), cancelled, of_mean});
        comparison{loss, computed.in_double}(name, rows, *wanted[n]);
        ++n;
    });

    std::vector<std::vector<unsigned char>> bits;
    to.each([&](std::string const&, drawn_rows const& rows) { bits.push_back(rows.element_bytes()); });
    for (int const workers : {1, 2, 5}) {
        fovea::workspace fresh;
        run(workers, workers == first ? fresh : scratch);
        std::size_t i = 0;
        to.each([&](std::string const& name, drawn_rows const& rows) {
            if (rows.element_bytes() != bits[i++])
                throw law_broken(name + " has other bits on " + std::to_string(workers) + " threads than on "
                                 + std::to_string(first));
        });
    }
    for (std::size_t i = 0; i < std::size(operands); ++i)
        if (operands[i]->snapshot() != before[i]) return "an operand was written";
    return "";
} catch (std::exception const& e) {
    return e.what();
}

}  // namespace

std::string broken_law(definition const& by, gradient_engine const& computed, drawn_call& call, dice& from,
                       fovea::workspace& scratch) {
    return broken_gradient_law(by, computed, call, from, scratch, nullptr);
}

std::string broken_difference(definition const& by, drawn_call const& call, dice& from) try {
    drawn_rows const d_result(from, call.types.result, call.extents.result, drawn_rows::use::read);
    d_result.fill(from, 1);
    differences().compare(by, call, d_result, from);
    return "";
} catch (std::exception const& e) {
    return e.what();
}

int try_gradient(entry const& of, gradient_engine const& computed) {
    fovea::workspace scratch;
    differences compared;
    for_trials(std::string(of.name) + ": " + computed.text, of.shape, computed.types, FOVEA_TEST_LEVEL > 1 ? 32 : 8,
               [&](drawn_call& call, dice& from) {
                   return broken_gradient_law(of.by, computed, call, from, scratch, &compared);
               });
    return compared.count();
}

}  // namespace catalogue
