// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/row_tile.hpp>
#include <fovea/expr/bound.hpp>

#include <algorithm>
#include <iterator>

namespace fovea::FOVEA_SET::driver {

/// Which keys the rows of a tile see, from intervals of the predicate: empty parts are left out, and only where a part
/// is neither empty nor wholly visible does the mask have to be applied.
template <class Predicate, class Rows, class Operands>
class visible_runs {
    using tile = typename Rows::tile;
    using run = pack_run<tile>;

public:
    visible_runs(Predicate const& predicate, Operands const& operands) : predicate_(predicate), operands_(operands) {}

    /// What the predicate says of some rows and the keys [first, last).
    truth coverage(box where, index_t first_key, index_t last_key) const {
        where.kv_idx = {first_key, last_key - 1};
        return bound(predicate_, where);
    }

    /// Blocks of keys [first, last) outside which some rows see nothing.
    struct block_span {
        index_t first = 0, last = 0;
        index_t size() const { return last - first; }
    };
    block_span seen_by(box const& where) const {
        index_t const keys = operands_.keys(), blocks = (keys + tile::block_keys - 1) / tile::block_keys;
        auto const is_empty = [&](index_t k) {
            return coverage(where, k * tile::block_keys, std::min((k + 1) * tile::block_keys, keys)).never();
        };
        block_span seen{0, blocks};
        while (seen.size() > 0 && is_empty(seen.first)) ++seen.first;
        while (seen.size() > 0 && is_empty(seen.last - 1)) --seen.last;
        return seen;
    }

    /// How many blocks of keys any of some blocks of rows spans: so many stay packed. At least one.
    index_t blocks_at_once(index_t batch, index_t key_head, index_t first_block, index_t last_block) const {
        index_t const blocks = (operands_.keys() + tile::block_keys - 1) / tile::block_keys;
        index_t most = 1;
        for (index_t b = first_block; b < last_block && most < blocks; ++b) {
            auto const where = Rows::span(operands_, batch, key_head, b * tile::block_rows,
                                          std::min((b + 1) * tile::block_rows, operands_.rows()));
            most = std::max(most, seen_by(where).size());
        }
        return most;
    }

    /// Calls f(run, mixed) for each run of packs of the keys [first, last) that are not empty for a tile; mixed[p]
    /// tells of panel p whether the mask has to be applied.
    template <class F>
    void for_runs(Rows const& rows, index_t first, index_t last, truth seen, F f) const {
        index_t const panels = (last - first + tile::panel - 1) / tile::panel,
                      packs = (last - first + tile::pack - 1) / tile::pack;
        bool mixed[tile::panels] = {};
        if constexpr (std::is_same_v<Predicate, always_t> && !tile::pads_keys) return f(run{0, packs}, mixed);
        if (!tile::pads_keys && seen.always()) return f(run{0, packs}, mixed);
        part const all{rows.span(operands_), first, last};
        truth known[tile::panels];
        if (seen.always()) std::fill(std::begin(known), std::end(known), seen);
        else look_at(all, 0, panels, known);
        for (index_t p = 0; p < panels; ++p) mixed[p] = !known[p].always();
        if constexpr (tile::pads_keys)
            mixed[panels - 1] = mixed[panels - 1] || (last - first) % tile::pack != 0
                             || (Rows::whole_panels && packs % tile::vectors != 0);
        for (index_t p = 0; p < panels; ++p) {
            if (known[p].never()) continue;
            index_t const begin = p;
            while (p + 1 < panels && !known[p + 1].never()) ++p;
            f(trimmed(all,
                      {begin * tile::vectors,
                       Rows::whole_panels ? (p + 1) * tile::vectors : std::min((p + 1) * tile::vectors, packs)},
                      mixed),
              mixed);
        }
    }

    /// Some rows and the keys [first, last) of a block.
    struct part {
        box where;
        index_t first, last;
    };

    /// A run without the packs at its ends that are empty.
    run trimmed(part const& all, run packs, bool const* mixed) const {
        if constexpr (!Rows::whole_panels) {
            auto const is_empty = [&](index_t pack) {
                index_t const key = all.first + pack * tile::pack;
                return coverage(all.where, key, std::min(key + tile::pack, all.last)).never();
            };
            while (mixed[packs.first / tile::vectors] && packs.first + 1 < packs.last && is_empty(packs.first))
                ++packs.first;
            while (mixed[(packs.last - 1) / tile::vectors] && packs.first + 1 < packs.last && is_empty(packs.last - 1))
                --packs.last;
        }
        return packs;
    }

private:
    /// What the mask says of the panels [first, last), halved until a part is wholly visible or empty.
    void look_at(part const& all, index_t first, index_t last, truth* panels) const {
        auto const seen =
            coverage(all.where, all.first + first * tile::panel, std::min(all.first + last * tile::panel, all.last));
        if (last - first == 1 || seen.always() || seen.never()) {
            std::fill(panels + first, panels + last, seen);
            return;
        }
        index_t const middle = (first + last) / 2;
        look_at(all, first, middle, panels);
        look_at(all, middle, last, panels);
    }

    Predicate const& predicate_;
    Operands const& operands_;
};

}  // namespace fovea::FOVEA_SET::driver
