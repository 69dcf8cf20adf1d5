// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the numbers in a text were computed from arguments, found by changing one argument at a time.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/errors.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::bindings {

/// A number that nobody knows before the call: it is taken to be the first of these, then the others.
struct unknown_number {
    std::string name;
    std::array<double, 3> values;
};

/// What some numbers are taken to be.
struct assumed_numbers {
    std::vector<std::pair<std::string, double>> numbers;

    double of(std::string_view name) const {
        for (auto const& [each, value] : numbers)
            if (each == name) return value;
        return 1;
    }
};

/// A text in pieces, with a number between each two of them.
struct split_text {
    std::vector<std::string> pieces{""};
    std::vector<double> numbers;
    std::vector<std::string> digits;  // of the numbers, as they stand in the text
};

inline split_text split_at_numbers(std::string const& text) {
    auto const in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    split_text split;
    auto const add = [&](double x, std::string const& digits) {
        split.pieces.emplace_back();
        split.numbers.push_back(x);
        split.digits.push_back(digits);
    };
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i + 1;
        if (std::isdigit(static_cast<unsigned char>(text[i])) != 0) {
            char* after = nullptr;
            double const x = std::strtod(text.c_str() + i, &after);
            end = static_cast<std::size_t>(after - text.c_str());
            add(x, text.substr(i, end - i));
        } else {
            if (in_name(text[i]))
                while (end < text.size() && in_name(text[end])) ++end;
            auto const word = text.substr(i, end - i);
            if (word == "true" || word == "false") add(word == "true" ? 1 : 0, word);
            else split.pieces.back() += word;
        }
        i = end;
    }
    return split;
}

/// What one number was, and what the unknown ones were that it depends on, in each of some rounds.
struct observed_number {
    std::vector<double> values;
    std::vector<std::vector<double>> unknowns;  // one list for each name
    std::vector<std::string> names;

    /// Whether a function of the unknown numbers gives the values, within the digits that a text has.
    template <class F>
    bool is(F const& f) const {
        for (std::size_t i = 0; i < values.size(); ++i) {
            double const x = f(unknowns[0][i], unknowns.back()[i]);
            if (!(std::abs(x - values[i]) <= 1e-5 * std::abs(values[i]))) return false;
        }
        return true;
    }
    /// Of the values over the first unknown number.
    double slope() const {
        std::size_t i = 1;
        while (unknowns[0][i] == unknowns[0][0]) ++i;
        return (values[i] - values[0]) / (unknowns[0][i] - unknowns[0][0]);
    }
};

/// A factor or summand in the digits that a text has.
inline double in_few_digits(double x) {
    if (x == 0 || !std::isfinite(x)) return x;
    double const unit = std::pow(10, std::floor(std::log10(std::abs(x))) - 4);
    return std::round(x / unit) * unit;
}

/// "cap / 2", or "(computed from cap)" where it is not so simple.
inline std::string computed_as(observed_number const& n) {
    auto const text_of = [](double x) { return fovea::detail::text_of_real(x); };
    auto const& name = n.names;
    double const v = n.values[0], a = n.unknowns[0][0];
    if (name.size() == 1) {
        double const factor = in_few_digits(v / a), product = in_few_digits(v * a), part = std::round(a / v);
        double const more = in_few_digits(v - a), sum = in_few_digits(v + a);
        if (n.is([](double x, double) { return x; })) return name[0];
        if (n.is([&](double x, double) { return x / part; })) return name[0] + " / " + text_of(part);
        if (n.is([&](double x, double) { return x * factor; })) return text_of(factor) + " * " + name[0];
        if (n.is([&](double x, double) { return product / x; })) return text_of(product) + " / " + name[0];
        if (n.is([&](double x, double) { return x + more; }))
            return name[0] + (more < 0 ? " - " : " + ") + text_of(std::abs(more));
        if (n.is([&](double x, double) { return sum - x; })) return text_of(sum) + " - " + name[0];
        double const slope = n.slope(), parts = std::round(1 / slope), scaled_more = in_few_digits(v * parts - a);
        if (n.is([&](double x, double) { return (x + scaled_more) / parts; }))
            return "(" + name[0] + (scaled_more < 0 ? " - " : " + ") + text_of(std::abs(scaled_more)) + ") / "
                 + text_of(parts);
        double const times = std::round(slope), rest = in_few_digits(v - times * a);
        if (n.is([&](double x, double) { return times * x + rest; }))
            return text_of(times) + " * " + name[0] + (rest < 0 ? " - " : " + ") + text_of(std::abs(rest));
        if (n.is([](double x, double) { return x * x; })) return name[0] + " * " + name[0];
        if (n.is([](double x, double) { return std::sqrt(x); })) return "sqrt(" + name[0] + ")";
        if (n.is([](double x, double) { return 1 / std::sqrt(x); })) return "rsqrt(" + name[0] + ")";
    } else if (name.size() == 2) {
        if (n.is([](double x, double y) { return x + y; })) return name[0] + " + " + name[1];
        if (n.is([](double x, double y) { return x - y; })) return name[0] + " - " + name[1];
        if (n.is([](double x, double y) { return y - x; })) return name[1] + " - " + name[0];
        if (n.is([](double x, double y) { return x * y; })) return name[0] + " * " + name[1];
        if (n.is([](double x, double y) { return x / y; })) return name[0] + " / " + name[1];
        if (n.is([](double x, double y) { return y / x; })) return name[1] + " / " + name[0];
    }
    std::string list;
    for (auto const& each : name) list += (list.empty() ? "" : ", ") + each;
    return "(computed from " + list + ")";
}

/// Puts a text between two others, in parentheses where what surrounds it could take it apart.
inline std::string between(std::string const& before, std::string const& text, std::string const& after) {
    bool const simple = text.find(' ') == std::string::npos || text.starts_with("(computed ");
    bool const first = before.empty() || before.back() == '(' || before.back() == '[' || before.ends_with(", ");
    bool const last = after.empty() || after.front() == ')' || after.front() == ']' || after.front() == ',';
    return before + (simple || (first && last) ? text : "(" + text + ")");
}

/// The length of a label: the characters at the start of a line that say what it is about.
inline constexpr std::size_t label_width = 9;

/// One line, of which `lines` says what it was in each round; round 0 has the first values of all unknown numbers, two
/// rounds follow for each of them.
inline std::string named_line(std::vector<unknown_number> const& unknowns, std::vector<std::string> const& lines) {
    std::vector<split_text> rounds;
    rounds.reserve(lines.size());
    for (auto const& line : lines) rounds.push_back(split_at_numbers(line));
    for (auto const& round : rounds)
        if (round.pieces != rounds[0].pieces) return lines[0].substr(0, label_width) + "(computed from arguments)";
    std::string text = rounds[0].pieces[0];
    for (std::size_t i = 0; i < rounds[0].numbers.size(); ++i) {
        observed_number n;
        for (auto const& round : rounds) n.values.push_back(round.numbers[i]);
        for (std::size_t u = 0; u < unknowns.size(); ++u) {
            if (n.values[2 * u + 1] == n.values[0] && n.values[2 * u + 2] == n.values[0]) continue;
            n.names.push_back(unknowns[u].name);
            n.unknowns.emplace_back(rounds.size(), unknowns[u].values[0]);
            for (std::size_t k : {1, 2}) n.unknowns.back()[2 * u + k] = unknowns[u].values[k];
        }
        auto const& after = rounds[0].pieces[i + 1];
        text = between(text, n.names.empty() ? rounds[0].digits[i] : computed_as(n), after) + after;
    }
    return text;
}

/// The lines that a function makes of assumed numbers, with the names of the numbers; none where it refuses all of some
/// attempts. Each line begins with its label.
template <class LinesOf>
std::vector<std::string> named_lines(std::vector<unknown_number> (*unknowns_of)(int attempt), LinesOf const& lines_of) {
    for (int attempt = 0; attempt < 6; ++attempt) {
        auto const unknowns = unknowns_of(attempt);
        assumed_numbers base;
        for (auto const& each : unknowns) base.numbers.emplace_back(each.name, each.values[0]);
        try {
            std::vector<std::vector<std::string>> rounds{lines_of(base)};
            for (std::size_t u = 0; u < unknowns.size(); ++u)
                for (std::size_t const k : {1, 2}) {
                    auto changed = base;
                    changed.numbers[u].second = unknowns[u].values[k];
                    rounds.push_back(lines_of(changed));
                }
            std::vector<std::string> named;
            for (std::size_t line = 0; line < rounds[0].size(); ++line) {
                std::vector<std::string> lines;
                lines.reserve(rounds.size());
                for (auto const& round : rounds) lines.push_back(line < round.size() ? round[line] : "");
                named.push_back(named_line(unknowns, lines));
            }
            return named;
        } catch (std::exception const&) {
            continue;  // with other numbers
        }
    }
    return {};
}

}  // namespace fovea::FOVEA_SET::bindings
