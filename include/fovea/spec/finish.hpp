// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kinds of finishes, read from what they offer. Anything else that is a finish is a mistake of its author.
#pragma once

#include <fovea/spec/concepts.hpp>

namespace fovea::FOVEA_SET {

/// A finish that lays the results of the heads side by side.
template <class F>
concept concatenating_finish = finish<F> && requires { requires F::concatenates_heads; };

/// A finish that averages the results of the heads.
template <class F>
concept averaging_finish = finish<F> && requires { requires F::averages_heads; };

/// A finish that passes the heads, side by side, through a row map: linear().
template <class F>
concept linear_finish =
    finish<F> && requires(F const& f) { requires row_map<std::remove_cvref_t<decltype(f.linear())>>; };

/// A finish that changes each feature of the result by itself: expression().
template <class F>
concept pointwise_finish = finish<F> && requires(F const& f) {
    { f.expression() } -> expression;
};

/// A pointwise finish that adds rows which lie as those of the queries do: q_idx and batch in its expression are places
/// in the arrays of a call, whatever sequences these hold.
template <class F>
concept row_adding_finish = pointwise_finish<F> && requires { requires F::adds_rows; };

/// A finish that adds the source of the queries.
template <class F>
concept residual_finish = finish<F> && requires { requires F::adds_source; };

template <class F>
inline constexpr bool is_known_finish =
    concatenating_finish<F> || averaging_finish<F> || linear_finish<F> || pointwise_finish<F> || residual_finish<F>;

namespace detail {
/// The sentence for a finish that is none of these.
template <class F>
constexpr bool is_sound_kind_of_finish() {
    static_assert(is_known_finish<F>,
                  "fovea: this is not a finish: give it linear(), expression(), averages_heads, concatenates_heads or "
                  "adds_source");
    return is_known_finish<F>;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
