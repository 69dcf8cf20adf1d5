// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The running states of a sequence whose positions come run by run: a state stays where it is from one run to the next,
// in the order of the positions, so that results have the same bits wherever runs are cut.
#pragma once

#include <fovea/driver/recurrent/recurrent.hpp>
#include <fovea/parts/part_of_call.hpp>
#include <fovea/plan/traversal.hpp>
#include <fovea/spec/call/check_call.hpp>
#include <fovea/spec/part/of_part.hpp>

#include <algorithm>
#include <tuple>

namespace fovea::FOVEA_SET::driver {

/// Where a state is read before a run of positions, and written after it.
template <class T>
struct state_before {
    using past_state_tag = void;
    view<T, 4> target;
};
template <class T>
struct state_after {
    using present_state_tag = void;
    view<T, 4> target;
};

/// The states of all heads, numbered through all batch elements, and the runs of positions that change them or read
/// them. `query`, `key`, `value` and `out` have some positions of the sequence, whose extents are `whole`.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class Out>
class recurrent_states {
    using outputs_type = std::tuple<state_before<T>, state_after<T>>;
    using operands_type = operands<Q, view<K const, 4>, view<V const, 4>, Out, outputs_type>;
    using spec_type = decltype(of_steps(std::declval<A const&>(), part_place{}, position_run{}, index_t{}));

public:
    using call = plan::call_of<T, Arch, spec_type, operands_type>;

    recurrent_states(A const& a, operand_shapes const& whole, view<Q const, 4> const& query,
                     view<K const, 4> const& key, view<V const, 4> const& value, view<Out, 4> const& out, arena& memory)
        : attention_(a), whole_(whole), query_(query), key_(key), value_(value), out_(out) {
        auto const extents = state_extents(a, whole);
        state_ = {memory.template take<T>(view<T, 4>(nullptr, extents).size()), extents};
        std::fill_n(state_.data, state_.size(), T{0});
    }

    index_t heads() const { return state_.extent(0) * state_.extent(1); }
    view<T, 4> const& states() const { return state_; }
    /// The state of one head, and its bytes.
    T* of_head(index_t head) const { return state_.data + head * state_.extent(2) * state_.extent(3); }
    index_t bytes() const { return state_.extent(2) * state_.extent(3) * static_cast<index_t>(sizeof(T)); }

    /// The states of some heads take in the keys of a run; under a causal mask the queries of the run read them.
    template <class Executor>
    void take(Executor const& executor, workspace& scratch, position_run const& run, index_range heads) const {
        auto const queries = call::causal ? run : position_run{};
        advance(executor, scratch, {run.first, run.first, whole_.queries(), whole_.keys()}, queries, run, heads);
    }
    /// The queries of a run read the states.
    template <class Executor>
    void read(Executor const& executor, workspace& scratch, position_run const& run) const {
        advance(executor, scratch, {run.first, 0, whole_.queries(), whole_.keys()}, run, {}, {0, heads()});
    }

private:
    template <class Executor>
    void advance(Executor const& executor, workspace& scratch, part_place const& at, position_run const& queries,
                 position_run const& keys, index_range heads) const {
        auto const spec = of_steps(attention_, at, keys, key_.extent(2));
        operands_type const operands{rows_at(query_, queries),
                                     rows_at(key_, keys),
                                     rows_at(value_, keys),
                                     rows_at(out_, queries),
                                     {{state_}, {state_}}};
        auto const how = plan::make_plan<T, Arch, spec_type, operands_type>(operands.sizes());
        recurrent_loop<call>(how, spec, operands).run(executor, scratch, heads);
    }

    A const& attention_;
    operand_shapes whole_;
    view<Q const, 4> query_;
    view<K const, 4> key_;
    view<V const, 4> value_;
    view<Out, 4> out_;
    view<T, 4> state_;  // (batch, key head, feature of the key, feature of the value)
};

}  // namespace fovea::FOVEA_SET::driver
