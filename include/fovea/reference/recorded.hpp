// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers that record how they were computed (reverse mode): the definition runs on them, and gradients go back along
// the record. Their derivatives are formulas of their own, none of those that the engine differentiates by.
#pragma once

#include <fovea/core/ieee.hpp>
#include <fovea/core/view.hpp>
#include <fovea/expr/elementary.hpp>
#include <fovea/reference/environment.hpp>
#include <fovea/spec/step_gates.hpp>

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::reference {

/// recording: the record of a computation, from the first number on; the last one that was begun is written to. What
/// is read of tables is added to `sums` on the way back, each element by its array and indices.
template <class Sums>
class recording {
public:
    explicit recording(Sums& sums) : sums_(sums), before_(std::exchange(last(), this)) {}
    recording(recording const&) = delete;
    recording& operator=(recording const&) = delete;
    ~recording() { last() = before_; }
    static recording& current() { return *last(); }

    /// A number with its derivatives by two others, of which each may be none: -1.
    index_t add(index_t a = -1, double by_a = 0, index_t b = -1, double by_b = 0) {
        steps_.push_back({a, b, by_a, by_b});
        amounts_.push_back(0);
        return size() - 1;
    }
    /// A rule for the numbers that were added last: back() calls it once they have been handed all their amounts.
    void on_way_back(std::function<void(Sums&)> back) { rules_.push_back({size(), std::move(back)}); }

    index_t size() const { return std::ssize(steps_); }
    double& amount(index_t number) { return amounts_[static_cast<std::size_t>(number)]; }

    /// Hands the amounts of the numbers from `first` on to those they were computed of. A number whose amount is 0
    /// hands nothing on, even if its derivative is infinite.
    void back(index_t first) {
        std::size_t rule = rules_.size();
        for (index_t i = size(); i > first; --i) {
            for (; rule > 0 && rules_[rule - 1].first == i; --rule) {
                auto const run = rules_[rule - 1].second;
                run(sums_);
            }
            auto const [a, b, by_a, by_b] = steps_[static_cast<std::size_t>(i - 1)];
            double const amount = amounts_[static_cast<std::size_t>(i - 1)];
            if (amount == 0) continue;
            if (a >= 0) amounts_[static_cast<std::size_t>(a)] += amount * by_a;
            if (b >= 0) amounts_[static_cast<std::size_t>(b)] += amount * by_b;
        }
    }
    /// Forgets the numbers from `first` on.
    void forget(index_t first) {
        steps_.resize(static_cast<std::size_t>(first));
        amounts_.resize(static_cast<std::size_t>(first));
        while (!rules_.empty() && rules_.back().first > first) rules_.pop_back();
    }

private:
    static recording*& last() {
        thread_local recording* begun = nullptr;
        return begun;
    }

    struct step {
        index_t a, b;
        double by_a, by_b;
    };
    Sums& sums_;
    recording* before_;
    std::vector<step> steps_;
    std::vector<double> amounts_;
    std::vector<std::pair<index_t, std::function<void(Sums&)>>> rules_;  // each behind so many numbers
};

/// recorded: a number of the recording that is written to, or a constant. Its functions are those that numbers and
/// vectors have, found by argument-dependent lookup.
template <class Sums>
struct recorded {
    double value = 0;
    index_t number = -1;  // of the recording

    constexpr recorded() = default;
    template <class Number>
        requires std::is_arithmetic_v<Number>
    constexpr recorded(Number x) : value(static_cast<double>(x)) {}

    /// The derivative of what is differentiated by this number, as far as it has been handed on; a constant has none.
    double amount() const { return number < 0 ? 0 : recording<Sums>::current().amount(number); }
    void hand(double amount) const {
        if (number >= 0) recording<Sums>::current().amount(number) += amount;
    }

    /// A number that the recording begins with.
    static recorded variable(double x) { return numbered(x, recording<Sums>::current().add()); }
    /// An element of a table of reals.
    template <class T, int Rank, class... Index>
    static recorded of_table(view<T, Rank> const& table, Index... at) {
        auto const read = variable(static_cast<double>(table(at...)));
        extents_t<Rank> const place{static_cast<index_t>(at)...};
        recording<Sums>::current().on_way_back([all = view<T const, Rank>(table), place, read](Sums& sums) {
            if (double const amount = read.amount(); amount != 0) sums.add(all, place, amount);
        });
        return read;
    }
    /// The number of a step, (batch, head, position, feature).
    template <class T>
    static recorded of_step(step_gates<T> const& steps, extents_t<4> const& at) {
        auto const* const row = steps.row(at[0], at[1], at[2]);
        auto const read = variable(static_cast<double>(row[steps.features() > 1 ? at[3] : 0]));
        recording<Sums>::current().on_way_back([steps, at, read](Sums& sums) {
            if (double const amount = read.amount(); amount != 0) sums.add_step(steps, at, amount);
        });
        return read;
    }

    friend constexpr recorded operator-(recorded const& a) { return of(-a.value, a, -1); }
    friend constexpr recorded operator+(recorded const& a, recorded const& b) {
        return of(a.value + b.value, a, 1, b, 1);
    }
    friend constexpr recorded operator-(recorded const& a, recorded const& b) {
        return of(a.value - b.value, a, 1, b, -1);
    }
    friend constexpr recorded operator*(recorded const& a, recorded const& b) {
        return of(a.value * b.value, a, b.value, b, a.value);
    }
    friend constexpr recorded operator/(recorded const& a, recorded const& b) {
        return of(a.value / b.value, a, 1 / b.value, b, -a.value / (b.value * b.value));
    }
    constexpr recorded& operator+=(recorded const& b) { return *this = *this + b; }
    constexpr recorded& operator-=(recorded const& b) { return *this = *this - b; }
    constexpr recorded& operator*=(recorded const& b) { return *this = *this * b; }
    constexpr recorded& operator/=(recorded const& b) { return *this = *this / b; }
    friend constexpr bool operator==(recorded const& a, recorded const& b) { return a.value == b.value; }
    friend constexpr auto operator<=>(recorded const& a, recorded const& b) { return a.value <=> b.value; }

    // Where two branches meet: docs/language.md, "Derivatives".
    friend recorded select(bool condition, recorded const& a, recorded const& b) { return condition ? a : b; }
    friend recorded max(recorded const& a, recorded const& b) { return a.value < b.value ? b : a; }
    friend recorded min(recorded const& a, recorded const& b) { return b.value < a.value ? b : a; }
    friend recorded positive_part(recorded const& a) { return a.value <= 0 ? recorded(0) : a; }
    friend recorded abs(recorded const& a) {
        double const slope = a.value > 0 ? 1 : a.value < 0 ? -1 : 0;
        return of(std::abs(a.value), a, slope);
    }
    friend recorded fma(recorded const& a, recorded const& b, recorded const& c) { return a * b + c; }
    friend recorded square(recorded const& a) { return of(a.value * a.value, a, 2 * a.value); }
    friend recorded to_real(recorded const& a) { return a; }
    friend recorded rounded(recorded const& a) { return a; }
    friend recorded exp(recorded const& a) { return of(std::exp(a.value), a, std::exp(a.value)); }
    friend recorded log(recorded const& a) { return of(std::log(a.value), a, 1 / a.value); }
    friend recorded tanh(recorded const& a) {
        double const cosh = std::cosh(a.value);
        return of(std::tanh(a.value), a, 1 / (cosh * cosh));
    }
    friend recorded erf(recorded const& a) { return of(std::erf(a.value), a, bell(a.value)); }
    friend recorded sqrt(recorded const& a) {
        double const root = std::sqrt(a.value);
        return of(root, a, root == 0 ? 0 : 0.5 / root);
    }
    template <class F>
    friend recorded value_of(F, recorded const& a) {
        return of(F::of(a.value), a, slope_of<F>(a.value));
    }
    template <class F>
    friend recorded value_of(F, recorded const& a, recorded const& b) {
        double const x = a.value, y = b.value, result = F::of(x, y);
        if constexpr (std::is_same_v<F, elementary::pow>)
            return of(result, a, y == 0 ? 0 : y * std::pow(x, y - 1), b, result == 0 ? 0 : result * std::log(x));
        else if constexpr (std::is_same_v<F, elementary::hypot>) return of(result, a, x / result, b, y / result);
        else {
            static_assert(std::is_same_v<F, elementary::atan2>);
            double const size = x * x + y * y;
            return of(result, a, y / size, b, -x / size);
        }
    }

private:
    static constexpr recorded numbered(double value, index_t number) {
        recorded result(value);
        result.number = number;
        return result;
    }
    static constexpr recorded of(double value, recorded const& a, double by_a, recorded const& b = {},
                                 double by_b = 0) {
        if (a.number < 0 && b.number < 0) return value;
        return numbered(value, recording<Sums>::current().add(a.number, by_a, b.number, by_b));
    }
    static double bell(double x) { return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x); }

    template <class F>
    static double slope_of(double x) {
        using std::numbers::ln2, std::numbers::ln10;
        if constexpr (std::is_same_v<F, elementary::sin>) return std::cos(x);
        else if constexpr (std::is_same_v<F, elementary::cos>) return -std::sin(x);
        else if constexpr (std::is_same_v<F, elementary::tan>) return 1 / (std::cos(x) * std::cos(x));
        else if constexpr (std::is_same_v<F, elementary::asin>) return 1 / std::sqrt((1 - x) * (1 + x));
        else if constexpr (std::is_same_v<F, elementary::acos>) return -1 / std::sqrt((1 - x) * (1 + x));
        else if constexpr (std::is_same_v<F, elementary::atan>) return 1 / (1 + x * x);
        else if constexpr (std::is_same_v<F, elementary::sinh>) return std::cosh(x);
        else if constexpr (std::is_same_v<F, elementary::cosh>) return std::sinh(x);
        else if constexpr (std::is_same_v<F, elementary::asinh>) return 1 / std::sqrt(x * x + 1);
        else if constexpr (std::is_same_v<F, elementary::acosh>) return 1 / std::sqrt((x - 1) * (x + 1));
        else if constexpr (std::is_same_v<F, elementary::atanh>) return 1 / ((1 - x) * (1 + x));
        else if constexpr (std::is_same_v<F, elementary::exp2>) return std::exp2(x) * ln2;
        else if constexpr (std::is_same_v<F, elementary::expm1>) return std::exp(x);
        else if constexpr (std::is_same_v<F, elementary::log2>) return 1 / (x * ln2);
        else if constexpr (std::is_same_v<F, elementary::log10>) return 1 / (x * ln10);
        else if constexpr (std::is_same_v<F, elementary::log1p>) return 1 / (1 + x);
        else if constexpr (std::is_same_v<F, elementary::cbrt>) return 1 / (3 * std::cbrt(x) * std::cbrt(x));
        else {
            static_assert(std::is_same_v<F, elementary::erfc>);
            return -bell(x);
        }
    }
};

template <class Sums>
inline constexpr bool is_recorded<recorded<Sums>> = true;

}  // namespace fovea::FOVEA_SET::reference

namespace fovea::FOVEA_SET::ieee {
template <class Sums>
inline constexpr reference::recorded<Sums> infinity<reference::recorded<Sums>> = infinity<double>;
}  // namespace fovea::FOVEA_SET::ieee
