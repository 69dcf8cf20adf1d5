// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/call/arriving_gradients.hpp>
#include <fovea/spec/result_shapes.hpp>

#include <string_view>

namespace fovea::FOVEA_SET {

template <class T, int Rank>
struct d_entropy_input : arriving_input<T, Rank> {
    static constexpr std::string_view name = "d_entropy";
    void add_to(arriving_gradients<T>& all, operand_shapes const& shapes) const {
        all.d_entropy = rows_of_call("d_entropy is", this->target, shapes);
    }
};

/// d_entropy: the gradient of the entropy of the weights, for losses that keep attention spread out or sharp.
///
///     g_ij = sum_c dout_ic v_jc - dh_i (log w_ij + 1)     (the gradient of w_ij)
///     gradient(spec, q, k, v, d_out, d_entropy(d_h), grad(q, d_q))
///
/// Shapes: those of entropy, (batch, head, query); its elements are numbers of the type that the call computes in.
/// Cost: whole rows of weights are kept, and a logarithm for each pair; over listed keys the gradient is computed as it
/// is defined.
/// Edge cases: without it, zeros. A weight that is 0 gives nothing.
/// Errors: shape_error where it does not fit the call, or a target of grad overlaps it. At compile time with
/// running_state, in a ragged call, over ranks, and where it is given to attend.
template <class Numbers>
constexpr auto d_entropy(Numbers&& numbers) {
    auto const v = detail::target_of(std::forward<Numbers>(numbers));
    return d_entropy_input<typename decltype(v)::value_type, decltype(v)::rank>{{v}};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed d_entropy(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
