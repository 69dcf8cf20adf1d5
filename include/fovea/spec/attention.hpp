// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/literal.hpp>
#include <fovea/expr/operators.hpp>
#include <fovea/expr/placeholder.hpp>
#include <fovea/spec/concepts.hpp>

namespace fovea::FOVEA_SET {

// The content of an empty slot.
struct unprojected_t : stage<role::projection> {
    static constexpr std::string_view name = "";
};
struct no_score_t : stage<role::score> {
    static constexpr std::string_view name = "";
};
struct everything_t : stage<role::mask> {
    static constexpr std::string_view name = "";
    constexpr auto predicate() const { return always; }
};
struct no_normalizer_t : stage<role::normalizer> {
    static constexpr std::string_view name = "";
};
struct no_aggregator_t : stage<role::aggregator> {
    static constexpr std::string_view name = "";
};

/// attention: the whole specification, one flat record of five parts.
template <class Project, class Score, class Mask, class Normalize, class Aggregate>
struct attention {
    using attention_tag = void;
    FOVEA_NO_UNIQUE_ADDRESS Project project{};
    FOVEA_NO_UNIQUE_ADDRESS Score score{};
    FOVEA_NO_UNIQUE_ADDRESS Mask mask{};
    FOVEA_NO_UNIQUE_ADDRESS Normalize normalize{};
    FOVEA_NO_UNIQUE_ADDRESS Aggregate aggregate{};
};

using empty_attention = attention<unprojected_t, no_score_t, everything_t, no_normalizer_t, no_aggregator_t>;

template <class A>
concept attention_spec = requires { typename A::attention_tag; };

namespace detail {
template <class... Parts>
attention<Parts...> find_attention(attention<Parts...> const&);
}  // namespace detail

/// The specification that something is made of.
template <class Of>
using attention_within = decltype(detail::find_attention(std::declval<Of const&>()));

/// A score followed by a rescoring; the rescoring's `score` is the score before it.
template <class Score, class Rescore>
struct rescored : stage<role::score> {
    FOVEA_NO_UNIQUE_ADDRESS Score first{};
    FOVEA_NO_UNIQUE_ADDRESS Rescore second{};

    constexpr rescored() = default;
    constexpr rescored(Score const& a, Rescore const& b) : first(a), second(b) {}
    constexpr auto expression() const {
        return substitute(second.expression(), placeholders::score, first.expression());
    }
    std::string text() const { return describe(first) + " | " + describe(second); }
};

/// A normalizer followed by a reweighting: an expression of `weight`, which is what the normalizer gave.
template <class Normalize, class Reweight>
struct reweighted : stage<role::normalizer> {
    FOVEA_NO_UNIQUE_ADDRESS Normalize first{};
    FOVEA_NO_UNIQUE_ADDRESS Reweight second{};

    constexpr reweighted() = default;
    constexpr reweighted(Normalize const& a, Reweight const& b) : first(a), second(b) {}
    std::string text() const { return describe(first) + " | " + describe(second); }
};

template <class N>
inline constexpr bool is_reweighted = false;
template <class Normalize, class Reweight>
inline constexpr bool is_reweighted<reweighted<Normalize, Reweight>> = true;

/// The normalizer itself, and what becomes of its weights: `weight` where nothing does.
template <class N>
constexpr auto normalizer_of(N const& n) {
    if constexpr (is_reweighted<N>) return normalizer_of(n.first);
    else return n;
}
template <class N>
constexpr auto reweighting_of(N const& n) {
    if constexpr (is_reweighted<N>)
        return substitute(n.second.expression(), placeholders::weight, reweighting_of(n.first));
    else return placeholders::weight;
}

/// Two masks piped one after the other: a pair takes part where both say so.
template <class First, class Second>
struct intersection : stage<role::mask> {
    static_assert(
        !(enumerating_mask<First> && enumerating_mask<Second>),
        "fovea: both masks list the keys of each query; a specification takes one list of keys; add conditions to it");
    FOVEA_NO_UNIQUE_ADDRESS First first{};
    FOVEA_NO_UNIQUE_ADDRESS Second second{};

    constexpr intersection() = default;
    constexpr intersection(First const& a, Second const& b) : first(a), second(b) {}
    constexpr auto predicate() const { return first.predicate() && second.predicate(); }
    constexpr auto neighbor_list() const
        requires(enumerating_mask<First> != enumerating_mask<Second>)
    {
        if constexpr (enumerating_mask<First>) return first.neighbor_list();
        else return second.neighbor_list();
    }
    std::string text() const { return describe(first) + " | " + describe(second); }
};

/// An aggregator, or a finish, followed by a further finish.
template <class First, class Second>
struct finished : stage<role::aggregator> {
    FOVEA_NO_UNIQUE_ADDRESS First first{};
    FOVEA_NO_UNIQUE_ADDRESS Second second{};

    constexpr finished() = default;
    constexpr finished(First const& a, Second const& b) : first(a), second(b) {}
    std::string text() const { return describe(first) + " | " + describe(second); }
};

template <class A>
inline constexpr bool is_finished = false;
template <class First, class Second>
inline constexpr bool is_finished<finished<First, Second>> = true;

/// The aggregator itself, without what finishes the result.
template <class Aggregate>
constexpr auto core_of(Aggregate const& a) {
    if constexpr (is_finished<Aggregate>) return core_of(a.first);
    else return a;
}

/// True where the aggregator of an attention adds a row of a table to the value of each pair.
template <class A>
inline constexpr bool adds_to_values =
    value_adding_aggregator<std::remove_cvref_t<decltype(core_of(std::declval<A const&>().aggregate))>>;

/// Calls f with each finish, in the order in which they were written.
template <class Aggregate, class F>
constexpr void for_each_finish(Aggregate const& a, F&& f) {
    if constexpr (is_finished<Aggregate>) {
        for_each_finish(a.first, f);
        f(a.second);
    }
}

/// True where the attention has a finish of this type.
template <class Aggregate, template <class> class Test>
inline constexpr bool has_finish = false;
template <class First, class Second, template <class> class Test>
inline constexpr bool has_finish<finished<First, Second>, Test> = Test<Second>::value || has_finish<First, Test>;

/// The attention as the user wrote it: "scaled_dot | causal | softmax | weighted_sum".
template <attention_spec A>
std::string text(A const& a) {
    std::string line;
    auto const add = [&](auto const& part) {
        auto const word = describe(part);
        if (!word.empty()) line += (line.empty() ? "" : " | ") + word;
    };
    add(a.project);
    add(a.score);
    add(a.mask);
    add(a.normalize);
    add(a.aggregate);
    return line;
}

}  // namespace fovea::FOVEA_SET
