// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/spec/saved_rows.hpp>

namespace fovea::FOVEA_SET {

template <class T>
struct bound_save {
    view<T, 3> target, sums;
    saved_rows<T>* state;

    void row_state(row_place const& at, auto max, auto sum) const {
        target(at.batch, at.head, at.query) = static_cast<T>(max);
        sums(at.batch, at.head, at.query) = static_cast<T>(sum);
    }
    template <class Out>
    void finish(view<Out, 4> const& result) const {
        state->finish(result);
    }
};

template <class T>
struct save_output {
    using output_tag = void;
    static constexpr std::string_view name = "save";
    saved_rows<T>* state;

    bound_save<T> bind(operand_shapes const& shapes) const {
        state->begin(shapes);
        return {state->maxima(), state->sums(), state};
    }
};

/// save: asks a call to leave in `state` what its gradient needs, so that it does not compute that again.
///
///     attend(spec, q, k, v, out, save(state))   gradient(spec, q, k, v, d_out, state, grad(q, d_q))
///
/// Shapes: `state` is a saved_rows<T> of the type of the arithmetic; it takes the shapes of the call. Two calls belong
/// together: same specification, same operands.
/// Cost: two numbers for each query and a copy of the result; nothing is allocated for the shapes of the last call.
/// Edge cases: a normalizer other than softmax, and results with fewer bits than the arithmetic, leave nothing; the
/// gradient then computes it again. saved_rows::complete() tells.
/// Errors: shape_error from gradient where the state is that of a call of other shapes.
/// Source: FlashAttention-2 (Dao, 2023), section 3.1.
template <class T>
save_output<T> save(saved_rows<T>& state) {
    return {&state};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed save(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET
