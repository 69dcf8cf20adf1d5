// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of an attention with a running state, as they are defined: one key after the other, from the last to
// the first.
#pragma once

#include <fovea/reference/cotangents.hpp>
#include <fovea/reference/recurrent.hpp>
#include <fovea/spec/call/check_call.hpp>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::reference {

/// The gradients of the features of a row, and of tables, from those of what a map and a scale make of them.
template <class Real, class Map, class Scale, class Cotangents>
void mapped_features_gradient(Map const& map, Scale const& scale, pair_environment<Real> const& at,
                              std::vector<Real> const& d, Cotangents const& to) {
    feature_environment<Real> here{at};
    Real factor = 1, of_factor = 0;
    if constexpr (!std::is_same_v<Scale, unit>) factor = static_cast<Real>(evaluate(scale, at));
    for (auto const amount : d) {
        of_factor += amount * static_cast<Real>(evaluate(map, here));
        backpropagate(map, here, factor * amount, to);
        ++here.feature;
    }
    if constexpr (!std::is_same_v<Scale, unit>) backpropagate(scale, at, of_factor, to);
}

/// The rows of an attention, from the state that its call began with.
template <attention_spec A, class Bound, class Real>
array<Real> recur_from_past(A const& a, Bound const& bound, operands<Real> const& x) {
    auto const& shapes = bound.call.shapes;
    return std::apply([&](auto const&... past) { return recur(a, shapes, x, past.bind(shapes)...); }, bound.past());
}

/// The state of one head of the keys before each step and after the last, and the gradient of the state while the steps
/// are taken back.
template <attention_spec A, class Real, class Sums>
class recurrent_head_gradient {
    using rules = decltype(core_of(std::declval<A const&>().aggregate));

public:
    recurrent_head_gradient(A const& a, operand_shapes const& shapes, operands<Real> const& x, array<Real> const& d,
                            operands<Real>& result, Sums& sums, index_t batch, index_t head, running<Real> past,
                            running<Real> d_present)
        : a_(a),
          shapes_(shapes),
          x_(x),
          d_(d),
          result_(result),
          sums_(sums),
          batch_(batch),
          head_(head),
          width_(shapes.features()),
          d_state_(std::move(d_present)) {
        states_.push_back(std::move(past));
        for (index_t n = 0; n < shapes.keys(); ++n) {
            states_.push_back(states_.back());
            steps_.push_back(step_of(a, shapes, x, batch, head, n));
            values_.push_back(steps_.back().value);
            advance<rules::corrected>(states_.back(), steps_.back());
        }
    }

    /// The gradient of the state before the first step.
    running<Real> run() {
        if constexpr (!is_causal_attention<A>)
            for (index_t n = 0; n < shapes_.queries(); ++n) read(n, states_.back());
        for (index_t n = shapes_.keys() - 1; n >= 0; --n) {
            if constexpr (is_causal_attention<A>) read(n, states_[static_cast<std::size_t>(n + 1)]);
            take_back(n);
        }
        return std::move(d_state_);
    }

private:
    static std::span<Real> row(array<Real>& rows, index_t b, index_t h, index_t n) {
        return {rows.data() + rows.view().offset(b, h, n, 0), static_cast<std::size_t>(rows.extent(3))};
    }

    /// The queries of a position read a state: out = S^T q, over its last column where weights are divided by their
    /// sum.
    void read(index_t n, running<Real>& state) {
        auto const term = fovea::detail::scaled_product(a_.score.expression(), unit{});
        for (index_t h = head_ * shapes_.group(); h < (head_ + 1) * shapes_.group(); ++h) {
            auto const at = query_of_state(shapes_, x_, batch_, h, n);
            auto const query = mapped_features<Real>(term.of_query, term.scale, at);
            Real const weights = divides_by_sum<A> ? state.read(query, width_) : Real(1);
            if (weights == 0) continue;
            std::vector<Real> of_column(static_cast<std::size_t>(state.columns)), d_query(query.size());
            for (index_t c = 0; c < width_; ++c) {
                Real const amount = of_column[static_cast<std::size_t>(c)] = d_(batch_, h, n, c) / weights;
                if (divides_by_sum<A>) of_column.back() -= amount * state.read(query, c) / weights;
            }
            for (index_t f = 0; f < state.rows; ++f)
                for (index_t c = 0; c < state.columns; ++c) {
                    d_query[static_cast<std::size_t>(f)] += state(f, c) * of_column[static_cast<std::size_t>(c)];
                    d_state_(f, c) += query[static_cast<std::size_t>(f)] * of_column[static_cast<std::size_t>(c)];
                }
            mapped_features_gradient(term.of_query, term.scale, at, d_query,
                                     cotangents<Real, Sums>{sums_, row(result_.query, batch_, h, n)});
        }
    }

    /// A step: S = gate S' + k u^T, u the value, or rate (value - (gate S')^T k).
    void take_back(index_t n) {
        auto const i = static_cast<std::size_t>(n);
        auto const& step = steps_[i];
        auto& before = states_[i];
        auto const gate = [&](index_t f) { return rules::gated ? step.gate[static_cast<std::size_t>(f)] : Real(1); };
        std::vector<Real> d_key(step.key.size()), d_value(step.value.size());
        for (index_t f = 0; f < d_state_.rows; ++f)
            for (index_t c = 0; c < d_state_.columns; ++c) {
                d_key[static_cast<std::size_t>(f)] += d_state_(f, c) * step.value[static_cast<std::size_t>(c)];
                d_value[static_cast<std::size_t>(c)] += d_state_(f, c) * step.key[static_cast<std::size_t>(f)];
            }
        if constexpr (rules::corrected) correct(n, gate, d_key, d_value);
        if constexpr (rules::gated)
            for (index_t f = 0; f < d_state_.rows; ++f) {
                Real of_decay = 0;
                for (index_t c = 0; c < d_state_.columns; ++c) {
                    of_decay += d_state_(f, c) * before(f, c) * gate(f);
                    d_state_(f, c) *= gate(f);
                }
                sums_.add_step(core_of(a_.aggregate).gate.decay, {batch_, head_, n, f}, of_decay);
            }
        for (index_t c = 0; c < width_; ++c) result_.value(batch_, head_, n, c) += d_value[static_cast<std::size_t>(c)];
        auto const term = fovea::detail::scaled_product(a_.score.expression(), unit{});
        mapped_features_gradient(term.of_key, unit{}, key_of_state(shapes_, x_, batch_, head_, n), d_key,
                                 cotangents<Real, Sums>{sums_, {}, row(result_.key, batch_, head_, n)});
    }

    /// From the gradient of what the delta rule adds to that of the value, of its rate, the key, and the state before.
    template <class Gate>
    void correct(index_t n, Gate const& gate, std::vector<Real>& d_key, std::vector<Real>& d_value) {
        auto const i = static_cast<std::size_t>(n);
        auto const& step = steps_[i];
        Real of_rate = 0;
        for (index_t c = 0; c < d_state_.columns; ++c) {
            auto& of_value = d_value[static_cast<std::size_t>(c)];
            Real given = 0;  // by the state for this key
            for (index_t f = 0; f < d_state_.rows; ++f)
                given += gate(f) * states_[i](f, c) * step.key[static_cast<std::size_t>(f)];
            of_rate += of_value * (values_[i][static_cast<std::size_t>(c)] - given);
            of_value *= step.rate;
            for (index_t f = 0; f < d_state_.rows; ++f) {
                d_key[static_cast<std::size_t>(f)] -= gate(f) * states_[i](f, c) * of_value;
                d_state_(f, c) -= step.key[static_cast<std::size_t>(f)] * of_value;
            }
        }
        sums_.add_step(core_of(a_.aggregate).correction.rate, {batch_, head_, n, 0}, of_rate);
    }

    A const& a_;
    operand_shapes const& shapes_;
    operands<Real> const& x_;
    array<Real> const& d_;
    operands<Real>& result_;
    Sums& sums_;
    index_t batch_, head_, width_;
    running<Real> d_state_;
    std::vector<running<Real>> states_;
    std::vector<state_step<Real>> steps_;
    std::vector<std::vector<Real>> values_;  // before they are corrected
};

/// The gradients of the rows of an attention with a running state, and of the state that its call began with, added to
/// those of the operands.
template <attention_spec A, class Bound, class Real, class Sums>
void recurrent_gradients(A const& a, Bound const& bound, operands<Real> const& x, array<Real> const& d,
                         operands<Real>& result, Sums& sums) {
    auto const& shapes = bound.call.shapes;
    array<Real> past(state_extents(a, shapes)), d_state(past.extents);
    bound.template with_state<true>([&](auto const&, auto const& given) { past = copy<Real>(given); });
    bound.template with_state<false>([&](auto const&, auto const& given) { d_state = copy<Real>(given); });
    for (index_t b = 0; b < shapes.batches(); ++b)
        for (index_t h = 0; h < shapes.key_heads(); ++h) {
            auto const state_of = [&](array<Real>& all) {
                running<Real> state{all.extent(2), all.extent(3)};
                auto const* const from = all.data() + all.view().offset(b, h, 0, 0);
                std::copy_n(from, state.elements.size(), state.elements.begin());
                return state;
            };
            auto const before = recurrent_head_gradient<A, Real, Sums>(a, shapes, x, d, result, sums, b, h,
                                                                       state_of(past), state_of(d_state))
                                    .run();
            std::copy(before.elements.begin(), before.elements.end(),
                      d_state.data() + d_state.view().offset(b, h, 0, 0));
        }
    bound.template with_state<true>(
        [&](auto const& state, auto const&) { sums.add_state(state.target, d_state.data()); });
}

}  // namespace fovea::FOVEA_SET::reference
