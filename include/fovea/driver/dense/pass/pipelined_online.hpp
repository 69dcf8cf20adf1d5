// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention with an online normalizer where products have a unit of their own, which works beside the vectors.
#pragma once

#include <fovea/driver/dense/pass/online.hpp>
#include <fovea/driver/dense/pass/score_steps.hpp>

#include <utility>

namespace fovea::FOVEA_SET::driver {

/// Scores are multiplied while those of the tile before become weights. So a tile waits, with its scores, for the next
/// one; the last one of a block of keys is drained. Every tile takes its keys in the order that it has otherwise.
template <plan::pipelined Shape>
class pipelined_online : public online<Shape> {
    using base = online<Shape>;
    using typename base::scores;

public:
    using base::base;
    using typename base::call_type;
    using typename base::head_blocks;

    /// The scores of two tiles, and which of them wait.
    struct scratch {
        typename base::scratch rooms[2];
        int free = 0;
        pipelined_online* tile = nullptr;  // that waits
        scores waiting{};

        scratch(arena& memory, call_type const& call, index_t blocks)
            : rooms{{memory, call, blocks}, {memory, call, blocks}} {}
    };

    void take(call_type const& call, block_mask<Shape> const& mask, head_blocks& from, key_run<Shape> const& at,
              scratch& room) {
        auto const mine = base::score(call, mask, from, at, room.rooms[room.free], [&](score_block<Shape> const& s) {
            if (room.tile == nullptr) return index_t{0};
            score_steps<Shape> steps(call, this->rows(), from.keys, at, s, from.next);
            room.waiting.s.beside = &steps;
            drain(call, from, room);
            return steps.multiplied();
        });
        room.tile = this;
        room.waiting = mine;
        room.free = 1 - room.free;
    }
    /// Adds what waits.
    static void drain(call_type const& call, head_blocks& from, scratch& room) {
        if (auto* const tile = std::exchange(room.tile, nullptr)) tile->add(call, from, room.waiting);
    }
};

/// The pass of an arrangement.
template <class Shape>
struct online_of {
    using type = online<Shape>;
};
template <plan::pipelined Shape>
struct online_of<Shape> {
    using type = pipelined_online<Shape>;
};

}  // namespace fovea::FOVEA_SET::driver
