// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One attention over the processes of an MPI communicator, each with positions of its own.
#pragma once

#include <fovea/interop/mpi/explain.hpp>
#include <fovea/interop/mpi/run.hpp>

namespace fovea::FOVEA_SET {

/// attend: the attention of a specification over the ranks of a communicator; see mpi::ranks.
template <class Arch, executor Executor, class Queries, class Keys, attention_spec A, class... Arguments>
void attend_on(Executor const& executor, workspace& scratch, mpi::ranks_t<Queries, Keys> const& ranks, A const& a,
               Arguments&&... arguments) {
    if constexpr (detail::is_call<Arguments...>()) {
        mpi::detail::attention_over<A> const of{a};
        using call_type = decltype(bind_call(of, arguments...));
        if constexpr (!is_ill_formed<call_type>) {
            if constexpr (mpi::detail::goes_over_ranks<A, call_type>()) {
                decltype(auto) runner = driver::runner_of(executor);
                mpi::detail::require_mpi(runner.workers() > 1);
                MPI_Comm comm = mpi::detail::own_communicator::of(ranks.comm);
                std::optional<call_type> call;
                std::optional<workspace::call> alone;
                mpi::detail::on_all(comm, [&] {
                    call.emplace(bind_call(of, arguments...));
                    alone.emplace(scratch);
                    scratch.prepare(runner.workers());
                });
                mpi::detail::run_over_ranks<Arch>(runner, scratch, comm, ranks, a, *call);
            }
        }
    }
}

}  // namespace fovea::FOVEA_SET
