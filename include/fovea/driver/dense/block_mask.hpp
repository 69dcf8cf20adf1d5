// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/dense_rows.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// What some rows see of a block of keys: runs of packs, and of each panel whether the mask has to be applied.
template <class Shape>
class visible_runs {
public:
    bool mixed[Shape::panels] = {};

    visible_runs() = default;
    explicit visible_runs(pack_run<Shape> all) : runs_{all}, count_(1) {}

    pack_run<Shape> const* begin() const { return runs_; }
    pack_run<Shape> const* end() const { return runs_ + count_; }
    void add(pack_run<Shape> run) { runs_[count_++] = run; }

private:
    pack_run<Shape> runs_[(Shape::panels + 1) / 2];
    index_t count_ = 0;
};

/// The block mask of a call, from intervals of its predicate: empty parts are left out, and only where a part is
/// neither empty nor full does the mask have to be applied.
template <class Shape>
class block_mask {
    using run = pack_run<Shape>;

public:
    explicit block_mask(dense_rows const& call) : call_(call) {}

    index_t key_blocks() const { return (call_.keys + Shape::block_keys - 1) / Shape::block_keys; }

    /// What the mask says of some rows and the keys [first, last).
    truth coverage(box const& rows, index_t first_key, index_t last_key) const {
        if (call_.coverage == nullptr) return truth(true);
        auto where = rows;
        where.kv_idx = {first_key, last_key - 1};
        return call_.coverage(call_, where);
    }

    /// The blocks of keys outside which some rows see nothing.
    block_range seen_by(box const& where) const {
        auto const is_empty = [&](index_t k) {
            return coverage(where, k * Shape::block_keys, std::min((k + 1) * Shape::block_keys, call_.keys)).never();
        };
        block_range seen{0, key_blocks()};
        while (seen.size() > 0 && is_empty(seen.first)) ++seen.first;
        while (seen.size() > 0 && is_empty(seen.last - 1)) --seen.last;
        return seen;
    }

    /// How many blocks of keys any of some blocks of rows of some heads spans: so many stay packed. At least one.
    index_t blocks_at_once(block_range heads, block_range rows) const {
        index_t most = call_.coverage ? 1 : std::max<index_t>(key_blocks(), 1);
        for (index_t h = heads.first; h < heads.last; ++h)
            for (index_t b = rows.first; b < rows.last && most < key_blocks(); ++b) {
                index_t const last = std::min((b + 1) * Shape::block_rows, call_.rows);
                most = std::max(most, seen_by(call_.span(call_.head(h), b * Shape::block_rows, last)).size());
            }
        return most;
    }

    /// The runs of packs of the keys [first, last) that are not empty for some rows.
    template <class Rows>
    visible_runs<Shape> runs(Rows const& rows, index_t first, index_t last, truth seen) const {
        if (Shape::pads_keys || !seen.always())
            return find_runs(rows.span(call_), first, last, seen, rows.whole_panels());
        return visible_runs<Shape>({0, (last - first + Shape::pack - 1) / Shape::pack});
    }

    /// Some rows and the keys [first, last) of a block.
    struct part {
        box where;
        index_t first, last;
    };

    /// A run without the packs at its ends that are empty.
    run trimmed(part const& all, run packs, bool const* mixed) const;

private:
    visible_runs<Shape> find_runs(box const& where, index_t first, index_t last, truth seen, bool whole_panels) const;
    void classify(part const& all, index_t first, index_t last, truth* panels) const;

    dense_rows const& call_;
};

template <class Shape>
pack_run<Shape> block_mask<Shape>::trimmed(part const& all, run packs, bool const* mixed) const {
    if (call_.coverage == nullptr) return packs;
    auto const is_empty = [&](index_t pack) {
        index_t const key = all.first + pack * Shape::pack;
        return coverage(all.where, key, std::min(key + Shape::pack, all.last)).never();
    };
    while (mixed[packs.first / Shape::packs_per_panel] && packs.first + 1 < packs.last && is_empty(packs.first))
        ++packs.first;
    while (mixed[(packs.last - 1) / Shape::packs_per_panel] && packs.first + 1 < packs.last && is_empty(packs.last - 1))
        --packs.last;
    return packs;
}

template <class Shape>
visible_runs<Shape> block_mask<Shape>::find_runs(box const& where, index_t first, index_t last, truth seen,
                                                 bool whole_panels) const {
    visible_runs<Shape> all;
    index_t const panels = (last - first + Shape::panel - 1) / Shape::panel,
                  packs = (last - first + Shape::pack - 1) / Shape::pack;
    part const keys{where, first, last};
    truth known[Shape::panels];
    if (seen.always()) std::fill_n(known, panels, seen);
    else classify(keys, 0, panels, known);
    for (index_t p = 0; p < panels; ++p) all.mixed[p] = !known[p].always();
    if (Shape::pads_keys
        && ((last - first) % Shape::pack != 0 || (whole_panels && packs % Shape::packs_per_panel != 0)))
        all.mixed[panels - 1] = true;
    for (index_t p = 0; p < panels; ++p) {
        if (known[p].never()) continue;
        index_t const begin = p;
        while (p + 1 < panels && !known[p + 1].never()) ++p;
        run const found{begin * Shape::packs_per_panel, (p + 1) * Shape::packs_per_panel};
        all.add(whole_panels ? found : trimmed(keys, {found.first, std::min(found.last, packs)}, all.mixed));
    }
    return all;
}

/// Whether the panels [first, last) are full, mixed or empty: halved until a part is full, empty or one panel.
template <class Shape>
[[gnu::noinline]] void block_mask<Shape>::classify(part const& all, index_t first, index_t last, truth* panels) const {
    auto const seen =
        coverage(all.where, all.first + first * Shape::panel, std::min(all.first + last * Shape::panel, all.last));
    if (last - first == 1 || seen.always() || seen.never()) {
        std::fill(panels + first, panels + last, seen);
        return;
    }
    index_t const middle = (first + last) / 2;
    classify(all, first, middle, panels);
    classify(all, middle, last, panels);
}

}  // namespace fovea::FOVEA_SET::driver
