// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The online pass over keys that come chunk by chunk: the softmax state of rows is carried from one to the next, in the
// order of the chunks.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/key_lanes_scores.hpp>
#include <fovea/driver/dense/key_lanes_sums.hpp>
#include <fovea/driver/dense/pass/online.hpp>
#include <fovea/driver/dense/query_lanes_scores.hpp>
#include <fovea/driver/dense/query_lanes_sums.hpp>
#include <fovea/parts/part_of_call.hpp>

#include <algorithm>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::driver {

/// The online-softmax state (m, l, O) of some tiles of rows.
template <class T>
struct carried_tiles {
    T* sums = nullptr;       // (tiles, rows of a tile, value width)
    char* states = nullptr;  // (tiles, bytes of the states of a tile)
    bool* empty = nullptr;   // (tiles), as in online_state
    bool begins = false;     // nothing is carried yet
    bool ends = false;       // no keys follow
};

/// The pass of driver/dense/pass/online.hpp, which begins with what it has carried and leaves it where it was.
template <class Blocking>
class carried_online : public online<Blocking> {
    using base = online<Blocking>;
    using T = typename Blocking::number;

public:
    using call_type = typename base::call_type;

    struct partial_sums {
        carried_tiles<T> at;

        static constexpr bool empty() { return true; }  // finish() says itself whether keys follow
        partial_sums tile(index_t t, call_type const& call) const {
            auto of = at;
            of.sums += t * sums_of_tile(call);
            of.states += t * state_bytes(call);
            of.empty += t;
            return {of};
        }
    };

    static index_t sums_of_tile(call_type const& call) { return Blocking::rows * call.value_width(); }
    static index_t state_bytes(call_type const& call) { return Blocking::states * call.sums.state_bytes; }

    carried_online(arena& memory, call_type const& call, partial_sums const& partial)
        : base(memory, call, {partial.at.sums, partial.at.states, call.sums.state_bytes}), at_(partial.at) {}

    void begin(call_type const& call, head_group heads, index_t first, index_t count) {
        if (at_.begins) base::begin(call, heads, first, count);
        else base::resume(call, heads, first, count, *at_.empty);
    }
    void finish(call_type const& call, typename base::head_blocks const& keys, typename base::scratch const& buffers) {
        *at_.empty = base::empty();
        if (at_.ends) base::finish(call, keys, buffers);
    }

private:
    carried_tiles<T> at_;
};

/// The rows of one call whose keys come piece by piece: how they are computed, and what is carried for them in memory
/// that the workers share.
///
/// The plan is that of a call with as many keys as the longest piece has, whatever each of them has.
template <class T>
class carried_rows {
public:
    carried_rows() = default;
    explicit carried_rows(plan::call_plan const& how) : how_(how) {}

    /// The next piece of keys, as the operands have them; with the last one, or after it with none, rows are finished.
    template <class Call, class Executor>
    void take(Executor const& executor, workspace& scratch, typename Call::spec const& spec,
              typename Call::operands const& operands, bool ends) {
        using plan::traversal;
        decltype(auto) inside = in_tile_configurations_of<Call>(executor);
        if constexpr (Call::takes(traversal::query_lanes))
            if (how_.by == traversal::query_lanes) {
                using lanes = query_lanes_of<Call>;
                return take_in<lanes>(inside, scratch, context_of<Call, lanes>(how_, spec, operands), ends);
            }
        using lanes = key_lanes_of<Call>;
        take_in<lanes>(inside, scratch, context_of<Call, lanes>(how_, spec, operands), ends);
    }

private:
    template <class Blocking, class Executor>
    void take_in(Executor const& executor, workspace& scratch, attention_call<Blocking> const& call, bool ends) {
        using pass = carried_online<Blocking>;
        index_t const blocks = ceil_div(call.rows, Blocking::block_rows), tiles = Blocking::block_rows / Blocking::rows;
        index_t const tasks = call.batches * call.head_groups * blocks;
        bool const begins = sums_ == nullptr;
        if (begins) allocate(scratch.shared(), tasks * tiles, pass::sums_of_tile(call), pass::state_bytes(call));
        dense_loop<pass> const loop(call);
        executor.run(tasks, [&](index_t task, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            auto const of_tile =
                typename pass::partial_sums{{sums_, states_, empty_, begins, ends}}.tile(task * tiles, call);
            index_t const heads = task / blocks, block = task % blocks;
            loop.run_heads(memory, {heads, heads + 1}, {block, block + 1}, {0, loop.key_blocks()}, of_tile);
        });
    }

    void allocate(arena& memory, index_t tiles, index_t sums, index_t state_bytes) {
        states_ = memory.template take<char>(tiles * state_bytes);
        empty_ = memory.template take<bool>(tiles);
        sums_ = memory.template take<T>(tiles * sums);
    }

    plan::call_plan how_{};
    T* sums_ = nullptr;
    char* states_ = nullptr;
    bool* empty_ = nullptr;
};

/// The attention of some queries of a sequence, run by run. Pieces of keys are taken in the order in which they come,
/// so results have the same bits wherever runs and pieces are cut alike.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class Out, class... Asked>
class chunked_attention : part_of_call<T, Arch, A, Q, K, V, Out, Asked...> {
    using base = part_of_call<T, Arch, A, Q, K, V, Out, Asked...>;
    using typename base::operands_type;
    using typename base::outputs_type;
    using typename base::part_spec;

public:
    using call = plan::call_of<T, Arch, part_spec, operands_type>;

    /// `whole` has the extents of the sequence, `runs` those of its queries that `query` and `out` hold; no piece has
    /// more than `longest` keys.
    chunked_attention(A const& a, operand_shapes const& whole, view<Q const, 4> const& query, view<Out, 4> const& out,
                      std::tuple<Asked...> const& asked, std::vector<position_run> const& runs, index_t longest)
        : base(a, whole), out_(out), outputs_(this->bind_outputs(query, asked)) {
        for (auto const& run : runs) {
            auto const rows = rows_at(query, run);
            rows_.push_back(
                {run, rows, rows_at(out, run), this->outputs_of(run, outputs_),
                 carried_rows<T>(plan::make_plan<T, Arch, part_spec, operands_type>(this->sizes_of(rows, longest)))});
        }
    }

    /// The next piece of keys and values; `first` is the position of the first of them.
    template <class Executor>
    void take(Executor const& executor, workspace& scratch, index_t first, view<K const, 4> const& key,
              view<V const, 4> const& value) {
        if (key.extent(2) == 0) return;
        for (auto& rows : rows_)
            if (this->sees(rows.run, {first, key.extent(2)})) run(executor, scratch, rows, first, key, value, false);
    }

    /// After the last piece: results are written.
    template <class Executor>
    void finish(Executor const& executor, workspace& scratch) {
        for (auto& rows : rows_) run(executor, scratch, rows, 0, this->no_keys(), this->no_values(), true);
        finish_outputs<T, A>(executor, outputs_, out_);
    }

private:
    struct run_rows {
        position_run run;
        view<Q const, 4> query;
        view<Out, 4> out;
        outputs_type outputs;
        carried_rows<T> carried;
    };

    template <class Executor>
    void run(Executor const& executor, workspace& scratch, run_rows& rows, index_t first, view<K const, 4> const& key,
             view<V const, 4> const& value, bool ends) {
        zeros_for_tables const zeros{scratch.shared(), this->whole().compared()};
        auto const spec = this->spec_of(rows.run.first, first, zeros);
        rows.carried.template take<call>(executor, scratch, spec,
                                         this->operands_of(rows.query, key, value, rows.out, rows.outputs), ends);
    }

    view<Out, 4> out_;
    outputs_type outputs_;
    std::vector<run_rows> rows_;
};

}  // namespace fovea::FOVEA_SET::driver
