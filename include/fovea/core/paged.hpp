// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/as_view.hpp>
#include <fovea/core/row_run.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace fovea::FOVEA_SET {

/// paged_rows: keys or values that lie in pages of some positions each, as caches of servers do; owns nothing.
///
/// pages: (page, head, slot, feature); table: (batch, n), the n-th page of each sequence. Position p of a sequence is
/// slot p % page_size of its page p / page_size. An entry below 0 stands for a page that is not there yet: a call in
/// which a query sees a position in it throws, so mask such positions, as key_lengths does.
template <class T>
struct paged_rows {
    view<T const, 4> pages;
    view<std::int32_t const, 2> table;
    extents_t<4> extents;  // (batch, head, position, feature), as a view of the rows would have them

    constexpr paged_rows(view<T const, 4> const& p, view<std::int32_t const, 2> const& t)
        : pages(p), table(t), extents{t.extent(0), p.extent(1), positions(), p.extent(3)} {}

    constexpr index_t extent(int axis) const { return extents[static_cast<std::size_t>(axis)]; }
    constexpr T const* place(index_t batch, index_t head, index_t position, index_t feature) const {
        index_t const page_size = pages.extent(2);
        auto const page = std::max<index_t>(table(batch, position / page_size), 0);
        return pages.place(page, head, position % page_size, feature);
    }
    /// The rows from a position on that lie in its page.
    constexpr row_run<T> rows_from(index_t batch, index_t head, index_t position) const {
        index_t const page_size = pages.extent(2), slot = position % page_size;
        auto const page = std::max<index_t>(table(batch, position / page_size), 0);
        return {pages.place(page, head, slot, index_t{0}), pages.stride(2),
                std::min(page_size - slot, extents[2] - position)};
    }
    constexpr index_t rows_per_run() const { return pages.extent(2); }
    index_t row_alignment() const { return fovea::row_alignment(pages); }
    template <class Visit>
    constexpr void for_each_array(Visit const& visit) const {
        visit(pages, "'s pages");
        visit(table, "'s page table");
    }
    constexpr T const& operator()(index_t batch, index_t head, index_t position, index_t feature) const {
        return *place(batch, head, position, feature);
    }

    /// Errors: shape_error for a page that is not among the pages, or more positions than can be counted.
    void check(char const* argument) const {
        if (extents[2] < 0)
            raise_error(shape_error(argument, " has ", detail::counted(table.extent(1), "page"), " of ",
                                    detail::counted(pages.extent(2), "position"), ": more than can be counted"));
        index_t const rows = table.stride(0) == 0 ? std::min<index_t>(table.extent(0), 1) : table.extent(0);
        for (index_t b = 0; b < rows; ++b)
            for (index_t n = 0; n < table.extent(1); ++n)
                if (table(b, n) >= pages.extent(0))
                    raise_error(shape_error(argument, " has ", detail::counted(pages.extent(0), "page"),
                                            ", its table asks for page ", table(b, n), " at (", b, ", ", n, ")"));
        if (pages.extent(0) == 0 && table.size() > 0 && pages.extent(2) > 0)
            raise_error(shape_error(argument, " has no pages, its table has ", detail::counted(table.size(), "entry")));
    }

private:
    /// The positions of a sequence; -1 where they cannot be counted.
    constexpr index_t positions() const {
        index_t n = 0;
        return __builtin_mul_overflow(table.extent(1), pages.extent(2), &n) ? -1 : n;
    }
};

template <class R>
inline constexpr bool is_paged = false;
template <class T>
inline constexpr bool is_paged<paged_rows<T>> = true;

/// paged: keys or values in pages, for a call: attend(spec, query, paged(keys, table), paged(values, table), result).
///
/// Errors: shape_error for a table that asks for a page that is not there, or has none for a position that a query
/// sees, before anything is written. Source: Kwon et al. 2023 (PagedAttention), section 4.
template <class Pages, class Table>
constexpr auto paged(Pages&& pages, Table&& table) {
    auto const p = detail::view_of(pages);
    auto const t = detail::view_of(table);
    using element = typename std::remove_const_t<decltype(p)>::value_type;
    using number = typename std::remove_const_t<decltype(t)>::value_type;
    constexpr bool fits = decltype(p)::rank == 4 && decltype(t)::rank == 2 && std::is_same_v<number, std::int32_t>;
    static_assert(fits, "fovea: pages are (page, head, slot, feature), their table (batch, page) of std::int32_t");
    if constexpr (fits) return paged_rows<element>(p, t);
    else return paged_rows<element>({}, {});
}

/// Sources of keys or values: a view, what gives one, pages, or what is loaded.
template <class R>
concept row_source = viewable<R> || is_paged<std::remove_cvref_t<R>> || loaded_rows<std::remove_cvref_t<R>>;

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
