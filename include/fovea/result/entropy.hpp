// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/outputs.hpp>

#include <cmath>

namespace fovea::FOVEA_SET {

template <class T>
struct bound_entropy {
    view<T, 3> target;

    template <class Row>
    void weights(row_place const& at, Row const& row) const {
        typename Row::value_type sum = 0;
        for (index_t i = 0; i < row.size(); ++i)
            if (!(row[i] <= 0)) sum -= row[i] * std::log(row[i]);  // a NaN too
        target(at.batch, at.head, at.query) = rounded_to<T>(sum);
    }
};

template <class T, int Rank>
struct entropy_output {
    using output_tag = void;
    static constexpr std::string_view name = "entropy";
    view<T, Rank> target;
    bound_entropy<T> bind(operand_shapes const& shapes) const { return {rows_of_call("entropy is", target, shapes)}; }
};

/// entropy: asks how spread out the weights of each query are, in nats.
///
///     H_i = -sum_j w_ij log w_ij
///
/// Shapes: the target is (batch, head, query); batch and head may be omitted if they are one.
/// Cost: a logarithm for each pair; the scores of a few queries over all keys are kept.
/// Edge cases: 0 for a query that sees no key, and if one key has all the weight; log(keys) if all weights are equal.
/// Weights that are not positive add nothing; a NaN weight makes the entropy NaN.
/// Errors: shape_error where the target does not fit the call; nothing is written then.
/// Source: Shannon 1948, section 6.
template <class Target>
constexpr auto entropy(Target&& target) {
    return detail::output_to<entropy_output>(std::forward<Target>(target));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed entropy(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
