// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys that a mask leaves out: every pair that takes part is kept, and what no row of a tile sees is not.
#include <fovea/driver/dense/block_mask.hpp>

#include "catch.hpp"
#include "support/made_call.hpp"

#include <algorithm>
#include <vector>

using namespace fovea;

namespace {

/// A mask of blocks, for one table of pairs.
template <class Blocking>
struct of_pairs {
    made::pairs const& seen;
    testing::dice random{1};
    made::arrays operands;
    plan::call_plan how{plan::traversal::key_lanes, plan::block_sizes_of<Blocking>};
    made::masked_call call;
    driver::block_mask<Blocking> mask{call};

    explicit of_pairs(made::pairs const& mask_of, bool known = true)
        : seen(mask_of), operands(random, seen.queries, seen.keys, 1, 1), call(how, operands.operands(), seen, known) {}
};

/// The laws of the runs of one block of keys and some rows.
template <class Blocking>
void check_runs(of_pairs<Blocking> const& of, made::row_span const& rows, index_t first, index_t last, bool exact) {
    auto const coverage = of.mask.coverage(rows.span(of.call), first, last);
    index_t const granules = (last - first + Blocking::granule - 1) / Blocking::granule;
    auto const any = [&](index_t from, index_t to) {
        return of.seen.any(rows.first, rows.last, first + from * Blocking::granule,
                           std::min(first + to * Blocking::granule, last));
    };
    if (coverage.never()) {
        CHECK_FALSE(any(0, granules));
        return;
    }
    auto const runs = of.mask.runs(rows, first, last, coverage);
    index_t after = 0;
    bool right = true;
    for (auto const run : runs) {
        right = right && after <= run.first && run.first < run.last && !any(after, run.first);
        index_t const end = round_up(granules, Blocking::granules_per_panel);
        right = right && run.last <= (rows.panels ? end : granules);
        for (index_t p = run.first_panel(); p < run.last_panel(); ++p) {
            index_t const from = first + p * Blocking::panel, to = std::min(from + Blocking::panel, last);
            right = right && (runs.mixed[p] || of.seen.all(rows.first, rows.last, from, to));
            right = right && (!exact || of.seen.any(rows.first, rows.last, from, to));
        }
        if (exact && !rows.panels && any(run.first, run.last))
            right = right && any(run.first, run.first + 1) && any(run.last - 1, run.last);
        after = run.last;
    }
    CHECK(right);
    CHECK((after >= granules || !any(after, granules)));
    if (Blocking::pads_keys && (last - first) % Blocking::granule != 0 && after >= granules)
        CHECK(runs.mixed[(granules - 1) / Blocking::granules_per_panel]);
}

template <class Blocking>
void check_all_runs(of_pairs<Blocking> const& of, bool exact) {
    for (index_t row = 0; row < of.seen.queries; row += Blocking::rows)
        for (index_t key = 0; key < of.seen.keys; key += Blocking::block_keys)
            for (bool const panels : {false, true})
                check_runs(of, {row, std::min(row + Blocking::rows, of.seen.queries), panels}, key,
                           std::min(key + Blocking::block_keys, of.seen.keys), exact);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("runs of a block keep every pair and leave out what nobody sees", "[driver]",
                        made::block_shapes) {
    made::for_masks<TestType>([](made::pairs const& seen) { check_all_runs(of_pairs<TestType>(seen), true); });
}

TEMPLATE_LIST_TEST_CASE("a mask that decides nothing is searched ever more rarely, until it decides something",
                        "[driver]", made::block_shapes) {
    driver::visible_runs<TestType> undecided({0, TestType::panels * TestType::granules_per_panel});
    std::fill_n(undecided.mixed, TestType::panels, true);
    driver::search_back_off back_off;
    std::vector<int> searched;
    for (int tile = 0; tile < 128; ++tile)
        if (back_off.is_due()) {
            searched.push_back(tile);
            back_off.learn(undecided, TestType::panels);
        }
    CHECK(searched == std::vector{0, 3, 10, 25, 56, 119});
    back_off.learn(driver::visible_runs<TestType>{}, TestType::panels);  // no panel is seen
    CHECK(back_off.is_due());

    driver::search_back_off patient(2);  // two searches in a row have to find nothing
    std::vector<int> searched_again;
    for (int tile = 0; tile < 32; ++tile)
        if (patient.is_due()) {
            searched_again.push_back(tile);
            patient.learn(tile == 1 ? driver::visible_runs<TestType>{} : undecided, TestType::panels);
        }
    CHECK(searched_again == std::vector{0, 1, 2, 3, 6, 13, 28});
}

TEMPLATE_LIST_TEST_CASE("a tile that is not searched is masked as a whole", "[driver]", made::block_shapes) {
    made::pairs const window(40, 40, 3, 3);
    of_pairs<TestType> const of(window);
    for (bool const panels : {false, true})
        for (index_t const keys : {index_t{1}, std::min<index_t>(TestType::block_keys, 40)}) {
            driver::visible_runs<TestType> undecided({0, TestType::granules_per_panel});
            undecided.mixed[0] = true;
            driver::search_back_off back_off;
            back_off.learn(undecided, 1);
            made::row_span const rows{0, 2, panels};
            auto const runs = of.mask.runs(rows, 0, keys, truth{}, back_off);
            REQUIRE(runs.end() - runs.begin() == 1);
            index_t const granules = ceil_div(keys, TestType::granule);
            CHECK(runs.begin()->first == 0);
            CHECK(runs.begin()->last == (panels ? round_up(granules, TestType::granules_per_panel) : granules));
            for (index_t p = 0; p < runs.begin()->last_panel(); ++p) CHECK(runs.mixed[p]);
            auto const full = of.mask.runs(rows, 0, keys, truth(true), back_off);
            bool const passes_end = keys % (panels ? TestType::panel : TestType::granule) != 0;
            CHECK(full.mixed[ceil_div(keys, TestType::panel) - 1] == (TestType::pads_keys && passes_end));
        }
}

TEMPLATE_LIST_TEST_CASE("of a mask of which nothing is known, all pairs are kept, and masked", "[driver]",
                        made::block_shapes) {
    made::for_masks<TestType>([](made::pairs const& seen) { check_all_runs(of_pairs<TestType>(seen, false), false); });
}

TEMPLATE_LIST_TEST_CASE("blocks of keys that rows see", "[driver]", made::block_shapes) {
    using shape = TestType;
    made::for_masks<shape>([](made::pairs const& seen) {
        of_pairs<shape> const of(seen);
        auto const& mask = of.mask;
        index_t const blocks = mask.key_blocks(),
                      row_blocks = (seen.queries + shape::block_rows - 1) / shape::block_rows;
        CHECK((blocks - 1) * shape::block_keys < seen.keys);
        CHECK(seen.keys <= blocks * shape::block_keys);
        index_t most = 1;
        for (index_t b = 0; b < row_blocks; ++b) {
            index_t const first = b * shape::block_rows, last = std::min(first + shape::block_rows, seen.queries);
            auto const range = mask.seen_by(of.call.span({0, 0}, first, last));
            auto const sees = [&](index_t from, index_t to) {
                return seen.any(first, last, from * shape::block_keys, std::min(to * shape::block_keys, seen.keys));
            };
            CHECK_FALSE(sees(0, range.first));
            CHECK_FALSE((range.last < blocks && sees(range.last, blocks)));
            if (range.size() > 0) CHECK((sees(range.first, range.first + 1) && sees(range.last - 1, range.last)));
            most = std::max(most, range.size());
        }
        CHECK(mask.blocks_at_once({0, 1}, {0, row_blocks}) == most);
    });
}
