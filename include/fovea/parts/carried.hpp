// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The online pass over keys that come piece by piece: what is carried for the rows of a call stays from one piece to
// the next, in the order of the pieces, and rows are finished after the last one.
#pragma once

#include <fovea/driver/call/product_scopes.hpp>
#include <fovea/driver/dense/key_lanes_scores.hpp>
#include <fovea/driver/dense/key_lanes_sums.hpp>
#include <fovea/driver/dense/pass/online.hpp>
#include <fovea/driver/dense/query_lanes_scores.hpp>
#include <fovea/driver/dense/query_lanes_sums.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// What is carried for some tiles of rows.
template <class T>
struct carried_tiles {
    T* sums = nullptr;       // (tiles, rows of a tile, value width)
    char* states = nullptr;  // (tiles, bytes of the states of a tile)
    bool* empty = nullptr;   // (tiles), as in row_sums
    bool begins = false;     // nothing is carried yet
    bool ends = false;       // no keys follow
};

/// The pass of driver/dense/pass/online.hpp, which begins with what it has carried and leaves it where it was.
template <class Shape>
class carried_online : public online<Shape> {
    using base = online<Shape>;
    using T = typename Shape::number;

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

    static index_t sums_of_tile(call_type const& call) { return Shape::rows * call.value_width(); }
    static index_t state_bytes(call_type const& call) { return Shape::states * call.sums.state_bytes; }

    carried_online(arena& memory, call_type const& call, partial_sums const& partial)
        : base(memory, call, {partial.at.sums, partial.at.states, call.sums.state_bytes}), at_(partial.at) {}

    void begin(call_type const& call, head_group heads, index_t first, index_t count) {
        if (at_.begins) base::begin(call, heads, first, count);
        else base::resume(call, heads, first, count, *at_.empty);
    }
    void finish(call_type const& call) {
        *at_.empty = base::empty();
        if (at_.ends) base::finish(call);
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
        decltype(auto) inside = in_scopes_of<Call>(executor);
        if constexpr (Call::takes(traversal::query_lanes))
            if (how_.by == traversal::query_lanes) {
                using lanes = query_lanes_of<Call>;
                return take_in<lanes>(inside, scratch,
                                      context_of<Call, lanes>(how_, spec, operands, query_lanes_scores<Call>::functions,
                                                              query_lanes_sums<Call>::functions),
                                      ends);
            }
        using lanes = key_lanes_of<Call>;
        take_in<lanes>(inside, scratch,
                       context_of<Call, lanes>(how_, spec, operands, key_lanes_scores<Call>::functions,
                                               key_lanes_sums<Call>::functions),
                       ends);
    }

private:
    template <class Shape, class Executor>
    void take_in(Executor const& executor, workspace& scratch, attention_call<Shape> const& call, bool ends) {
        using pass = carried_online<Shape>;
        index_t const blocks = ceil_div(call.rows, Shape::block_rows), tiles = Shape::block_rows / Shape::rows;
        index_t const tasks = call.batches * call.head_groups * blocks;
        bool const begins = sums_ == nullptr;
        if (begins) make_room(scratch.shared(), tasks * tiles, pass::sums_of_tile(call), pass::state_bytes(call));
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

    void make_room(arena& memory, index_t tiles, index_t sums, index_t state_bytes) {
        states_ = memory.template take<char>(tiles * state_bytes);
        empty_ = memory.template take<bool>(tiles);
        sums_ = memory.template take<T>(tiles * sums);
    }

    plan::call_plan how_{};
    T* sums_ = nullptr;
    char* states_ = nullptr;
    bool* empty_ = nullptr;
};

}  // namespace fovea::FOVEA_SET::driver
