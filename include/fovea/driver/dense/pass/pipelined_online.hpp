// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The online pass on a matrix unit: products of scores in steps beside the arithmetic of weights.
#pragma once

#include <fovea/driver/dense/pass/online.hpp>
#include <fovea/driver/dense/query_lanes_products.hpp>
#include <fovea/kernel/score_packs.hpp>

#include <utility>

namespace fovea::FOVEA_SET::driver {

/// The products of the first piece of a block of scores, as many keys at each step as are multiplied at once. Steps go
/// from one run of keys to the next, and end where fewer keys of a run are left.
template <plan::pipelined Blocking>
class score_steps : public kernel::interleaved_steps {
    using products = query_lanes_products<Blocking>;
    using product = typename products::product;
    using call_type = typename products::call;
    using block = score_block<Blocking>;

public:
    score_steps(call_type const& call, tile_rows<Blocking> const& rows, head_keys<Blocking> const& keys,
                key_run<Blocking> const& at, block const& scores, next_lines& next)
        : interleaved_steps{&take}, call_(call), rows_(rows), keys_(keys), next_(next) {
        if (call.summed.product.count == 0 || scores.pieces->size() == 0) return;
        vectors_ = scores.pieces->begin()->vectors;
        piece_ = products::piece_of(scores, at, scores.pieces->begin()->granules);
    }

    /// The keys of the piece whose products are there.
    index_t multiplied() const { return run_ + multiplied_; }

private:
    static void take(interleaved_steps& steps) { static_cast<score_steps&>(steps).take(); }
    void take() {
        if (multiplied_ == operands_.sums.element_count) {  // of the last run
            run_ += std::exchange(multiplied_, 0);
            operands_.sums.element_count = 0;  // and none is left once all runs are multiplied
            if (run_ == piece_.count) return;
            operands_ = products::operands_at(call_, rows_, keys_, piece_, vectors_, run_, false);
        }
        if (multiplied_ + product::keys_per_step > operands_.sums.element_count) return;
        product::multiply_keys(operands_.keys, operands_.sums, multiplied_, next_.keys);
        multiplied_ += product::keys_per_step;
    }

    call_type const& call_;
    tile_rows<Blocking> const& rows_;
    head_keys<Blocking> const& keys_;
    next_lines& next_;
    block piece_{};
    vector_run vectors_{};
    typename products::operands operands_{};
    index_t run_ = 0, multiplied_ = 0;  // the first key of a run, and how many of it are multiplied
};

/// Scores are multiplied while those of the tile before become weights. So a tile waits, with its scores, for the next
/// one; the last one of a block of keys is drained. Every tile takes its keys in the order that it has otherwise.
template <plan::pipelined Blocking>
class pipelined_online : public online<Blocking> {
    using base = online<Blocking>;
    using typename base::scores;

public:
    using base::base;
    using typename base::call_type;
    using typename base::head_blocks;

    /// The scores of two tiles, and which of them wait.
    struct scratch {
        typename base::scratch tiles[2];
        int free = 0;
        pipelined_online* tile = nullptr;  // that waits
        scores waiting{};

        scratch(arena& memory, call_type const& call, index_t blocks)
            : tiles{{memory, call, blocks}, {memory, call, blocks}} {}
    };

    void take(call_type const& call, block_mask<Blocking> const& mask, head_blocks& from, key_run<Blocking> const& at,
              scratch& buffers) {
        auto const mine =
            base::score(call, mask, from, at, buffers.tiles[buffers.free], [&](score_block<Blocking> const& s) {
                if (buffers.tile == nullptr) return index_t{0};
                score_steps<Blocking> steps(call, this->rows(), from.keys, at, s, from.next);
                buffers.waiting.s.beside = &steps;
                drain(call, from, buffers);
                return steps.multiplied();
            });
        buffers.tile = this;
        buffers.waiting = mine;
        buffers.free = 1 - buffers.free;
    }
    /// Adds what waits.
    static void drain(call_type const& call, head_blocks& from, scratch& buffers) {
        if (auto* const tile = std::exchange(buffers.tile, nullptr)) tile->add(call, from, buffers.waiting);
    }
};

/// The pass of a blocking.
template <class Blocking>
struct online_of {
    using type = online<Blocking>;
};
template <plan::pipelined Blocking>
struct online_of<Blocking> {
    using type = pipelined_online<Blocking>;
};

}  // namespace fovea::FOVEA_SET::driver
