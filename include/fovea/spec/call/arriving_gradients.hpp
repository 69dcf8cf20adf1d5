// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients that arrive at the weights of a call beside those of its result, as a part of its aggregator: where
// there are none, nothing is compiled for them.
#pragma once

#include <fovea/spec/attention.hpp>
#include <fovea/spec/outputs.hpp>

#include <cmath>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// Those of outputs `weights`, (batch, head, query, key), and `entropy`, (batch, head, query); views without memory
/// where there are none.
template <class T>
struct arriving_gradients {
    view<T const, 4> d_weights{};
    view<T const, 3> d_entropy{};

    /// Their part of the gradient of one weight, which is 0 where the pair takes no part.
    template <class Number>
    Number of(row_place const& at, index_t key, Number weight) const {
        Number sum = 0;
        if (d_weights.data != nullptr) sum += static_cast<Number>(d_weights(at.batch, at.head, at.query, key));
        if (d_entropy.data != nullptr && weight > 0)  // -sum w log w
            sum -= static_cast<Number>(d_entropy(at.batch, at.head, at.query)) * (std::log(weight) + 1);
        return sum;
    }
};

/// An aggregator, with what arrives at its weights.
template <class Core, class T>
struct with_arriving : Core {
    arriving_gradients<T> arriving;
    constexpr with_arriving(Core const& core, arriving_gradients<T> const& all) : Core(core), arriving(all) {}
};
template <class A>
concept aggregator_with_arriving = linear_aggregator<A> && requires(A const& a) { a.arriving; };

/// Aggregators of which a gradient pass needs whole rows of weights, whatever the normalizer is.
template <class A>
concept row_reading_aggregator = value_adding_aggregator<A> || aggregator_with_arriving<A>;

/// An argument of gradient with the gradient of an output of weights; a word of this kind has add_to(arriving
/// gradients, shapes).
template <class T, int Rank>
struct arriving_input {
    using output_tag = void;
    using arriving_tag = void;
    using element = T;
    view<T const, Rank> target;

    struct bound {
        view<T, Rank> target;
    };
    /// An output to attend, which has no use for it.
    template <class Shapes>
    bound bind(Shapes const&) const {
        static_assert(never<Shapes>,
                      "fovea: d_weights and d_entropy are given to gradient, which takes the gradient of the result");
        return {};
    }
};
template <class T>
concept gradient_of_weights = requires { typename T::arriving_tag; };

namespace detail {
template <class Aggregate, class T>
constexpr auto with_arriving_in(Aggregate const& a, arriving_gradients<T> const& all) {
    if constexpr (is_finished<Aggregate>) {
        auto const first = with_arriving_in(a.first, all);
        return finished<std::remove_const_t<decltype(first)>, std::remove_cvref_t<decltype(a.second)>>{first, a.second};
    } else {
        return with_arriving<Aggregate, T>(a, all);
    }
}

/// An attention with what arrives at its weights.
template <attention_spec A, class T>
constexpr auto attention_with_arriving(A const& a, arriving_gradients<T> const& all) {
    auto const aggregate = with_arriving_in(a.aggregate, all);
    return attention<std::remove_cvref_t<decltype(a.project)>, std::remove_cvref_t<decltype(a.score)>,
                     std::remove_cvref_t<decltype(a.mask)>, std::remove_cvref_t<decltype(a.normalize)>,
                     std::remove_const_t<decltype(aggregate)>>{a.project, a.score, a.mask, a.normalize, aggregate};
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
