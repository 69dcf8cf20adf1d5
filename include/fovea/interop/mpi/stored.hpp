// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys and values that a rank holds in pages, or with scales by blocks: they are copied one after another for a call.
#pragma once

#include <fovea/driver/call/in_memory.hpp>
#include <fovea/interop/mpi/exchange.hpp>
#include <fovea/spec/call/visible_pages.hpp>

#include <algorithm>
#include <utility>

namespace fovea::FOVEA_SET::mpi::detail {

/// The type of the numbers that travel: as they are stored, or of the arithmetic where rows are loaded.
template <class Rows, class T>
using sent_element = std::conditional_t<loaded_rows<Rows>, T, element_of_rows<Rows>>;

/// Rows as a view, in memory of the workspace where they lie in pages or are loaded.
template <class T, class Rows>
view<sent_element<Rows, T> const, 4> one_after_another(Rows const& rows, workspace& scratch) {
    if constexpr (is_paged<Rows>) {
        using element = sent_element<Rows, T>;
        auto const all = driver::fresh_rows<element>(scratch, rows.extents);
        for (index_t b = 0; b < all.extent(0); ++b)
            for (index_t h = 0; h < all.extent(1); ++h)
                for (index_t n = 0; n < all.extent(2);) {
                    auto const run = rows.rows_from(b, h, n);
                    for (index_t i = 0; i < run.count; ++i, ++n)
                        std::copy_n(run.first + i * run.stride, all.extent(3), all.place(b, h, n, index_t{0}));
                }
        return all;
    } else {
        return driver::in_memory<T>(rows, scratch);
    }
}

/// The pairs of a mask whose keys lie in a run.
template <class Predicate>
struct mask_of_run : stage<role::mask> {
    Predicate pairs;

    explicit mask_of_run(Predicate const& p) : pairs(p) {}
    constexpr Predicate predicate() const { return pairs; }
    static constexpr std::string_view name = "";
};

/// Errors: shape_error where a query of some rank sees a position that lies in a page which is not there, and what is
/// wrong with pages or scales by themselves.
template <class T, attention_spec A, class Rows>
void check_stored(A const& a, Rows const& rows, operand_shapes const& whole, runs const& held, char const* name) {
    if constexpr (requires { rows.check(name); }) {
        using namespace placeholders;
        rows.check(name);
        auto own = whole;
        own.key[2] = own.value[2] = rows.extent(2);
        for (auto const& run : held) {
            auto const part = of_part(a, {0, run.first - run.place, whole.queries(), whole.keys()});
            auto const pairs = mask_of_run(part.mask.predicate() && kv_idx >= literal<index_t>{run.place}
                                           && kv_idx < literal<index_t>{run.place + run.count});
            attention const seen{part.project, part.score, pairs, part.normalize, part.aggregate};
            check_visible_pages<T>(seen, rows, own, name);
        }
    }
}

}  // namespace fovea::FOVEA_SET::mpi::detail
