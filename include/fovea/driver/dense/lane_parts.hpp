// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/block_mask.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Neighbouring vectors of queries of a tile.
struct lane_run {
    index_t first, last;
};

/// The parts of a run of keys that the same vectors of queries see some of.
template <class Shape>
class lane_parts {
    using run = pack_run<Shape>;

public:
    struct part {
        lane_run lanes;
        run packs;
    };

    part const* begin() const { return parts_; }
    part const* end() const { return parts_ + count_; }
    index_t size() const { return count_; }

    /// All vectors see all.
    void take_whole(index_t vectors, run packs) {
        count_ = 0;
        add({0, vectors}, packs);
    }

    /// Cut where a vector sees nothing at the ends of the run; span(v) are the queries of vector v.
    template <class Keys, class Span>
    [[gnu::noinline]] void cut(index_t vectors, block_mask<Shape> const& mask, Keys const& keys,
                               key_part<Shape> const& at, Span const& span) {
        count_ = 0;
        run of[Shape::nv];
        for (index_t v = 0; v < vectors; ++v)
            of[v] = mask.trimmed({span(v), keys.first(at.block), keys.last(at.block)}, at.run, at.mixed);
        for (index_t v = 1; v + 1 < vectors; ++v) {  // vectors that see a pack are neighbours
            auto const &before = of[v - 1], &after = of[v + 1];
            of[v] = {std::min(of[v].first, std::max(before.first, after.first)),
                     std::max(of[v].last, std::min(before.last, after.last))};
        }
        for (index_t from = at.run.first; from < at.run.last;) {
            lane_run lanes{vectors, 0};
            index_t to = at.run.last;  // the next place where a vector begins or ends
            for (index_t v = 0; v < vectors; ++v) {
                auto const& own = of[v];
                if (own.first <= from && from < own.last) lanes = {std::min(lanes.first, v), v + 1};
                for (index_t const end : {own.first, own.last})
                    if (from < end) to = std::min(to, end);
            }
            if (lanes.first < lanes.last) add(lanes, {from, to});
            from = to;
        }
    }

private:
    void add(lane_run lanes, run packs) { parts_[count_++] = {lanes, packs}; }

    part parts_[2 * Shape::nv];
    index_t count_ = 0;
};

}  // namespace fovea::FOVEA_SET::driver
