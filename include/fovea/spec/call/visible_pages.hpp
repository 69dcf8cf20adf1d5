// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Positions that some query sees in pages that are not there, found before anything is written.
#pragma once

#include <fovea/core/paged.hpp>
#include <fovea/expr/param.hpp>
#include <fovea/spec/call/table_bounds.hpp>

#include <limits>

namespace fovea::FOVEA_SET {

/// check_visible_pages: no pair that takes part may lie in a page that is not there, in a call whose arithmetic is
/// Real.
///
/// Cost: the entries of the table, once; where some are below 0, intervals of the mask over boxes of pairs.
/// Errors: shape_error naming the position and a query that sees it; also where 65536 boxes do not tell whether any
/// does.
template <class Real, attention_spec A, class Rows>
void check_visible_pages(A const& a, Rows const& rows, operand_shapes const& shapes, char const* argument) {
    if constexpr (requires { rows.for_each_source([](auto const&) {}); }) {
        rows.for_each_source([&](auto const& source) { check_visible_pages<Real>(a, source, shapes, argument); });
    } else if constexpr (is_paged<Rows>) {
        using namespace detail;
        if (shapes.batches() == 0 || shapes.heads() == 0 || shapes.queries() == 0 || shapes.keys() == 0) return;
        auto const page = param(rows.table)(batch_t{}, kv_idx_t{} / rows.pages.extent(2));
        auto const visible = a.mask.predicate();
        every_reader<Real> const all;
        readers_where<every_reader<Real>, std::remove_const_t<decltype(visible)>> const seeing{all, visible, true};
        read_search<std::remove_const_t<decltype(page)>, std::remove_const_t<decltype(seeing)>> search{
            page, std::numeric_limits<index_t>::max(), seeing};
        if (pairs_of(a, shapes).any_outside(search)) {
            auto const& pair = search.found;
            throw shape_error(argument, " has no page for position ", pair.kv_idx.lo, " of batch ", pair.batch.lo,
                              ", where its table has ", search.read_at, ", and query ", pair.q_idx.lo, " of head ",
                              pair.head.lo, " sees it: mask such positions, as key_lengths does");
        }
        if (search.left < 0)
            throw shape_error(argument,
                              " has pages that are not there, and it could not be found out whether a query "
                              "sees a position in one: mask such positions, as key_lengths does");
    }
}

}  // namespace fovea::FOVEA_SET
