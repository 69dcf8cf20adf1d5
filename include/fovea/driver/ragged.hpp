// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entry points for ragged batches: sequences packed one after another.
#pragma once

#include <fovea/driver/attend.hpp>
#include <fovea/spec/part/ragged.hpp>

namespace fovea::FOVEA_SET {

/// attend: the attention of a specification within each sequence of a ragged batch; see ragged.
///
/// Each sequence is a call of its own: side by side where there are enough of them, otherwise one after the other with
/// all workers on each.
template <class Arch, executor Executor, class Index, attention_spec A, class... Arguments>
void attend_on(Executor const& executor, workspace& scratch, ragged_t<Index> const& all, A const& a,
               Arguments&&... arguments) {
    if constexpr (detail::is_call<Arguments...>()) {
        auto const call = bind_call(detail::ragged_attention<Index, A>{a, all}, arguments...);
        if constexpr (!is_ill_formed<decltype(call)>) {
            detail::begin_sequences(call);
            auto const run = [&](auto const& workers, workspace& memory, index_t i) {
                auto const one = of_sequence(a, all[i]);
                driver::run_call<Arch>(workers, memory, one, detail::call_of_sequence(one, call, call.asked, all[i]));
            };
            decltype(auto) runner = driver::runner_of(executor);
            if (runner.workers() > 1 && all.sequences() >= runner.workers()) {
                workspace::call const alone(scratch);
                scratch.prepare_nested(runner.workers());
                runner.run(all.sequences(), [&](index_t i, index_t worker) { run(serial, scratch.nested(worker), i); });
            } else {
                for (index_t i = 0; i < all.sequences(); ++i) run(runner, scratch, i);
            }
        }
    }
}

}  // namespace fovea::FOVEA_SET
