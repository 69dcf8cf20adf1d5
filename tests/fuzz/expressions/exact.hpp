// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The meaning of an expression, written a second time: integers in 128 bits, reals in long double with a bound of the
// error that arithmetic with a given rounding may have made.
#pragma once

#include <fovea/expr/functions.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace fuzz::exact {

using namespace fovea;
__extension__ using wide = __int128;
using real = long double;

/// One value: an integer, a real that computing in another type may miss by `error`, or a condition.
struct value {
    enum { whole, number, condition } kind = whole;
    wide integer = 0;
    real x = 0, error = 0;
    bool holds = false;
};

/// Observations on the way to a value.
struct coordinates {
    real unit;               // relative rounding of one operation on reals
    bool overflows = false;  // some integer needs more than 64 bits, even where nobody looks
    bool is_wide = false;    // some integer needs more than 32 bits
    bool undefined = false;  // a division by zero, or a table read outside, that was asked for
    bool unsure = false;     // a condition on reals that rounding decides, or a real out of bounds
    bool reached = true;     // whether the value that is being computed is asked for
};

/// Where the names of an expression stand.
struct place {
    index_t batch, head, q_idx, kv_idx, q_len, kv_len;
};

class evaluator {
public:
    place at;
    coordinates seen;

    evaluator(place const& p, real unit) : at(p), seen{unit} {}

    template <class E>
    value operator()(E const& e) {
        if constexpr (is_literal<E>) return leaf(e.value);
        else if constexpr (std::is_same_v<E, q_idx_t>) return whole(at.q_idx);
        else if constexpr (std::is_same_v<E, kv_idx_t>) return whole(at.kv_idx);
        else if constexpr (std::is_same_v<E, head_t>) return whole(at.head);
        else if constexpr (std::is_same_v<E, batch_t>) return whole(at.batch);
        else if constexpr (std::is_same_v<E, q_len_t>) return whole(at.q_len);
        else if constexpr (std::is_same_v<E, kv_len_t>) return whole(at.kv_len);
        else if constexpr (is_node_of<at_operation, E>) return look_up(get<0>(e).table, (*this)(get<1>(e)));
        else if constexpr (E::arity == 3) return chosen((*this)(get<0>(e)), get<1>(e), get<2>(e));
        else if constexpr (is_node_of<operations::logical_and, E> || is_node_of<operations::logical_or, E>) {
            auto const first = (*this)(get<0>(e));
            auto const second = guarded(get<1>(e), first.holds == is_node_of<operations::logical_and, E>);
            bool const both = first.holds && second.holds, any = first.holds || second.holds;
            return truth(is_node_of<operations::logical_and, E> ? both : any);
        } else if constexpr (E::arity == 2) {
            auto const a = (*this)(get<0>(e));
            return of_two(typename E::operation{}, a, (*this)(get<1>(e)));
        } else {
            return of_one(typename E::operation{}, (*this)(get<0>(e)));
        }
    }

private:
    value whole(wide i) {
        seen.overflows = seen.overflows || i != static_cast<std::int64_t>(i);
        seen.is_wide = seen.is_wide || i != static_cast<std::int32_t>(i);
        return {value::whole, i, 0, 0, false};
    }
    value number(real x, real error) {
        // A result so large is infinite in float, one so small is 0.
        if (!(std::abs(x) < 1e30L) || !(error < 1e30L)) seen.unsure = true;
        return {value::number, 0, x, error + 4 * seen.unit * std::abs(x) + 1e-37L, false};
    }
    value truth(bool holds) { return {value::condition, 0, 0, 0, holds}; }

    template <class T>
    value leaf(T const& x) {
        if constexpr (std::is_same_v<T, bool>) return truth(x);
        else if constexpr (std::is_integral_v<T>) return whole(static_cast<wide>(x));
        else return number(static_cast<real>(x), 0);
    }
    value as_real(value const& a) { return a.kind == value::whole ? number(static_cast<real>(a.integer), 0) : a; }

    template <class E>
    value guarded(E const& e, bool is_asked_for) {
        bool const before = seen.reached, unsure = seen.unsure;
        seen.reached = before && is_asked_for;
        auto const result = (*this)(e);
        if (!seen.reached) seen.unsure = unsure;
        seen.reached = before;
        return result;
    }
    template <class A, class B>
    value chosen(value const& condition, A const& a, B const& b) {
        auto const x = guarded(a, condition.holds), y = guarded(b, !condition.holds);
        if (x.kind == value::whole && y.kind == value::whole) return condition.holds ? x : y;
        return condition.holds ? as_real(x) : as_real(y);
    }
    template <class T, int Rank>
    value look_up(view<T const, Rank> const& table, value const& index) {
        static_assert(Rank == 1);
        auto const i = index.integer;
        bool const inside = i >= 0 && i < table.extent(0);
        if (!inside) seen.undefined = seen.undefined || seen.reached;
        return leaf(inside ? table.data[static_cast<index_t>(i)] : T{});
    }

    static wide floored(wide a, wide b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }
    value divided(value const& a, value const& b, bool rest) {
        if (b.integer == 0) {
            seen.undefined = seen.undefined || seen.reached;
            return whole(0);
        }
        auto const quotient = floored(a.integer, b.integer);
        whole(quotient);
        return whole(rest ? a.integer - quotient * b.integer : quotient);
    }

    template <class Operation>
    value of_two(Operation, value const& a, value const& b) {
        if (a.kind == value::whole && b.kind == value::whole) {
            auto const x = a.integer, y = b.integer;
            if constexpr (std::is_same_v<Operation, operations::plus>) return whole(x + y);
            else if constexpr (std::is_same_v<Operation, operations::minus>) return whole(x - y);
            else if constexpr (std::is_same_v<Operation, operations::times>) return whole(seen.overflows ? 0 : x * y);
            else if constexpr (std::is_same_v<Operation, operations::divided>) return divided(a, b, false);
            else if constexpr (std::is_same_v<Operation, operations::modulo>) return divided(a, b, true);
            else if constexpr (std::is_same_v<Operation, operations::min>) return whole(x < y ? x : y);
            else if constexpr (std::is_same_v<Operation, operations::max>) return whole(x > y ? x : y);
            else if constexpr (!std::is_same_v<Operation, operations::leaky_relu>)
                return compared(Operation{}, x < y, x == y);
        }
        auto const p = as_real(a), q = as_real(b);
        auto const x = p.x, y = q.x, dx = p.error, dy = q.error;
        if constexpr (std::is_same_v<Operation, operations::plus>) return number(x + y, dx + dy);
        else if constexpr (std::is_same_v<Operation, operations::minus>) return number(x - y, dx + dy);
        else if constexpr (std::is_same_v<Operation, operations::times>)
            return number(x * y, std::abs(x) * dy + std::abs(y) * dx + dx * dy);
        else if constexpr (std::is_same_v<Operation, operations::divided>) {
            auto const least = std::abs(y) - dy;
            if (!(least > 0)) seen.unsure = true;
            return seen.unsure ? number(0, 0) : number(x / y, (dx + std::abs(x / y) * dy) / least);
        } else if constexpr (std::is_same_v<Operation, operations::min>) return number(x < y ? x : y, std::max(dx, dy));
        else if constexpr (std::is_same_v<Operation, operations::max>) return number(x > y ? x : y, std::max(dx, dy));
        else if constexpr (std::is_same_v<Operation, operations::leaky_relu>)
            return number(x > 0 ? x : x * y, dx * (1 + std::abs(y)) + std::abs(x) * dy);
        else {
            if (seen.reached && std::abs(x - y) <= dx + dy) seen.unsure = true;
            return compared(Operation{}, x < y, x == y);
        }
    }
    template <class Operation>
    value compared(Operation, bool less, bool equal) {
        if constexpr (std::is_same_v<Operation, operations::less>) return truth(less);
        else if constexpr (std::is_same_v<Operation, operations::less_equal>) return truth(less || equal);
        else if constexpr (std::is_same_v<Operation, operations::greater>) return truth(!less && !equal);
        else if constexpr (std::is_same_v<Operation, operations::greater_equal>) return truth(!less);
        else if constexpr (std::is_same_v<Operation, operations::equal>) return truth(equal);
        else {
            static_assert(std::is_same_v<Operation, operations::not_equal>
                          || std::is_same_v<Operation, operations::modulo>);
            return truth(!equal && !std::is_same_v<Operation, operations::modulo>);  // % of reals does not compile
        }
    }

    /// f of a real, where its slope within the error is at most `slope`.
    template <class F>
    value function(value const& a, real slope, F const& f) {
        return number(f(a.x), slope * a.error);
    }
    template <class Operation>
    value of_one(Operation, value const& a) {
        if (a.kind == value::whole) {
            auto const x = a.integer;
            if constexpr (std::is_same_v<Operation, operations::negate>) return whole(-x);
            else if constexpr (std::is_same_v<Operation, operations::abs>) return whole(x < 0 ? -x : x);
            else if constexpr (std::is_same_v<Operation, operations::square>) return whole(seen.overflows ? 0 : x * x);
            else if constexpr (std::is_same_v<Operation, operations::relu>) return whole(x < 0 ? 0 : x);
        }
        auto const p = as_real(a);
        if constexpr (std::is_same_v<Operation, operations::negate>) return number(-p.x, p.error);
        else if constexpr (std::is_same_v<Operation, operations::abs>) return number(std::abs(p.x), p.error);
        else if constexpr (std::is_same_v<Operation, operations::square>)
            return number(p.x * p.x, p.error * (2 * std::abs(p.x) + p.error));
        else if constexpr (std::is_same_v<Operation, operations::logical_not>) return truth(!a.holds);
        else return of_real(Operation{}, p);
    }
    template <class Operation>
    value of_real(Operation, value const& a) {
        [[maybe_unused]] constexpr real two_over_root_pi = 1.1283791670955126L;
        [[maybe_unused]] auto const over_zero = a.x - a.error;
        [[maybe_unused]] auto const positive = [&] {
            if (!(over_zero > 0)) seen.unsure = true;
            return !seen.unsure;
        };
        if constexpr (std::is_same_v<Operation, operations::exp>)
            return function(a, std::exp(a.x + a.error), [](real x) { return std::exp(x); });
        else if constexpr (std::is_same_v<Operation, operations::tanh>)
            return function(a, 1, [](real x) { return std::tanh(x); });
        else if constexpr (std::is_same_v<Operation, operations::erf>)
            return function(a, two_over_root_pi, [](real x) { return std::erf(x); });
        else if constexpr (std::is_same_v<Operation, operations::log>)
            return positive() ? number(std::log(a.x), a.error / over_zero) : number(0, 0);
        else if constexpr (std::is_same_v<Operation, operations::sqrt>) {
            if (a.x == 0 && a.error <= 1e-36L) return number(0, 0);
            return positive() ? number(std::sqrt(a.x), a.error / (2 * std::sqrt(over_zero))) : number(0, 0);
        } else if constexpr (std::is_same_v<Operation, operations::rsqrt>)
            return positive() ? number(1 / std::sqrt(a.x), a.error / (over_zero * std::sqrt(over_zero))) : number(0, 0);
        else if constexpr (std::is_same_v<Operation, operations::sigmoid>)
            return function(a, 1, [](real x) { return 1 / (1 + std::exp(-x)); });
        else if constexpr (std::is_same_v<Operation, operations::silu>)
            return function(a, 2, [](real x) { return x / (1 + std::exp(-x)); });
        else if constexpr (std::is_same_v<Operation, operations::gelu>)
            return number(a.x * (1 + std::erf(a.x * std::sqrt(0.5L))) / 2, 2 * a.error + 4 * seen.unit * std::abs(a.x));
        else if constexpr (std::is_same_v<Operation, operations::relu>)
            return function(a, 1, [](real x) { return x > 0 ? x : 0; });
        else {
            static_assert(std::is_same_v<Operation, operations::elu>);
            return number(a.x > 0 ? a.x : std::expm1(a.x), a.error + 4 * seen.unit);
        }
    }
};

}  // namespace fuzz::exact
