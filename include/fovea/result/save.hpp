// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/call/saved_rows.hpp>

namespace fovea::FOVEA_SET {

/// save: asks a call to leave in `state` what its gradient needs, so that it does not compute that again.
///
///     attend(spec, q, k, v, out, save(state))   gradient(spec, q, k, v, d_out, state, grad(q, d_q))
///
/// Shapes: `state` is a saved_rows<T> of the type of the arithmetic; it takes the shapes of the call. Two calls belong
/// together: same specification, same operands.
/// Cost: two numbers for each query and a copy of the result, with all bits of the arithmetic; nothing is allocated for
/// the shapes of the last call.
/// Edge cases: a normalizer other than softmax, with a sink or without, leaves nothing; the gradient then computes it
/// again. saved_rows::complete() tells. Rows of other operands or parameters, as those before a step of an optimizer,
/// are not noticed, and gradients are wrong. Errors: shape_error from gradient where the state is that of a call of
/// other shapes. Source: FlashAttention-2 (Dao, 2023), section 3.1.
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

#include <fovea/core/epilogue.hpp>
