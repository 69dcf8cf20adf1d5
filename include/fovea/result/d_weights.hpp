// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/call/arriving_gradients.hpp>
#include <fovea/spec/result_shapes.hpp>

#include <string_view>

namespace fovea::FOVEA_SET {

template <class T, int Rank>
struct d_weights_input : arriving_input<T, Rank> {
    static constexpr std::string_view name = "d_weights";
    void add_to(arriving_gradients<T>& all, operand_shapes const& shapes) const {
        all.d_weights = pairs_of_call("d_weights are", this->target, shapes);
    }
};

/// d_weights: the gradient of the weights, for losses that read them: of alignments, sparsity, distillation.
///
///     ds_ij = w_ij (g_ij - sum_j w_ij g_ij),   g_ij = sum_c dout_ic v_jc + dw_ij     (of softmax)
///     gradient(spec, q, k, v, d_out, d_weights(d_w), grad(q, d_q))
///
/// Shapes: those of weights, (batch, head, query, key); its elements are numbers of the type that the call computes in.
/// Cost: whole rows of weights are kept; over listed keys the gradient is computed as it is defined.
/// Edge cases: without it, zeros. What stands at a pair that takes no part is not looked at.
/// Errors: shape_error where it does not fit the call, or a target of grad overlaps it. At compile time with
/// running_state, in a ragged call, over ranks, and where it is given to attend.
template <class Numbers>
constexpr auto d_weights(Numbers&& numbers) {
    auto const v = detail::target_of(std::forward<Numbers>(numbers));
    return d_weights_input<typename decltype(v)::value_type, decltype(v)::rank>{{v}};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed d_weights(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
