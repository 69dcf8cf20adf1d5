// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which keys of a block a tile reads, and where the mask has to be applied: from the intervals of the predicate.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/driver/dense/dense_rows.hpp>
#include <fovea/kernel/score_packs.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Exponential back-off: after `trials` failed attempts in a row the next 2, 6, 14, 30, ... steps are skipped; a
/// success resets it.
class back_off {
public:
    explicit back_off(index_t trials = 1) : trials_(trials) {}

    /// Whether the next step tries.
    bool is_due() {
        if (left_ == 0) return true;
        --left_;
        return false;
    }
    /// The outcome of a try.
    void learn(bool was_worth_it) {
        failed_ = was_worth_it ? 0 : failed_ + 1;
        if (failed_ == 0) pause_ = 0;
        else if (failed_ >= trials_) pause_ = 2 * pause_ + 2;
        left_ = pause_;
    }

private:
    index_t trials_, failed_ = 0;
    index_t pause_ = 0, left_ = 0;  // steps after a try; of these, those to come
};

/// The keys of a block that some rows see: runs of granules, and of each panel whether the mask has to be applied.
template <class Blocking>
class visible_runs {
public:
    bool mixed[Blocking::panels] = {};

    visible_runs() = default;
    explicit visible_runs(granule_run<Blocking> all) : runs_{all}, count_(1) {}

    granule_run<Blocking> const* begin() const { return runs_; }
    granule_run<Blocking> const* end() const { return runs_ + count_; }
    void add(granule_run<Blocking> run) { runs_[count_++] = run; }
    /// One run from the first key to the last, which begins at a multiple of so many granules. The mask is applied to
    /// panels that were left out.
    void join(index_t granules) {
        if (count_ == 0) return;
        runs_[0] = {runs_[0].first / granules * granules, runs_[count_ - 1].last};
        count_ = 1;
    }

private:
    granule_run<Blocking> runs_[(Blocking::panels + 1) / 2];
    index_t count_ = 0;
};

/// Which tiles of a block of rows are searched for panels that the mask decides. After a search that decides fewer than
/// an eighth of them, tiles are masked as a whole, more after each such search: bounds over tables cost as much as
/// products. So it is with `cuts`, searches for less than a panel (driver/dense/sub_tiles.hpp). A block of rows belongs
/// to one task, so that the choice does not depend on the number of threads.
class search_back_off : public back_off {
public:
    back_off cuts{4};

    using back_off::learn, back_off::back_off;
    /// The outcome of a search.
    template <class Blocking>
    [[gnu::noinline]] void learn(visible_runs<Blocking> const& found, index_t panels) {
        index_t decided = panels;
        for (auto const run : found)
            for (index_t p = run.first_panel(); p < run.last_panel(); ++p) decided -= found.mixed[p] ? 1 : 0;
        learn(8 * decided >= panels);
    }
};

/// The block mask of a call, from intervals of its predicate: empty panels are left out, and the mask is
/// applied in mixed ones alone.
template <class Blocking>
class block_mask {
    using run = granule_run<Blocking>;

public:
    explicit block_mask(dense_rows const& call) : call_(call) {}

    index_t key_blocks() const { return ceil_div(call_.keys, Blocking::block_keys); }

    /// The answer of the mask about some rows and the keys [first, last).
    truth coverage(box const& rows, index_t first_key, index_t last_key) const {
        return call_.coverage ? call_.coverage(call_, rows, {first_key, last_key - 1}) : truth(true);
    }

    /// The blocks of keys outside which some rows see nothing.
    index_range seen_by(box const& where) const {
        auto const is_empty = [&](index_t k) {
            return coverage(where, k * Blocking::block_keys, std::min((k + 1) * Blocking::block_keys, call_.keys))
                .never();
        };
        index_range seen{0, key_blocks()};
        while (seen.size() > 0 && is_empty(seen.first)) ++seen.first;
        while (seen.size() > 0 && is_empty(seen.last - 1)) --seen.last;
        return seen;
    }

    /// How many key blocks stay packed: the most that one of these blocks of rows sees, at least 1.
    FOVEA_CONTROL index_t blocks_at_once(index_range head_groups, index_range rows) const {
        index_t most = call_.coverage ? 1 : std::max<index_t>(key_blocks(), 1);
        for (index_t g = head_groups.first; g < head_groups.last; ++g)
            for (index_t b = rows.first; b < rows.last && most < key_blocks(); ++b) {
                index_t const last = std::min((b + 1) * Blocking::block_rows, call_.rows);
                most =
                    std::max(most, seen_by(call_.span(call_.head_group_at(g), b * Blocking::block_rows, last)).size());
            }
        return most;
    }

    /// The runs of granules of the keys [first, last) that are not empty for some rows.
    template <class Rows>
    visible_runs<Blocking> runs(Rows const& rows, index_t first, index_t last, truth seen) const {
        if (Blocking::pads_keys || !seen.always())
            return find_runs(rows.span(call_), first, last, seen, rows.whole_panels());
        return visible_runs<Blocking>({0, ceil_div(last - first, Blocking::granule)});
    }

    /// The same at a back_off: where it does not search, all granules, masked.
    template <class Rows>
    visible_runs<Blocking> runs(Rows const& rows, index_t first, index_t last, truth seen,
                                search_back_off& back_off) const {
        bool const searches = seen.always() || back_off.is_due();
        auto found = searches ? runs(rows, first, last, seen) : all_mixed(first, last, rows.whole_panels());
        if (searches && !seen.always()) back_off.learn(found, ceil_div(last - first, Blocking::panel));
        if (call_.planned.fixed_order) found.join(kernel::chains);
        return found;
    }

    /// Some rows and the keys [first, last) of a block.
    struct rows_and_keys {
        box const& where;
        index_t first, last;
    };

    /// A run without the granules at its ends that are empty.
    run trimmed(rows_and_keys const& all, run granules, bool const* mixed) const;

private:
    FOVEA_CONTROL visible_runs<Blocking> find_runs(box const& where, index_t first, index_t last, truth seen,
                                                   bool whole_panels) const;
    static visible_runs<Blocking> all_mixed(index_t first, index_t last, bool whole_panels);
    void classify(rows_and_keys const& all, index_t first, index_t last, truth* panels) const;

    dense_rows const& call_;
};

template <class Blocking>
granule_run<Blocking> block_mask<Blocking>::trimmed(rows_and_keys const& all, run granules, bool const* mixed) const {
    if (call_.coverage == nullptr) return granules;
    auto const is_empty = [&](index_t n) {
        index_t const key = all.first + n * Blocking::granule;
        return coverage(all.where, key, std::min(key + Blocking::granule, all.last)).never();
    };
    while (mixed[granules.first / Blocking::granules_per_panel] && granules.first + 1 < granules.last
           && is_empty(granules.first))
        ++granules.first;
    while (mixed[(granules.last - 1) / Blocking::granules_per_panel] && granules.first + 1 < granules.last
           && is_empty(granules.last - 1))
        --granules.last;
    return granules;
}

template <class Blocking>
visible_runs<Blocking> block_mask<Blocking>::find_runs(box const& where, index_t first, index_t last, truth seen,
                                                       bool whole_panels) const {
    visible_runs<Blocking> all;
    index_t const panels = ceil_div(last - first, Blocking::panel),
                  granules = ceil_div(last - first, Blocking::granule);
    rows_and_keys const keys{where, first, last};
    truth known[Blocking::panels];
    if (seen.always()) std::fill_n(known, panels, seen);
    else classify(keys, 0, panels, known);
    for (index_t p = 0; p < panels; ++p) all.mixed[p] = !known[p].always();
    if (Blocking::pads_keys
        && ((last - first) % Blocking::granule != 0 || (whole_panels && granules % Blocking::granules_per_panel != 0)))
        all.mixed[panels - 1] = true;
    for (index_t p = 0; p < panels; ++p) {
        if (known[p].never()) continue;
        index_t const begin = p;
        while (p + 1 < panels && !known[p + 1].never()) ++p;
        run const found{begin * Blocking::granules_per_panel, (p + 1) * Blocking::granules_per_panel};
        all.add(whole_panels ? found : trimmed(keys, {found.first, std::min(found.last, granules)}, all.mixed));
    }
    return all;
}

template <class Blocking>
[[gnu::noinline]] visible_runs<Blocking> block_mask<Blocking>::all_mixed(index_t first, index_t last,
                                                                         bool whole_panels) {
    index_t const panels = ceil_div(last - first, Blocking::panel);
    visible_runs<Blocking> all(
        {0, whole_panels ? panels * Blocking::granules_per_panel : ceil_div(last - first, Blocking::granule)});
    std::fill_n(all.mixed, panels, true);
    return all;
}

/// Classifies the panels [first, last): halved until all are full, all are empty, or one is left.
template <class Blocking>
[[gnu::noinline]] void block_mask<Blocking>::classify(rows_and_keys const& all, index_t first, index_t last,
                                                      truth* panels) const {
    auto const seen = coverage(all.where, all.first + first * Blocking::panel,
                               std::min(all.first + last * Blocking::panel, all.last));
    if (last - first == 1 || seen.always() || seen.never()) {
        std::fill(panels + first, panels + last, seen);
        return;
    }
    index_t const middle = (first + last) / 2;
    classify(all, first, middle, panels);
    classify(all, middle, last, panels);
}

}  // namespace fovea::FOVEA_SET::driver
