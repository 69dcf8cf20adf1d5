// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One attention over the processes of an MPI communicator, each with positions of its own.
#pragma once

#include <fovea/interop/mpi/explain.hpp>
#include <fovea/interop/mpi/ragged.hpp>
#include <fovea/interop/mpi/run.hpp>

#include <optional>
#include <utility>

namespace fovea::FOVEA_SET::mpi::detail {
/// attend over ranks, within one sequence or within those of a ragged batch.
template <class Arch, executor Executor, class Queries, class Keys, class Within, attention_spec A, class... Arguments>
void attend_over(Executor const& executor, workspace& scratch, ranks_t<Queries, Keys> const& ranks,
                 Within const& within, A const& a, Arguments&&... arguments) {
    if constexpr (fovea::detail::is_call<Arguments...>()) {
        attention_over<A> const of{a};
        using call_type = decltype(bind_call(of, arguments...));
        if constexpr (!is_ill_formed<call_type>) {
            if constexpr (goes_over_ranks<A, call_type>()) {
                decltype(auto) runner = driver::runner_of(executor);
                require_mpi(runner.workers() > 1);
                MPI_Comm comm = own_communicator::of(ranks.comm);
                std::optional<call_type> call;
                std::optional<workspace::call> alone;
                on_all_ranks(comm, [&] {
                    call.emplace(bind_call(of, arguments...));
                    alone.emplace(scratch);
                    scratch.prepare(runner.workers());
                });
                run_over_ranks<Arch>(runner, scratch, comm, ranks, within, a, *call);
            }
        }
    }
}

}  // namespace fovea::FOVEA_SET::mpi::detail

namespace fovea::FOVEA_SET {

/// attend: the attention of a specification over the ranks of a communicator; see mpi::ranks.
template <class Arch, executor Executor, class Queries, class Keys, attention_spec A, class... Arguments>
void attend_on(Executor const& executor, workspace& scratch, mpi::ranks_t<Queries, Keys> const& ranks, A const& a,
               Arguments&&... arguments) {
    mpi::detail::attend_over<Arch>(executor, scratch, ranks, mpi::detail::one_sequence{}, a,
                                   std::forward<Arguments>(arguments)...);
}

/// attend: the same within each sequence of a ragged batch, whose offsets are those of all positions, on all ranks.
template <class Arch, executor Executor, class Queries, class Keys, class Index, attention_spec A, class... Arguments>
void attend_on(Executor const& executor, workspace& scratch, mpi::ranks_t<Queries, Keys> const& ranks,
               ragged_t<Index> const& all, A const& a, Arguments&&... arguments) {
    if constexpr (mpi::detail::is_sound_ragged<A, Arguments...>())
        mpi::detail::attend_over<Arch>(executor, scratch, ranks, mpi::detail::ragged_sequences<Index>{all}, a,
                                       std::forward<Arguments>(arguments)...);
}

}  // namespace fovea::FOVEA_SET
