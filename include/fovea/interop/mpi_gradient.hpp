// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients over the processes of an MPI communicator, each with positions of its own.
#pragma once

#include <fovea/gradient.hpp>
#include <fovea/interop/mpi.hpp>
#include <fovea/interop/mpi/explain_gradient.hpp>
#include <fovea/interop/mpi/run_gradient.hpp>

namespace fovea::FOVEA_SET {

/// gradient: the gradients of a call of attend over the ranks of a communicator; see mpi::ranks.
template <class Arch, executor Executor, class Queries, class Keys, attention_spec A, class... Arguments>
void gradient_on(Executor const& executor, workspace& scratch, mpi::ranks_t<Queries, Keys> const& ranks, A const& a,
                 Arguments&&... arguments) {
    if constexpr (detail::is_call<Arguments...>()) {
        mpi::detail::attention_over<A> const of{a};
        using bound_type = decltype(bind_gradient(of, arguments...));
        if constexpr (!is_ill_formed<bound_type>) {
            using call_type = typename bound_type::call_type;
            if constexpr (mpi::detail::goes_over_ranks<A, call_type>()) {
                constexpr bool plain = !((detail::gradient_of_lse<std::remove_cvref_t<Arguments>>
                                          || gradient_of_weights<std::remove_cvref_t<Arguments>>)
                                         || ...);
                static_assert(plain, "fovea: over ranks gradient takes no d_lse, d_weights or d_entropy");
                if constexpr (plain && mpi::detail::has_gradient_over_ranks<A, call_type>()) {
                    decltype(auto) runner = driver::runner_of(executor);
                    mpi::detail::require_mpi(runner.workers() > 1);
                    MPI_Comm comm = mpi::detail::own_communicator::of(ranks.comm);
                    std::optional<bound_type> bound;
                    std::optional<workspace::call> alone;
                    mpi::detail::on_all(comm, [&] {
                        bound.emplace(bind_gradient(of, arguments...));
                        alone.emplace(scratch);
                        scratch.prepare(runner.workers());
                        scratch.prepare_nested(1);
                    });
                    std::apply(
                        [&](auto const&... asked) {
                            mpi::detail::run_gradient_over_ranks<Arch>(runner, scratch, comm, ranks, a, *bound,
                                                                       asked...);
                        },
                        detail::gradients_among(arguments...));
                }
            }
        }
    }
}

template <class Arch, executor Executor, class Queries, class Keys, class Index, class... Arguments>
void gradient_on(Executor const&, workspace&, mpi::ranks_t<Queries, Keys> const&, ragged_t<Index> const&,
                 Arguments&&...) {
    static_assert(never<Index>,
                  "fovea: over ranks there are gradients of one sequence: ask for those of a ragged batch sequence by "
                  "sequence");
}

}  // namespace fovea::FOVEA_SET
