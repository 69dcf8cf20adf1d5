// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention with a running state, as it is defined: one key after the other.
#pragma once

#include <fovea/reference/environment.hpp>
#include <fovea/reference/project.hpp>
#include <fovea/spec/recurrence.hpp>
#include <fovea/spec/step_gates.hpp>

#include <cmath>
#include <span>
#include <vector>

namespace fovea::FOVEA_SET::reference {

/// The features of one row through a map of one side, times a scale.
template <class Real, class Map, class Scale>
std::vector<Real> mapped_features(Map const& map, Scale const& scale, pair_environment<Real> const& at) {
    bool constexpr of_key = uses<Map, k_t>;
    std::vector<Real> features((of_key ? at.key_features : at.query_features).size());
    feature_environment<Real> here{at};
    Real factor = 1;
    if constexpr (!std::is_same_v<Scale, unit>) factor = static_cast<Real>(evaluate(scale, at));
    for (auto& feature : features) {
        feature = factor * static_cast<Real>(evaluate(map, here));
        ++here.feature;
    }
    return features;
}

/// The state of one head of the keys: (feature of the key, feature of the value), and what becomes of it.
template <class Real>
struct running {
    index_t rows, columns;
    std::vector<Real> elements = std::vector<Real>(static_cast<std::size_t>(rows * columns));

    Real& operator()(index_t f, index_t c) { return elements[static_cast<std::size_t>(f * columns + c)]; }

    /// The product of a row of features with a column of it.
    Real read(std::vector<Real> const& features, index_t c) {
        Real sum = 0;
        for (index_t f = 0; f < rows; ++f) sum += features[static_cast<std::size_t>(f)] * (*this)(f, c);
        return sum;
    }
};

/// The features of a row of an operand.
template <class Real>
std::span<Real const> features_of(array<Real> const& rows, index_t b, index_t h, index_t n) {
    return {rows.data() + rows.view().offset(b, h, n, 0), static_cast<std::size_t>(rows.extent(3))};
}

/// Where a key is mapped that enters a state, and a query that reads it.
template <class Real>
pair_environment<Real> key_of_state(operand_shapes const& shapes, operands<Real> const& x, index_t b, index_t hk,
                                    index_t n) {
    return {{{}, b, hk * shapes.group(), n, n, shapes.queries(), shapes.keys(), shapes.key[3]},
            {},
            features_of(x.key, b, hk, n)};
}
template <class Real>
pair_environment<Real> query_of_state(operand_shapes const& shapes, operands<Real> const& x, index_t b, index_t h,
                                      index_t n) {
    return {{{}, b, h, n, n, shapes.queries(), shapes.keys(), shapes.key[3]}, features_of(x.query, b, h, n), {}};
}

/// The number of a step in the arithmetic of Real, which may take note of where it was read.
template <class Real, class T>
Real step_number(step_gates<T> const& steps, extents_t<4> const& at) {
    if constexpr (requires { Real::of_step(steps, at); }) return Real::of_step(steps, at);
    else return static_cast<Real>(steps.row(at[0], at[1], at[2])[steps.features() > 1 ? at[3] : 0]);
}

/// One step of a recurrence: the key through its map, how much of each row of the state stays, what is added.
template <class Real>
struct state_step {
    std::vector<Real> key, gate, value;
    Real rate = 1;
};

/// The step of one position, before the state is known.
template <attention_spec A, class Real>
state_step<Real> step_of(A const& a, operand_shapes const& shapes, operands<Real> const& x, index_t b, index_t hk,
                         index_t n) {
    auto const term = fovea::detail::scaled_product(a.score.expression(), unit{});
    auto const rules = core_of(a.aggregate);
    auto const at = key_of_state(shapes, x, b, hk, n);
    auto const value = features_of(x.value, b, hk, n);
    state_step<Real> step{mapped_features<Real>(term.of_key, unit{}, at), {}, {value.begin(), value.end()}};
    if (divides_by_sum<A>) step.value.push_back(1);
    if constexpr (decltype(rules)::gated) {
        using std::exp;
        for (index_t d = 0; d < shapes.key[3]; ++d)
            step.gate.push_back(exp(step_number<Real>(rules.gate.decay, {b, hk, n, d})));
    }
    if constexpr (decltype(rules)::corrected) step.rate = step_number<Real>(rules.correction.rate, {b, hk, n, 0});
    return step;
}

/// The state takes a step; what is added of the value, corrected where a rule says so, is left in it.
template <bool Corrected, class Real>
void advance(running<Real>& state, state_step<Real>& step) {
    for (index_t d = 0; d < std::ssize(step.gate); ++d)
        for (index_t c = 0; c < state.columns; ++c) state(d, c) *= step.gate[static_cast<std::size_t>(d)];
    if constexpr (Corrected)
        for (index_t c = 0; c < state.columns; ++c) {
            auto& v = step.value[static_cast<std::size_t>(c)];
            v = step.rate * (v - state.read(step.key, c));
        }
    for (index_t d = 0; d < state.rows; ++d)
        for (index_t c = 0; c < state.columns; ++c)
            state(d, c) += step.key[static_cast<std::size_t>(d)] * step.value[static_cast<std::size_t>(c)];
}

/// The rows of one head of the keys, from a state on, which becomes that after the last key: take(head, position,
/// feature, number).
template <attention_spec A, class Real, class Take>
void recur_head(A const& a, operand_shapes const& shapes, operands<Real> const& x, index_t b, index_t hk,
                running<Real>& state, Take const& take) {
    auto const term = fovea::detail::scaled_product(a.score.expression(), unit{});
    using rules = decltype(core_of(a.aggregate));
    auto const group = shapes.group(), width = shapes.features();
    auto const read = [&](index_t n) {
        for (index_t h = hk * group; h < (hk + 1) * group; ++h) {
            auto const at = query_of_state(shapes, x, b, h, n);
            auto const query = mapped_features<Real>(term.of_query, term.scale, at);
            Real const weights = divides_by_sum<A> ? state.read(query, width) : Real(1);
            for (index_t c = 0; c < width; ++c) take(h, n, c, weights == 0 ? Real(0) : state.read(query, c) / weights);
        }
    };
    for (index_t n = 0; n < shapes.keys(); ++n) {
        auto step = step_of(a, shapes, x, b, hk, n);
        advance<rules::corrected>(state, step);
        if (is_causal_attention<A>) read(n);
    }
    for (index_t n = 0; !is_causal_attention<A> && n < shapes.queries(); ++n) read(n);
}

/// A state without any key.
template <attention_spec A, class Real>
running<Real> empty_state(operand_shapes const& shapes) {
    return {shapes.key[3], shapes.features() + (divides_by_sum<A> ? 1 : 0)};
}

/// recur: every row of the result of an attention with a running state.
template <attention_spec A, class Real, class... Bound>
array<Real> recur(A const& a, operand_shapes const& shapes, operands<Real> const& x, Bound const&... outputs) {
    array<Real> result({shapes.batches(), shapes.heads(), shapes.queries(), shapes.features()});
    for (index_t b = 0; b < shapes.batches(); ++b)
        for (index_t hk = 0; hk < shapes.key_heads(); ++hk) {
            auto state = empty_state<A, Real>(shapes);
            auto const for_state = [&](auto const& f) {
                for (index_t c = 0; c < state.columns; ++c)
                    for (index_t d = 0; d < state.rows; ++d) f(d, c, state(d, c));
            };
            [[maybe_unused]] auto const begin = [&](auto const& bound) {
                if constexpr (gives_past_state<std::remove_cvref_t<decltype(bound)>>)
                    for_state([&](index_t d, index_t c, Real& s) { s = static_cast<Real>(bound.target(b, hk, d, c)); });
            };
            [[maybe_unused]] auto const end = [&](auto const& bound) {
                if constexpr (takes_present_state<std::remove_cvref_t<decltype(bound)>>)
                    for_state([&](index_t d, index_t c, Real s) {
                        bound.target(b, hk, d, c) = rounded_to<std::remove_pointer_t<decltype(bound.target.data)>>(s);
                    });
            };
            (begin(outputs), ...);
            recur_head(a, shapes, x, b, hk, state,
                       [&](index_t h, index_t n, index_t c, Real number) { result(b, h, n, c) = number; });
            (end(outputs), ...);
        }
    return result;
}

}  // namespace fovea::FOVEA_SET::reference
