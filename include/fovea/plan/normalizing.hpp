// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The classes of normalizers behind one interface, so that a loop is written once.
#pragma once

#include <fovea/spec/concepts.hpp>

#include <type_traits>

namespace fovea::plan {

namespace detail {
struct no_state {};

template <class Normalize, class T>
constexpr auto state_of() {
    if constexpr (streaming_normalizer<Normalize> || one_hot_normalizer<Normalize>)
        return std::type_identity<typename Normalize::template state<T>>{};
    else return std::type_identity<no_state>{};
}
}  // namespace detail

/// How a normalizer is run: a piece of a row at a time where it can be, a whole row otherwise.
template <normalizer Normalize, class T>
struct normalizing {
    using state = typename decltype(detail::state_of<Normalize, T>())::type;
    static constexpr bool selects = one_hot_normalizer<Normalize>;
    static constexpr bool streams = streaming_normalizer<Normalize>;
    static constexpr bool elementwise = elementwise_normalizer<Normalize> && !streams && !selects;
    static constexpr bool whole_row = !selects && !streams && !elementwise;

    /// Scores become weights; the factor for what was accumulated before them.
    template <class Row>
    static T fold(Normalize const& n, state& s, Row const& row) {
        if constexpr (selects) {
            n.fold(s, row);
            return T{1};
        } else if constexpr (streams) {
            return static_cast<T>(n.fold(s, row));
        } else if constexpr (elementwise) {
            row.map([&](auto score) __attribute__((always_inline)) { return n.weight(score); });
            return T{1};
        } else {
            n.normalize(row);
            return T{1};
        }
    }

    static T finish(Normalize const& n, state const& s) {
        if constexpr (streams) return static_cast<T>(n.finish(s));
        else return T{1};
    }

    /// A whole row at once: its scores become its final weights.
    template <class Row>
    static void whole(Normalize const& n, state& s, Row const& row) {
        fold(n, s, row);
        if constexpr (selects) {
            index_t const key = n.selected(s);
            for (index_t i = 0; i < row.size(); ++i) row[i] = row.key(i) == key ? T{1} : T{0};
        } else if constexpr (streams) {
            T const factor = finish(n, s);
            for (index_t i = 0; i < row.size(); ++i) row[i] *= factor;
        }
    }

    static T log_sum(Normalize const& n, state const& s) {
        if constexpr (requires { n.log_sum(s); }) return static_cast<T>(n.log_sum(s));
        else return T{0};
    }
};

}  // namespace fovea::plan
