// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which keys of a row stay before it is normalized, and a normalizer of those that do.
#pragma once

#include <fovea/expr/function_operations.hpp>
#include <fovea/expr/literal.hpp>
#include <fovea/spec/whole_row.hpp>

#include <string>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// key_selection: the empty base of every selection, which says which keys of a row stay: those whose score is not less
/// than a number, which is
///
///     least()        a number, the same for all rows
///     least(row)     what is found in all scores of a row; single keys leave it by row[i] = excluded<T>
///
/// or for_row(at) gives the selection of one row, where at(expression) is the value of an expression of batch, head,
/// q_idx and the lengths. at_most(), if there is one, is how many stay. A score that is NaN is not less than any, so
/// that it shows in the result.
struct key_selection {
    using selection_tag = void;
};

template <class S>
concept selection = requires { typename S::selection_tag; };

/// A selection that is the same for all rows, and needs none of them.
template <class S>
concept fixed_selection = selection<S> && requires(S const& s) {
    { s.least() } -> std::convertible_to<double>;
};
/// A selection that reads a whole row.
template <class S>
concept row_selection = selection<S> && requires(S const& s, row_archetype<double> row) {
    { s.least(row) } -> std::convertible_to<double>;
};
template <class S>
concept plain_selection = fixed_selection<S> || row_selection<S>;
template <class S>
concept row_dependent_selection = selection<S> && requires(S const& s, row_coordinates_archetype<double> at) {
    { s.for_row(at) } -> plain_selection;
};

namespace detail {
/// A share of a weight that a selection takes.
/// Errors: std::invalid_argument unless it is above 0 and at most 1.
template <class P>
constexpr double share_of_weight(char const* named, P const& p) {
    constexpr bool number = std::is_arithmetic_v<P>;
    static_assert(number || is_ill_formed<P>, "fovea: top_p and min_p take one number for all rows, such as 0.9");
    if constexpr (number) {
        require_number(named, p, "above 0 and at most 1", [](double x) { return x > 0 && x <= 1; });
        return static_cast<double>(p);
    } else return 1;
}

/// The greatest score of a row below a number; excluded where there is none.
template <class Row, class T>
FOVEA_INLINE constexpr T greatest_below(Row const& row, T score) {
    return row.max_of([score](auto const& s_j) FOVEA_LAMBDA {
        using V = std::remove_cvref_t<decltype(s_j)>;
        return operations::select::apply(operations::less::apply(s_j, score), s_j, V(excluded<T>));
    });
}
/// The least score of a row; excluded where there is none.
template <class Row>
FOVEA_INLINE constexpr auto least_of(Row const& row) {
    return -row.max_of([](auto const& s_j) FOVEA_LAMBDA { return -s_j; });
}
/// Every weight but 0 times a factor, which may be NaN: the weight of a key that does not stay is 0.
template <class Row, class T>
FOVEA_INLINE constexpr void rescale_nonzero(Row const& row, T factor) {
    if (factor - factor == 0) return row.rescale(factor);
    for (index_t i = 0; i < row.size(); ++i)
        if (row[i] != 0) row[i] *= factor;
}

template <class Normalize, class T, bool HasOne>
struct state_in_pieces {};
template <class Normalize, class T>
struct state_in_pieces<Normalize, T, true> {
    using type = typename Normalize::template state<T>;
};
}  // namespace detail

/// The stage that keeps the keys of a selection; what normalizes them follows.
template <selection Selection>
struct keep_t : stage<role::selection> {
    FOVEA_NO_UNIQUE_ADDRESS Selection selection{};

    constexpr keep_t() = default;
    constexpr explicit keep_t(Selection const& s) : selection(s) {}
    std::string text() const {
        if constexpr (requires { selection.text(); }) return "keep(" + selection.text() + ")";
        else return "keep(" + std::string(Selection::name) + ")";
    }
};

/// A selection followed by a normalizer, or by a further selection: what follows sees the keys that stay and no other.
///
/// It is a normalizer of the class of what follows where the selection needs no row, and one of whole rows elsewhere.
template <class Selection, class Normalize>
struct kept : stage<role::normalizer> {
    FOVEA_NO_UNIQUE_ADDRESS keep_t<Selection> first{};
    FOVEA_NO_UNIQUE_ADDRESS Normalize second{};

    static constexpr bool excluded_vanish = requires { requires Normalize::excluded_vanish; };
    static constexpr bool takes_lanes = requires { requires Normalize::takes_lanes; };
    static constexpr bool in_pieces =
        fixed_selection<Selection> && (streaming_normalizer<Normalize> || one_hot_normalizer<Normalize>);
    static constexpr bool of_whole_rows = plain_selection<Selection> && plain_normalizer<Normalize>
                                       && (!fixed_selection<Selection> || whole_row_normalizer<Normalize>);

    constexpr kept() = default;
    constexpr kept(keep_t<Selection> const& s, Normalize const& n) : first(s), second(n) {}

    template <class V>
        requires(fixed_selection<Selection> && elementwise_normalizer<Normalize>)
    FOVEA_INLINE constexpr V weight(V const& score) const {
        using namespace operations;
        return V(select::apply(less::apply(score, least<V>()), V(number_of<V>(0)), V(second.weight(score))));
    }

    template <class T>
    using state = typename detail::state_in_pieces<Normalize, T, in_pieces>::type;

    template <class State, class Row>
        requires in_pieces
    FOVEA_INLINE constexpr decltype(auto) fold(State& s, Row const& row) const {
        return second.fold(s, row.exclude_below(least<typename Row::value_type>()));
    }
    template <class State>
        requires in_pieces
    constexpr decltype(auto) merge(State& s, State const& other) const {
        return second.merge(s, other);
    }
    template <class State>
        requires in_pieces
    constexpr auto finish(State const& s) const
        requires requires { second.finish(s); }
    {
        return second.finish(s);
    }
    template <class State>
        requires in_pieces
    auto log_sum(State const& s) const
        requires requires { second.log_sum(s); }
    {
        return second.log_sum(s);
    }
    template <class State>
        requires in_pieces
    constexpr index_t selected(State const& s) const
        requires requires { second.selected(s); }
    {
        return second.selected(s);
    }

    /// The keys that stay are a row of their own, unless they are many. Returns the log-sum-exp where there is one.
    template <class Row>
        requires of_whole_rows
    constexpr auto normalize(Row const& row) const {
        using T = typename Row::value_type;
        kept_scratch<T> scratch;
        Row const few = row.keep_from(least(row), scratch);
        state_of_row<Normalize, T> s{};
        if constexpr (streaming_normalizer<Normalize>) {
            static_cast<void>(second.fold(s, few));
            detail::rescale_nonzero(few, static_cast<T>(second.finish(s)));
        } else {
            weigh_whole_row(second, s, few);
        }
        row.put_back(few, scratch);
        if constexpr (log_sum_normalizer<Normalize>) return log_sum_of_row<T>(second, s);
    }

    template <class Facts>
        requires(row_dependent_selection<Selection> || row_dependent_normalizer<Normalize>)
    constexpr auto for_row(Facts const& at) const {
        auto const plain = [&] {
            if constexpr (row_dependent_selection<Selection>) return first.selection.for_row(at);
            else return first.selection;
        }();
        using selection_of_row = std::remove_const_t<decltype(plain)>;
        using normalizer_of_it = std::remove_cvref_t<decltype(normalizer_of_row(second, at))>;
        return kept<selection_of_row, normalizer_of_it>(keep_t<selection_of_row>(plain), normalizer_of_row(second, at));
    }

    std::string text() const { return describe(first) + " | " + describe(second); }

private:
    template <class V>
    constexpr V least() const {
        return V(static_cast<number_of<V>>(first.selection.least()));
    }
    template <class Row>
    constexpr auto least(Row const& row) const {
        using T = typename Row::value_type;
        if constexpr (fixed_selection<Selection>) return least<T>();
        else return static_cast<T>(first.selection.least(row));
    }
};

template <class N>
inline constexpr bool is_kept = false;
template <class Selection, class Normalize>
inline constexpr bool is_kept<kept<Selection, Normalize>> = true;

/// Selections that no normalizer follows yet.
template <class N>
inline constexpr bool is_only_keeping = false;
template <class Selection>
inline constexpr bool is_only_keeping<keep_t<Selection>> = true;
template <class Selection, class Normalize>
inline constexpr bool is_only_keeping<kept<Selection, Normalize>> = is_only_keeping<Normalize>;

/// These followed by a normalizer, or by a further selection.
template <class Selection, class Next>
constexpr auto followed_by(keep_t<Selection> const& keep, Next const& next) {
    return kept<Selection, Next>(keep, next);
}
template <class Selection, class Rest, class Next>
constexpr auto followed_by(kept<Selection, Rest> const& all, Next const& next) {
    auto const rest = followed_by(all.second, next);
    return kept<Selection, std::remove_const_t<decltype(rest)>>(all.first, rest);
}

}  // namespace fovea::FOVEA_SET
