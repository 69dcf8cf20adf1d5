// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows that are read in place, run by run or by address, whether they are finite, and the operands of
// `driver/call/products.hpp`.
#pragma once

#include <fovea/core/interval.hpp>
#include <fovea/core/row_run.hpp>
#include <fovea/driver/call/prefetch.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/kernel/add_at.hpp>
#include <fovea/kernel/packing.hpp>
#include <fovea/kernel/product/accumulate.hpp>
#include <fovea/kernel/product/integer_product.hpp>
#include <fovea/kernel/product/product.hpp>
#include <fovea/kernel/product/rows_in_place.hpp>
#include <fovea/spec/shapes.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// A tile of queries and a run of packed keys.
template <class T>
struct panel_product {
    T const* queries;     // (features, mr)
    T const* keys;        // (panels, features, panel)
    index_t first, last;  // the run, in vectors of keys
    index_t features;     // or steps over them
    int mr;               // rows of the register tile
    T const* scales;      // (mr), for products that apply them to sums
    T* scores;            // (mr, stride)
    index_t stride;
};

/// The weights of a tile of rows, values, and the sums that these are added to.
template <class T, class Values = kernel::even_rows<T>, class Weights = kernel::row_weights<T>>
struct weighted_rows {
    kernel::weighted_values<T, Values, Weights> all;
    index_t width;  // of values, in whole vectors
    index_t rows;
    int mr;                 // rows of the register tile
    bool in_order = false;  // the keys of each sum are added in one piece
};

/// The rows of a table that the pairs of some queries and keys may choose.
template <class Element>
struct rows_of_table {
    Element const* first;  // row 0 along the axis of pairs
    index_t stride;        // from row to row
    interval<index_t> rows;

    index_t count() const { return rows.hi - rows.lo + 1; }
    Element const* at(index_t row) const { return first + row * stride; }
};

/// The rows between the least and the greatest that an index gives in a box, of a table whose last one is known; tables
/// that the index reads are looked at where they have at most `most_elements` in the box.
template <class T, class Index>
interval<index_t> chosen_rows(Index const& index, box const& where, index_t last, index_t most_elements) {
    interval<index_t> const found(bound<T>(index, where, most_elements));
    return {std::clamp<index_t>(found.lo, 0, last), std::clamp<index_t>(found.hi, 0, last)};
}

/// Adds rows of whole vectors to rows of so many features.
template <class T, class Arch>
void add_rows(T const* from, index_t width, index_t count, index_t features, T* to, index_t stride) {
    using vector = kernel::pack<T, Arch>;
    for (index_t i = 0; i < count; ++i)
        for (index_t c = 0; c < features; c += vector::lanes)
            kernel::add_to<T, Arch>(to + i * stride + c, vector::load(from + i * width + c), features - c);
}

/// Rows of elements: the positions of one head, or of several interleaved heads.
template <class Element>
struct strided_rows {
    Element* first;
    index_t position_stride, head_stride = 0, heads = 1;
    index_t offset = 0;  // of row 0 from `first`, in rows

    /// Without some features at the beginning of each row.
    void skip(index_t features) { first += features; }

    FOVEA_INLINE Element* operator()(index_t r) const {
        r += offset;
        if (heads == 1) return first + r * position_stride;
        index_t const position = r / heads;
        return first + position * position_stride + (r - position * heads) * head_stride;
    }
};

/// A transposition: rows(i)[f] * scales[i] become the columns.
template <class T>
struct transposition {
    strided_rows<T const> rows;
    T const* scales;  // (count)
    kernel::transpose_target<T> destination;
};

/// Sums with a row in each lane, and the rows that they become: to(r)[c] = sums[c * width + r] * factors[r].
template <class T, class Element>
struct result_rows {
    T const* sums;  // (features, width)
    index_t width;
    T const* factors;  // (lanes)
    index_t count, features;
    strided_rows<Element> to;
};

/// The operand of a product: rows in memory as they are stored, others as numbers of the type of the arithmetic.
template <class Rows, class T>
using read_as = std::conditional_t<loaded_rows<Rows>, T, element_of_rows<Rows>>;

/// The blocks that rows are stored in, if they are.
template <class Rows>
struct blocks_of_rows : std::type_identity<void> {};
template <class Rows>
    requires requires { typename Rows::block_type; }
struct blocks_of_rows<Rows> : std::type_identity<typename Rows::block_type> {};
template <class Rows>
using block_of = typename blocks_of_rows<Rows>::type;

/// Whether queries in place are rounded for a product with keys in blocks.
template <class Call, class Part>
inline constexpr bool rounds_queries_of =
    Call::rounds_queries && kernel::block_of_words<block_of<std::remove_const_t<decltype(Call::operands::key)>>>
    && decltype(Part::over)::takes_all && std::is_same_v<std::remove_cvref_t<decltype(Part::of_key)>, k_t>;

/// The distance between loaded rows.
template <class T>
constexpr index_t loaded_stride(index_t features) {
    return round_up(features, cache_line / static_cast<index_t>(sizeof(T)));
}
/// Rows that are loaded at a time, to stay in the L1 cache while they are read.
inline constexpr index_t rows_at_once = 32;

/// Calls f(run, offset) for some rows of a head in order: a run of them, and how many come before it. Rows that are not
/// in memory are loaded to `loaded`: (rows_at_once, loaded_stride).
template <class Rows, class T, class F>
void for_runs(Rows const& rows, row_range const& at, [[maybe_unused]] T* loaded, F const& f) {
    if constexpr (loaded_rows<Rows>) {
        index_t const stride = loaded_stride<T>(rows.extent(3));
        for (index_t n = at.first; n < at.last; n += rows_at_once) {
            index_t const last = std::min(n + rows_at_once, at.last);
            rows.load(row_range{at.batch, at.head, n, last}, loaded, stride);
            f(row_run<T>{loaded, stride, last - n}, n - at.first);
        }
    } else {
        for_runs(rows, at, f);
    }
}
template <class Rows, class F>
void for_runs(Rows const& rows, row_range const& at, F const& f) {
    for (index_t n = at.first; n < at.last;) {
        auto run = rows_from(rows, at.batch, at.head, n);
        run.count = std::min(run.count, at.last - n);
        f(run, n - at.first);
        n += run.count;
    }
}

/// One row of a head as it is stored, or loaded.
template <class Rows, class T>
read_as<Rows, T> const* row_of(Rows const& rows, row_range const& at, [[maybe_unused]] T* loaded) {
    if constexpr (loaded_rows<Rows>) {
        rows.load(at, loaded, index_t{0});
        return loaded;
    } else {
        return rows.place(at.batch, at.head, at.first, 0);
    }
}

/// The addresses of some rows of a head that lie in pages, each by its number in `at`.
template <class Rows, index_t Most>
class row_addresses {
    using element = element_of_rows<Rows>;

public:
    /// At most `Most` rows.
    row_addresses(Rows const& rows, row_range const& at) {
        for_runs(rows, {at.batch, at.head, at.first, std::min(at.last, at.first + Most)},
                 [&](auto const& run, index_t offset) {
                     for (index_t r = 0; r < run.count; ++r) at_[offset + r] = run.first + r * run.stride;
                 });
    }
    FOVEA_INLINE element const* operator()(index_t r) const { return at_[r] + skipped_; }

    /// Some of them for microkernels; those after the last, which are only prefetched, repeat it.
    kernel::rows_by_address<element> in_place(index_t count, index_t present, index_t ahead) {
        std::fill_n(&at_[present], count + ahead - present, at_[present - 1]);
        return {&at_[0], 0, ahead};
    }

    /// Without some features at the beginning of each row.
    void skip(index_t features) { skipped_ = features; }

private:
    c_array<element const*, Most> at_;
    index_t skipped_ = 0;
};
/// The addresses of some rows of any source: of at most `Most` rows, or of rows_at_once that are loaded to `loaded`.
template <index_t Most, class Rows, class T>
auto addresses_of(Rows const& rows, row_range const& at, [[maybe_unused]] T* loaded) {
    if constexpr (loaded_rows<Rows>) {
        index_t const stride = loaded_stride<T>(rows.extent(3));
        rows.load(at, loaded, stride);
        return strided_rows<T const>{loaded, stride};
    } else if constexpr (evenly_spaced<Rows>) {
        return strided_rows<element_of_rows<Rows> const>{rows.place(at.batch, at.head, at.first, 0), rows.stride(2)};
    } else {
        return row_addresses<Rows, Most>(rows, at);
    }
}

/// Calls f(rows, offset, count) for some rows of a head in order, as microkernels read them in place: as many as there
/// are where these lie in memory, rows_at_once of those that are loaded. `Decodes`: blocks are decoded, and integers
/// scaled, as they are read. Of rows in pages so many are listed at a time.
template <class Arch, bool Decodes, index_t Listed = 256, class Rows, class T, class F>
void for_rows_in_place(Rows const& rows, row_range const& at, [[maybe_unused]] T* loaded, F const& f) {
    using element = element_of_rows<Rows>;
    [[maybe_unused]] index_t const row_bytes = rows.extent(3) * static_cast<index_t>(sizeof(element));
    if constexpr (Decodes && requires { typename Rows::block_type; }) {
        for_rows_in_place<Arch, false, Listed>(rows.blocks, at, loaded,
                                               [&]<class Blocks>(Blocks const& blocks, index_t offset, index_t count) {
                                                   f(kernel::decoded_rows<Blocks>{blocks, 0}, offset, count);
                                               });
    } else if constexpr (Decodes && scaled_integers<Rows>) {
        auto const shared = kernel::shared_scale::of(rows.block, rows.extent(3), kernel::pack<T, Arch>::lanes);
        if (!shared) return for_rows_in_place<Arch, false, Listed>(rows, at, loaded, f);
        auto const in_place = [&](auto const& source, index_t first, index_t count, auto const& g) {
            row_range const of{at.batch, at.head, at.first + first, at.first + first + count};
            for_rows_in_place<Arch, false, Listed>(
                source, of, loaded, [&](auto const& found, index_t offset, index_t n) { g(found, first + offset, n); });
        };
        in_place(rows.numbers, 0, at.last - at.first, [&](auto const& numbers, index_t first, index_t count) {
            in_place(rows.scales, first, count, [&](auto const& scales, index_t begin, index_t part) {
                auto const with = [&](auto const& zeros, index_t from, index_t n) {
                    f(kernel::scaled_rows{numbers.from(from - first, 0), scales.from(from - begin, 0), zeros, *shared},
                      from, n);
                };
                if constexpr (Rows::has_zeros) in_place(rows.zeros, begin, part, with);
                else with(kernel::no_rows{}, begin, part);
            });
        });
    } else if constexpr (loaded_rows<Rows>) {
        for_runs(rows, at, loaded, [&](auto const& run, index_t offset) {
            f(kernel::even_rows<T>{run.first, run.stride}, offset, run.count);
        });
    } else if constexpr (evenly_spaced<Rows>) {
        for_runs(rows, at, [&](auto const& run, index_t offset) {
            index_t const ahead = kernel::rows_ahead(row_bytes) * run.stride;
            f(kernel::even_rows<element>{run.first, run.stride, ahead}, offset, run.count);
        });
    } else {
        index_t const ahead = kernel::rows_ahead(row_bytes);
        index_t const stride =
            rows_from(rows, at.batch, at.head, at.first).stride * static_cast<index_t>(sizeof(element));
        index_t const step = std::min(rows_per_memory_page(stride), rows_per_run(rows));
        for (index_t n = at.first; n < at.last; n += Listed) {
            index_t const count = std::min(at.last - n, Listed), last = std::min(n + count + ahead, rows.extent(2));
            row_addresses<Rows, Listed + kernel::most_rows_ahead> all(rows, {at.batch, at.head, n, last});
            translate(0, last - n, step, all);
            f(all.in_place(count, last - n, ahead), n - at.first, count);
        }
    }
}

/// True where these rows are finite: then 0 times one of them is 0.
template <class T, class Arch, class Rows>
bool all_finite(Rows const& rows, row_range const& at) {
    if constexpr (loaded_rows<Rows>) {
        return rows.finite(at);
    } else {
        bool all = true;
        for_runs(rows, at, [&](auto const& run, index_t) {
            auto const row = [&](index_t k) FOVEA_LAMBDA { return run.first + k * run.stride; };
            all = all && kernel::all_finite<T, Arch>(row, run.count, rows.extent(3));
        });
        return all;
    }
}

}  // namespace fovea::FOVEA_SET::driver
