// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/outputs.hpp>
#include <fovea/spec/shapes.hpp>

#include <string_view>

namespace fovea::FOVEA_SET {

template <class T, int Rank>
struct d_lse_input {
    using output_tag = void;
    using d_lse_tag = void;
    using element = T;
    static constexpr std::string_view name = "d_lse";
    view<T const, Rank> target;

    struct bound {
        view<T, Rank> target;
    };
    /// An output to attend, which has no use for it.
    template <class Shapes>
    bound bind(Shapes const&) const {
        static_assert(never<Shapes>, "fovea: d_lse(...) is given to gradient, which takes the gradient of the result");
        return {};
    }
    view<T const, 3> rows(operand_shapes const& shapes) const { return rows_of_call("d_lse is", target, shapes); }
};

/// d_lse: the gradient of the log-sum-exp, for losses that read `lse`, such as the z-loss and merged parts.
///
///     ds_ij = w_ij (dw_ij - sum_j w_ij dw_ij + dlse_i)
///     gradient(spec, q, k, v, d_out, d_lse(d_sums), grad(q, d_q))
///
/// Shapes: those of lse, (batch, head, query); its elements are numbers of the type that the call computes in.
/// Cost: one number for each query; over listed keys the gradient is computed as it is defined.
/// Edge cases: without it, zeros. A query that sees no key has no gradient, whatever stands here.
/// Errors: shape_error where it does not fit the call, or a target of grad overlaps it. At compile time for normalizers
/// other than softmax and its relatives, with a reweighting after them, over ranks, and where it is given to attend.
template <class Numbers>
constexpr auto d_lse(Numbers&& numbers) {
    auto const v = detail::target_of(std::forward<Numbers>(numbers));
    return d_lse_input<typename decltype(v)::value_type, decltype(v)::rank>{v};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed d_lse(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
