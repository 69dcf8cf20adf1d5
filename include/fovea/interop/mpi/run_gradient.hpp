// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call of gradient over ranks: what can be wrong with it, and what computes it.
#pragma once

#include <fovea/interop/mpi/differentiate_layer.hpp>

#include <optional>

namespace fovea::FOVEA_SET::mpi::detail {

/// What can be wrong with what a call of gradient reads on one rank, whatever the others have.
template <attention_spec A, class Call, class D, class States>
void check_gradient_call(attention_over<A> const& of, bound_gradient<Call, D, States>& bound) {
    auto& call = bound.call;
    check_read(static_cast<A const&>(of), call);
    fovea::detail::require_sound(fovea::detail::region_of(bound.d_result, fovea::detail::gradient_of_result));
    call.shapes = projected_shapes(of, call.query.extents, call.key.extents, call.value.extents);
}

/// The sentences for gradients that are not computed over ranks.
template <class A, class Call>
constexpr bool has_gradient_over_ranks() {
    using on_heads = decltype(driver::attention_on_heads(std::declval<A const&>()));
    constexpr bool dense = plan::is_dense<A>;
    constexpr bool views = requires(Call const& call) {
        call.key.data;
        call.value.data;
    };
    constexpr bool by_pieces = !dense || driver::has_piecewise_gradient<typename Call::number, on_heads>();
    static_assert(dense,
                  "fovea: over ranks there are gradients of keys that travel piece by piece: not those of a mask that "
                  "lists keys, or of a running state");
    static_assert(views,
                  "fovea: over ranks there are gradients of keys and values that are views: not in pages, or scaled by "
                  "blocks");
    static_assert(by_pieces,
                  "fovea: over ranks there are gradients of softmax, with a sink or without, and of weights that go by "
                  "key, such as unnormalized: other normalizers need whole rows of scores");
    return dense && views && by_pieces && merges_values<A>();
}

/// A call of gradient without projections and finishes, whose arrays are right on each rank. Collective.
template <class T, class Arch, class Executor, attention_spec A, class Bound, class Sums>
void differentiate_over_ranks(Executor const& executor, workspace& scratch, whole_sequence const& whole, A const& a,
                              Bound const& bound, traffic* counts, Sums& sums) {
    auto const& call = bound.call;
    forward_rows<T> forward;
    if constexpr (driver::recomputes_weights<T, A>())
        forward =
            forward_of<T, Arch>(executor, scratch, whole, a, call.query, call.key, call.value, bound.saved, counts);
    auto const d = differentiate_heads<T, Arch>(executor, scratch, whole, a, call.query, call.key, call.value,
                                                bound.d_result, forward, counts, sums);
    sums.rows.add_lasting_rows(call.query, d.query.data);
    sums.rows.add_lasting_rows(call.key, d.key.data);
    sums.rows.add_lasting_rows(call.value, d.value.data);
}

/// A call of gradient whose arrays are right on each rank. Collective.
template <class Arch, class Executor, class Ranks, attention_spec A, class Bound, class... Asked>
void run_gradient_over_ranks(Executor const& executor, workspace& scratch, MPI_Comm comm, Ranks const& ranks,
                             A const& a, Bound const& bound, Asked const&... asked) {
    using T = typename Bound::call_type::number;
    std::optional<asked_sums<T, Asked...>> sums;
    auto const whole = gather_gradient<T>(comm, ranks, a, bound, sums, asked...);
    if constexpr (works_on_heads<A>)
        differentiate_over_ranks<T, Arch>(executor, scratch, whole, a, bound, ranks.counts, *sums);
    else differentiate_layer_over_ranks<T, Arch>(executor, scratch, whole, a, bound, ranks.counts, *sums);
    sums->add_up(comm);
    on_all(comm, [&] { sums->write(); });
}

}  // namespace fovea::FOVEA_SET::mpi::detail
