// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/dense/row_tile.hpp>

namespace fovea::FOVEA_SET::driver {

/// What the rows of all heads have come to over each part of the keys.
template <class T, class Arch, class Normalizing>
class partial_rows {
public:
    using state = typename Normalizing::state;

    partial_rows(arena& memory, index_t heads, index_t parts, index_t rows, index_t width)
        : parts_(parts),
          rows_(rows),
          width_(width),
          sums_(memory.take<T>(heads * parts * rows * width)),
          states_(memory.take<state>(heads * parts * rows)) {}

    T* sums(index_t head, index_t part) const { return sums_ + (head * parts_ + part) * rows_ * width_; }
    state* states(index_t head, index_t part) const { return states_ + (head * parts_ + part) * rows_; }

    /// Joins the parts of one row, one after the other, in the first.
    template <class Normalizer>
    void join(Normalizer const& normalizer, index_t head, index_t row) const {
        using vector = kernel::pack<T, Arch>;
        T* const sum = sums(head, 0) + row * width_;
        for (index_t p = 1; p < parts_; ++p) {
            auto const [own, others] = Normalizing::merge(normalizer, states(head, 0)[row], states(head, p)[row]);
            T const* const other = sums(head, p) + row * width_;
            for (index_t c = 0; c < width_; c += vector::lanes)
                fma(vector::load(other + c), vector(others), vector::load(sum + c) * vector(own)).store(sum + c);
        }
    }

private:
    index_t parts_, rows_, width_;
    T* sums_;        // (head, part, row, width)
    state* states_;  // (head, part, row)
};

/// Split KV, for few rows: each part of the keys by itself, and then all parts together.
template <class Call, class Executor>
void run_split_keys(dense_context<Call> const& call, Executor const& executor, workspace& scratch) {
    using tile = row_tile<Call>;
    using normalizing = typename Call::normalizing;
    dense_loop<tile> const loop(call);
    auto const& ranges = call.how.parts;
    index_t const heads = call.operands.batches() * call.heads, width = tile::keys::value_width(call.operands);
    partial_rows<typename Call::number, typename Call::architecture, normalizing> const partial(
        scratch.shared(), heads, ranges.count(), round_up(call.rows, tile::shape::rows), width);
    auto const place_of = [&](index_t head) { return head_group{head / call.heads, head % call.heads}; };
    executor.run(heads * ranges.count(), [&](index_t task, index_t worker) {
        auto& memory = scratch.worker(worker);
        memory.clear();
        index_t const head = task / ranges.count(), part = task % ranges.count();
        loop.run_head(memory, place_of(head), {0, 1}, {ranges.first(part), ranges.last(part)},
                      {partial.sums(head, part), partial.states(head, part)});
    });
    executor.run(heads, [&](index_t head, index_t) {
        auto const at = place_of(head);
        for (index_t r = 0; r < call.rows; ++r) {
            auto const row = call.facts(at, r);
            partial.join(call.normalizer(row), head, r);
            auto const& state = partial.states(head, 0)[r];
            tile::finish_row(call, row, state, partial.sums(head, 0) + r * width,
                             [&] { return normalizing::finish(call.normalizer(row), state); });
        }
    });
}

}  // namespace fovea::FOVEA_SET::driver
