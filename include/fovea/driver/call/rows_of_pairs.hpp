// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of a table that pairs choose, feature by feature: products of a tile's weights, and of vectors of its
// queries, with them.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/call/tile_of_pairs.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/row_products.hpp>
#include <fovea/plan/table_products.hpp>
#include <fovea/spec/call/wide_integers.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <tuple>
#include <type_traits>

namespace fovea::FOVEA_SET::driver {

/// Where a table is read for a pair: at these indices, all but that of the feature.
template <class T, class Arch>
struct row_environment : kernel::index_environment<T, Arch, index_t> {
    using base = kernel::index_environment<T, Arch, index_t>;

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) return base::lookup(table, at...);
        else return std::array<index_t, sizeof...(Index)>{at...};
    }
};

/// Vectors of a tile's queries, in whole vectors: one after the other, and as products with rows in place read them.
template <class T, class Arch>
class feature_rows {
    using tile = plan::key_lanes_blocking<T, Arch>;

public:
    feature_rows(arena& memory, index_t count)
        : features(count),
          width(round_up(count, index_t{tile::lanes})),
          rows_(memory.template take<T>(tile::rows * width)),
          in_place_(memory.template take<T>(tile::rows * (width + tile::lanes))) {
        std::fill_n(in_place_, tile::rows * (width + tile::lanes), T{0});  // a product of one of them reads on
    }

    template <class Row>
    void take(index_t count, Row const& row) {
        padded = tile::width_in_place(count);
        std::fill_n(rows_, tile::rows * width, T{0});
        for (index_t r = 0; r < count; ++r)
            std::transform(row(r), row(r) + features, rows_ + r * width, [](auto x) { return static_cast<T>(x); });
        for (index_t c = 0; c < width; c += tile::lanes)
            for (index_t r = 0; r < padded; ++r)
                std::copy_n(rows_ + r * width + c, tile::lanes, in_place_ + c * padded + r * tile::lanes);
        finite = kernel::all_finite<T, Arch>([&](index_t r) { return rows_ + r * width; }, count, width);
    }
    T const* row(index_t r) const { return rows_ + r * width; }  // (rows, width)
    T const* in_place() const { return in_place_; }              // (packs, padded, lanes)

    index_t features, width;
    index_t padded = 1;  // rows of products
    bool finite = true;

private:
    T *rows_, *in_place_;
};

/// The rows that an expression reads. Where pairs choose them along one axis, what belongs to pairs goes by way of a
/// number for each row of the table and query, among the rows that bounds of the index find for a tile and some keys:
///
///     E_ir = sum over j that choose r of w_ij,   sum_j w_ij R_r(i,j) = sum_r E_ir R_r
///     dR += E^T dO,                              dO_i R_r(i,j) = (dO R^T)_i at r(i,j)
///
/// Elsewhere, and where a product would meet numbers that are not finite, they are read pair by pair.
template <class T, class Arch, class E>
class rows_of_pairs {
    using vector = kernel::pack<T, Arch>;
    using lane_operations = kernel::lanes_of<T, Arch>;
    using product = kernel::number_product<T, Arch>;
    using tile = plan::key_lanes_blocking<T, Arch>;
    static constexpr int axis = plan::axis_of_pair<E>;
    static constexpr index_t block_keys = 128, most_rows = 2 * block_keys, columns = 4 * vector::lanes;

    /// A number for each query of a tile and each row that it may choose: (rows, most_rows).
    struct numbers {
        alignas(cache_line) T first[static_cast<std::size_t>(tile::rows * most_rows)];
        T* row(index_t r) { return first + r * most_rows; }
    };

public:
    explicit rows_of_pairs(E const& e) : expression_(e) {}

    auto const& table() const { return fovea::detail::table_of(expression_); }
    /// Calls f(row, first, last) for runs of keys, of which key(i) is the one in place i, that have one row, of the
    /// table or of sums of its extents: beyond the reach of a table all have.
    template <class Element, int Rank, class Key, class F>
    void for_runs(view<Element, Rank> const& in, kernel::row_coordinates const& row, index_t count, Key const& key,
                  F const& f) const {
        for (index_t first = 0; first < count;) {
            Element* const here = of_pair(in, row, key(first));
            index_t last = first + 1;
            while (last < count && of_pair(in, row, key(last)) == here) ++last;
            f(here, first, last);
            first = last;
        }
    }
    /// to += weight * row
    template <class Element>
    static void add(T weight, Element const* row, T* to, index_t count) {
        vector const factor(weight);
        for (index_t c = 0; c < count; c += vector::lanes)
            lane_operations::store(
                fma(factor, kernel::load_as<T, Arch>(row + c, count - c), lane_operations::load(to + c, count - c)),
                to + c, count - c);
    }

    /// to(coordinates) += the rows that the pairs of a query choose, times their weights.
    template <class To>
    void add_weighted(tile_of_pairs<T const> const& weights, index_t features, To const& to) const {
        for_blocks(
            table(), weights,
            [&](auto const& block, auto const& of) {
                numbers sums;
                add_up(block, of, sums);
                for (index_t c = 0; c < features; c += columns)
                    add_columns(block, of, sums, c, std::min(columns, features - c), to);
            },
            [&](auto const& block) { add_by_runs(block, 0, features, to); });
    }
    /// d += the products of each query's vector with the rows that its pairs choose.
    void add_products(feature_rows<T, Arch> const& with, tile_of_pairs<T> const& d) const {
        for_blocks(
            table(), d,
            [&](auto const& block, auto const& of) {
                using element = std::remove_cvref_t<decltype(*of.first)>;
                using in_place = typename product::template keys_in_place<kernel::even_rows<element>>;
                numbers products;
                contract_stored<Arch, T>(in_place{{of.at(of.rows.lo), of.stride}},
                                         {with.in_place() + block.from_row * tile::lanes, with.padded, of.count(),
                                          with.features, products.first, most_rows});
                for (index_t r = 0; r < block.count; ++r)
                    for (index_t k = 0; k < block.keys; k += vector::lanes) {
                        T chosen[vector::lanes];
                        kernel::row_numbers<axis, T, Arch>(expression_, block.rows[r], block.first + k, 1,
                                                           kernel::numbers_of_rows<T const>{products.row(r), of.rows},
                                                           chosen);
                        kernel::add_to<T, Arch>(block.row(r) + k, vector::load(chosen), block.keys - k);
                    }
            },
            [&](auto const& block) {
                for_runs(table(), block, [&](auto const* row, index_t r, index_t first, index_t last) {
                    T const sum = product_of(row, with.row(block.from_row + r), with.features);
                    for (index_t k = first; k < last; ++k) block.row(r)[k] += sum;
                });
            });
    }
    /// The sums of rows of a table += weights times each query's vector.
    template <class Element, int Rank>
    void add_to_table(feature_rows<T, Arch> const& with, tile_of_pairs<T const> const& weights,
                      view<Element, Rank> const& to) const {
        auto const by_runs = [&](auto const& block) {
            for_runs(to, block, [&](Element* row, index_t r, index_t first, index_t last) {
                T const weight = std::accumulate(block.row(r) + first, block.row(r) + last, T{0});
                if (weight != 0) add(weight, with.row(block.from_row + r), row, with.features);
            });
        };
        for_blocks(
            to, weights,
            [&](auto const& block, auto const& of) {
                if (!with.finite || of.stride == 0) return by_runs(block);
                numbers sums;
                add_up(block, of, sums);
                Element* const rows = to.data + (of.at(of.rows.lo) - to.data);
                index_t const whole = with.features - with.features % vector::lanes;
                if (whole > 0)
                    packed_products<product>::accumulate_transposed({{{sums.first, {}, most_rows},
                                                                      block.count,
                                                                      {with.row(block.from_row), with.width},
                                                                      rows,
                                                                      of.stride,
                                                                      nullptr},
                                                                     whole,
                                                                     of.count(),
                                                                     tile::rows});
                for (index_t n = 0; n < of.count() && whole < with.features; ++n)
                    for (index_t r = 0; r < block.count; ++r)
                        if (T const weight = sums.row(r)[n]; weight != 0)
                            add(weight, with.row(block.from_row + r) + whole, rows + n * of.stride + whole,
                                with.features - whole);
            },
            by_runs);
    }

private:
    template <class Element, int Rank>
    Element* of_pair(view<Element, Rank> const& in, kernel::row_coordinates const& row, index_t key) const {
        auto const at = evaluate(expression_, row_environment<T, Arch>{{row, key}});
        return std::apply([&](auto... index) { return in.data + clamped_offset(in, index...); }, at);
    }
    template <class Element>
    static T product_of(Element const* row, T const* with, index_t count) {
        vector sum(T{0});
        for (index_t c = 0; c < count; c += vector::lanes)
            sum = fma(kernel::load_as<T, Arch>(row + c, count - c), lane_operations::load(with + c, count - c), sum);
        return lane_operations::sum(sum);
    }
    template <class Element, int Rank, class Number, class F>
    void for_runs(view<Element, Rank> const& in, tile_of_pairs<Number> const& block, F const& f) const {
        for (index_t r = 0; r < block.count; ++r)
            for_runs(
                in, block.rows[r], block.keys, [&](index_t i) { return block.first + i; },
                [&](Element* row, index_t first, index_t last) { f(row, r, first, last); });
    }

    /// Calls multiply(block, rows) for blocks of keys of which some rows of a table, or of sums of its extents, may be
    /// chosen, read(block) for others.
    template <class Element, int Rank, class Number, class Multiply, class Read>
    void for_blocks(view<Element, Rank> const& in, tile_of_pairs<Number> const& pairs, Multiply const& multiply,
                    Read const& read) const {
        if constexpr (axis < 0) {
            read(pairs);
        } else {
            bool const one_head = std::all_of(pairs.rows, pairs.rows + pairs.count, [&](auto const& row) {
                return row.head == pairs.rows->head && row.batch == pairs.rows->batch;
            });
            if (!one_head && uses<E, batch_t, head_t>) {
                for (index_t r = 0; r < pairs.count; ++r) for_blocks(in, pairs.of_row(r), multiply, read);
                return;
            }
            for (index_t k = 0; k < pairs.keys; k += block_keys) {
                auto const block = pairs.of_keys(k, std::min(block_keys, pairs.keys - k));
                if (auto const of = rows_for(in, block)) multiply(block, *of);
                else read(block);
            }
        }
    }
    /// The rows that the pairs of a block may choose; none where they are too many.
    template <class Element, int Rank, class Number>
    std::optional<rows_of_table<std::remove_const_t<Element>>> rows_for(view<Element, Rank> const& in,
                                                                        tile_of_pairs<Number> const& block) const {
        auto const& index = get<std::size_t{axis + 1}>(expression_);
        box where{.batch = {block.rows->batch},
                  .head = {block.rows->head},
                  .q_idx = {block.rows->q_idx},
                  .kv_idx = {block.first, block.first + block.keys - 1},
                  .q_len = block.rows->q_len,
                  .kv_len = block.rows->kv_len,
                  .dim = block.rows->dim};
        for (index_t r = 1; r < block.count; ++r)
            where.q_idx = {std::min(where.q_idx.lo, block.rows[r].q_idx),
                           std::max(where.q_idx.hi, block.rows[r].q_idx)};
        if (in.empty() || (sizeof(T) == 4 && !fits_32_bits(index, fovea::detail::bound_environment<T>{where, 0})))
            return std::nullopt;
        auto const chosen = chosen_rows<T>(index, where, in.extent(axis) - 1, block.count * block.keys);
        if (chosen.hi - chosen.lo >= most_rows) return std::nullopt;
        auto at = evaluate(expression_, row_environment<T, Arch>{{*block.rows, block.first}});
        at[std::size_t{axis}] = 0;
        return rows_of_table<std::remove_const_t<Element>>{
            std::apply([&](auto... index_of) { return in.data + clamped_offset(in, index_of...); }, at),
            in.stride(axis), chosen};
    }

    /// E of the queries of a block; 0 for those that fill the tile.
    template <class Element>
    void add_up(tile_of_pairs<T const> const& block, rows_of_table<Element> const& of, numbers& to) const {
        for (index_t r = 0; r < tile::rows; ++r) std::fill_n(to.row(r), round_up(of.count(), vector::lanes), T{0});
        for (index_t r = 0; r < block.count; ++r)
            kernel::add_to_row_numbers<axis, T, Arch>(expression_, block.rows[r], block.first, block.keys, block.row(r),
                                                      kernel::numbers_of_rows<T>{to.row(r), of.rows});
    }
    /// The columns of E R from one on, added to their rows; read pair by pair where they are not finite, since a row
    /// that is not may be of no pair that has a weight.
    template <class Element, class To>
    void add_columns(tile_of_pairs<T const> const& block, rows_of_table<Element> const& of, numbers& weights, index_t c,
                     index_t count, To const& to) const {
        kernel::even_rows<Element> const rows{of.at(of.rows.lo) + c, of.stride};
        index_t const whole = count - count % vector::lanes;
        alignas(cache_line) T sums[static_cast<std::size_t>(tile::rows * columns)] = {};
        T ones[static_cast<std::size_t>(tile::rows)];
        std::fill_n(ones, tile::rows, T{1});
        weighted_rows<T, kernel::even_rows<Element>> const products{
            {{weights.first, most_rows, {}}, of.count(), rows, sums, columns, ones},
            whole,
            block.count,
            tile::height_for(block.count)};
        kernel::prefetch_queue none;
        if constexpr (std::is_same_v<Element, T>) packed_products<product>::accumulate(products, none);
        else if (whole > 0) accumulate_few<product>(typename product::step{}, products);
        for (index_t r = 0; r < block.count && whole < count; ++r)
            kernel::accumulate_nonzero<T, Arch>(typename product::step{}, weights.row(r), of.count(),
                                                rows.from(0, whole), sums + r * columns + whole, count - whole);
        if (!kernel::all_finite<T, Arch>([&](index_t r) { return sums + r * columns; }, block.count, count))
            return add_by_runs(block, c, count, to);
        for (index_t r = 0; r < block.count; ++r)
            for (index_t i = 0; i < count; i += vector::lanes)
                kernel::add_to<T, Arch>(to(block.rows[r]) + c + i, vector::load(sums + r * columns + i), count - i);
    }
    template <class To>
    void add_by_runs(tile_of_pairs<T const> const& block, index_t c, index_t count, To const& to) const {
        for_runs(table(), block, [&](auto const* row, index_t r, index_t first, index_t last) {
            T const weight = std::accumulate(block.row(r) + first, block.row(r) + last, T{0});
            if (weight != 0) add(weight, row + c, to(block.rows[r]) + c, count);
        });
    }

    E expression_;
};

}  // namespace fovea::FOVEA_SET::driver
