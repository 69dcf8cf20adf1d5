// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/expr/bound.hpp>

#include <algorithm>
#include <iterator>

namespace fovea::FOVEA_SET::driver {

/// Which keys some rows see, from intervals of the predicate: empty parts are left out, and only where a part is
/// neither empty nor full does the mask have to be applied.
template <class Call, class Shape>
class visible_runs {
    using tile = Shape;
    using run = pack_run<tile>;
    using predicate = std::remove_const_t<decltype(Call::recipe::predicate)>;

public:
    explicit visible_runs(dense_context<Call> const& call) : call_(call) {}

    index_t key_blocks() const { return (call_.operands.keys() + tile::block_keys - 1) / tile::block_keys; }

    /// What the predicate says of some rows and the keys [first, last).
    truth coverage(box where, index_t first_key, index_t last_key) const {
        where.kv_idx = {first_key, last_key - 1};
        return bound(call_.recipe.predicate, where);
    }

    /// The blocks of keys outside which some rows see nothing.
    block_range seen_by(box const& where) const {
        auto const is_empty = [&](index_t k) {
            return coverage(where, k * tile::block_keys, std::min((k + 1) * tile::block_keys, call_.operands.keys()))
                .never();
        };
        block_range seen{0, key_blocks()};
        while (seen.size() > 0 && is_empty(seen.first)) ++seen.first;
        while (seen.size() > 0 && is_empty(seen.last - 1)) --seen.last;
        return seen;
    }

    /// How many blocks of keys any of some blocks of rows spans: so many stay packed. At least one.
    index_t blocks_at_once(head_group head, block_range rows) const {
        index_t most = 1;
        for (index_t b = rows.first; b < rows.last && most < key_blocks(); ++b) {
            auto const where = call_.span(head, b * tile::block_rows, std::min((b + 1) * tile::block_rows, call_.rows));
            most = std::max(most, seen_by(where).size());
        }
        return most;
    }

    /// Calls f(run, mixed) for each run of packs of the keys [first, last) that are not empty for a tile; mixed[p]
    /// tells of panel p whether the mask has to be applied.
    template <class Rows, class F>
    void for_runs(Rows const& rows, index_t first, index_t last, truth seen, F f) const {
        index_t const panels = (last - first + tile::panel - 1) / tile::panel,
                      packs = (last - first + tile::pack - 1) / tile::pack;
        bool mixed[tile::panels] = {};
        if constexpr (std::is_same_v<predicate, always_t> && !tile::pads_keys) return f(run{0, packs}, mixed);
        if (!tile::pads_keys && seen.always()) return f(run{0, packs}, mixed);
        part const all{rows.span(call_), first, last};
        truth known[tile::panels];
        if (seen.always()) std::fill(std::begin(known), std::end(known), seen);
        else look_at(all, 0, panels, known);
        for (index_t p = 0; p < panels; ++p) mixed[p] = !known[p].always();
        if constexpr (tile::pads_keys)
            mixed[panels - 1] = mixed[panels - 1] || (last - first) % tile::pack != 0
                             || (Rows::whole_panels && packs % tile::packs_per_panel != 0);
        for (index_t p = 0; p < panels; ++p) {
            if (known[p].never()) continue;
            index_t const begin = p;
            while (p + 1 < panels && !known[p + 1].never()) ++p;
            run const packs_of_panels{begin * tile::packs_per_panel, (p + 1) * tile::packs_per_panel};
            if constexpr (Rows::whole_panels) f(packs_of_panels, mixed);
            else f(trimmed(all, {packs_of_panels.first, std::min(packs_of_panels.last, packs)}, mixed), mixed);
        }
    }

    /// Some rows and the keys [first, last) of a block.
    struct part {
        box where;
        index_t first, last;
    };

    /// A run without the packs at its ends that are empty.
    run trimmed(part const& all, run packs, bool const* mixed) const {
        auto const is_empty = [&](index_t pack) {
            index_t const key = all.first + pack * tile::pack;
            return coverage(all.where, key, std::min(key + tile::pack, all.last)).never();
        };
        while (mixed[packs.first / tile::packs_per_panel] && packs.first + 1 < packs.last && is_empty(packs.first))
            ++packs.first;
        while (mixed[(packs.last - 1) / tile::packs_per_panel] && packs.first + 1 < packs.last
               && is_empty(packs.last - 1))
            --packs.last;
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

    dense_context<Call> const& call_;
};

}  // namespace fovea::FOVEA_SET::driver
