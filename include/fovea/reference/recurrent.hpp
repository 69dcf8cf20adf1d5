// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention with a running state, as it is defined: one key after the other.
#pragma once

#include <fovea/reference/environment.hpp>
#include <fovea/reference/project.hpp>
#include <fovea/spec/recurrence.hpp>

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

    /// What a row of features gets from it.
    Real read(std::vector<Real> const& features, index_t c) {
        Real sum = 0;
        for (index_t f = 0; f < rows; ++f) sum += features[static_cast<std::size_t>(f)] * (*this)(f, c);
        return sum;
    }
};

/// recur: every row of the result of an attention with a running state.
template <attention_spec A, class Real, class... Bound>
array<Real> recur(A const& a, operand_shapes const& shapes, operands<Real> const& x, Bound const&... outputs) {
    auto const term = fovea::detail::scaled_product(a.score.expression(), unit{});
    auto const rules = core_of(a.aggregate);
    auto const group = shapes.group(), width = shapes.features();
    array<Real> result({shapes.batches(), shapes.heads(), shapes.queries(), width});
    auto const span_of = [](array<Real> const& rows, index_t b, index_t h, index_t n) {
        return std::span<Real const>(rows.data() + rows.view().offset(b, h, n, 0),
                                     static_cast<std::size_t>(rows.extent(3)));
    };
    for (index_t b = 0; b < shapes.batches(); ++b)
        for (index_t hk = 0; hk < shapes.key_heads(); ++hk) {
            running<Real> state{shapes.key[3], width + (divides_by_sum<A> ? 1 : 0)};
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
            auto const add_key = [&](index_t n) {
                pair_environment<Real> const at{
                    {{}, b, hk * group, n, n, shapes.queries(), shapes.keys(), shapes.key[3]},
                    {},
                    span_of(x.key, b, hk, n)};
                auto const key = mapped_features<Real>(term.of_key, unit{}, at);
                if constexpr (decltype(rules)::gated) {
                    auto const* const decay = rules.gate.decay.row(b, hk, n);
                    bool const by_feature = rules.gate.decay.features() > 1;
                    for_state([&](index_t d, index_t, Real& s) {
                        s *= std::exp(static_cast<Real>(decay[by_feature ? d : 0]));
                    });
                }
                std::vector<Real> value(span_of(x.value, b, hk, n).begin(), span_of(x.value, b, hk, n).end());
                if (divides_by_sum<A>) value.push_back(1);
                if constexpr (decltype(rules)::corrected) {
                    auto const rate = static_cast<Real>(*rules.correction.rate.row(b, hk, n));
                    for (index_t c = 0; c < state.columns; ++c) {
                        auto& v = value[static_cast<std::size_t>(c)];
                        v = rate * (v - state.read(key, c));
                    }
                }
                for_state([&](index_t d, index_t c, Real& s) {
                    s += key[static_cast<std::size_t>(d)] * value[static_cast<std::size_t>(c)];
                });
            };
            auto const read = [&](index_t n) {
                for (index_t h = hk * group; h < (hk + 1) * group; ++h) {
                    pair_environment<Real> const at{{{}, b, h, n, n, shapes.queries(), shapes.keys(), shapes.key[3]},
                                                    span_of(x.query, b, h, n),
                                                    {}};
                    auto const query = mapped_features<Real>(term.of_query, term.scale, at);
                    Real const weights = divides_by_sum<A> ? state.read(query, width) : Real(1);
                    for (index_t c = 0; c < width; ++c)
                        result(b, h, n, c) = weights == 0 ? Real(0) : state.read(query, c) / weights;
                }
            };
            (begin(outputs), ...);
            for (index_t n = 0; n < shapes.keys(); ++n) {
                add_key(n);
                if (is_causal_attention<A>) read(n);
            }
            for (index_t n = 0; !is_causal_attention<A> && n < shapes.queries(); ++n) read(n);
            (end(outputs), ...);
        }
    return result;
}

}  // namespace fovea::FOVEA_SET::reference
