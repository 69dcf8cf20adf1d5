// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/print.hpp>
#include <fovea/normalize/softmax.hpp>

#include <cmath>
#include <utility>

namespace fovea::FOVEA_SET {

namespace detail {
/// The softmax of one row beside a key without a value, whose score is a number.
template <class Number>
struct softmax_beside : softmax_t {
    Number sink{};

    template <class T>
    constexpr T finish(state<T> const& s) const {
        auto const [sum, scale] = sink_and_rest(s);
        return operations::select::apply(sum == T(0), T(0), T(T(1) / sum * scale));
    }
    template <class T>
    T log_sum(state<T> const& s) const {
        T const with = static_cast<T>(sink), without = softmax_t::log_sum(s);
        T const most = operations::max::apply(without, with);
        T const sum = operations::exp::apply(T(with - most)) + operations::exp::apply(T(without - most));
        return operations::select::apply(s.sum == T(0), without, T(most + operations::log::apply(sum)));
    }

    /// The row state that gives the weights again, with the sink.
    template <class T>
    constexpr std::pair<T, T> max_and_sum(state<T> const& s) const {
        auto const [sum, scale] = sink_and_rest(s);
        return {operations::select::apply(operations::less::apply(scale, T(1)), static_cast<T>(sink), s.max), sum};
    }

private:
    /// The sum with the sink, and what weights are to be multiplied with beside it; a sink far above all scores is its
    /// own maximum, so that nothing overflows.
    template <class T>
    constexpr std::pair<T, T> sink_and_rest(state<T> const& s) const {
        T const above = static_cast<T>(sink) - s.max;
        T const scale = operations::exp::apply(T(-operations::max::apply(T(0), above)));
        T const all = s.sum * scale + operations::exp::apply(T(operations::min::apply(T(0), above)));
        return {operations::select::apply(s.sum == T(0), T(0), all), scale};
    }
};
}  // namespace detail

/// softmax_with_sink: softmax with one additional key that takes weight but contributes no value.
///
///     w_j = exp(s_j) / (exp(sink) + sum_k exp(s_k))
///     softmax_with_sink(sinks)    softmax_with_sink(param(sinks)[head])
///
/// Shapes: the sink is a table (head), kept as a view, or an expression of head, batch, q_idx and the lengths.
/// Cost: streaming, as `softmax`; the sink is added once, at the end of a row.
/// Gradients: of the score and the tables of the sink.
/// Edge cases: weights sum to less than one. The log-sum-exp includes the sink, but is -inf for a query that sees no
/// key. A sink far above all scores does not overflow.
/// Errors: shape_error where a table is too small for the call. At compile time, where the sink depends on the key.
/// Source: Xiao et al. 2024, section 3.3.
template <class E>
struct softmax_with_sink_t : stage<role::normalizer> {
    FOVEA_NO_UNIQUE_ADDRESS E sink{};

    constexpr softmax_with_sink_t() = default;
    constexpr explicit softmax_with_sink_t(E const& e) : sink(e) {}

    template <class Facts>
    constexpr auto for_row(Facts const& at) const {
        return detail::softmax_beside<std::remove_cvref_t<decltype(at(sink))>>{{}, at(sink)};
    }
    /// The gradients of a row, as of softmax, and of its sink, whose weight gives nothing to the result.
    template <class Row, class Facts>
    void gradient(Row&& row, Facts const& at) const {
        using T = typename std::remove_cvref_t<Row>::value_type;
        T const taken = row.sum([](auto const&, auto const& w, auto const&) { return w; });
        T const mean = row.sum([](auto const&, auto const& w, auto const& g) { return w * g; });
        softmax_t::gradient(row);
        at.add(sink, -(T(1) - taken) * mean);
    }
    /// That of its sink alone, where weights are exp(s_j - max) / sum and have the mean gradient sum_j w_j g_j.
    template <class T, class Facts>
    void gradient_of_row(T max, T sum, T mean, Facts const& at) const {
        T const beside = static_cast<T>(at(sink));
        at.add(sink, -(beside == max ? T(1) : std::exp(beside - max)) / sum * mean);
    }
    std::string text() const { return "softmax_with_sink(" + print(sink) + ")"; }
};

template <class Sink>
constexpr auto softmax_with_sink(Sink&& sink) {
    auto const e = detail::computed_or_table(std::forward<Sink>(sink), placeholders::head);
    using expression = std::remove_const_t<decltype(e)>;
    constexpr bool of_row = is_number_of_row<expression>;
    static_assert(of_row, "fovea: a sink is one number for each row: it may use head, batch, q_idx and lengths");
    if constexpr (of_row && detail::keeps_quotients_whole<expression, true>())
        return softmax_with_sink_t<expression>(e);
    else return ill_formed{};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed softmax_with_sink(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
