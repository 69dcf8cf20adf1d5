// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/outputs.hpp>

#include <concepts>

namespace fovea::FOVEA_SET {

template <std::integral T>
struct bound_best_key {
    view<T, 3> target;

    template <class Row>
    void scores(row_place const& at, Row const& row) const {
        target(at.batch, at.head, at.query) = static_cast<T>(row.first_max().key);
    }
};

template <std::integral T, int Rank>
struct best_key_output {
    using output_tag = void;
    static constexpr std::string_view name = "best_key";
    view<T, Rank> target;
    bound_best_key<T> bind(operand_shapes const& shapes) const { return {rows_of_call("best_key is", target, shapes)}; }
};

/// best_key: asks for the position of the key with the largest score for each query.
///
///     b_i = the first j with s_ij = max_k s_ik
///
/// Shapes: the target holds integers and is (batch, head, query); batch and head may be omitted if they are one.
/// Cost: one more read of each score; the scores of a few queries over all keys are kept.
/// Edge cases: ties go to the lowest position; -1 for a query that sees no key.
/// Errors: shape_error where the target does not fit the call; nothing is written then. At compile time, unless it
/// holds integers.
template <class Target>
constexpr auto best_key(Target&& target) {
    auto const v = detail::target_of<true>(std::forward<Target>(target));
    using element = std::remove_pointer_t<decltype(v.data)>;
    constexpr bool integers = std::integral<element>;
    static_assert(integers, "fovea: best_key writes positions: pass a view of integers");
    if constexpr (integers) return best_key_output<element, decltype(v)::rank>{v};
    else return best_key_output<index_t, decltype(v)::rank>{};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed best_key(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
