// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over features of what is of the key with rows of a table, by way of a matrix product of keys and rows, from
// which each pair takes its number.
#pragma once

#include <fovea/driver/dense/stored_keys.hpp>
#include <fovea/driver/dense/table_products.hpp>

#include <algorithm>
#include <type_traits>

namespace fovea::FOVEA_SET::driver {

/// A term sum_f B_f R_f, with B of the key and R the row of a table that the pair chooses along one axis, such as
/// "position to content" of DeBERTa (He et al. 2021, equation 4).
///
/// The product R B^T of a panel of keys is computed for all rows between the least and the greatest that interval
/// arithmetic finds for a tile of queries; by distance the next tile meets most of them again, so they are kept as long
/// as tiles take the same block of keys. A tile that meets all keys before the next one multiplies its rows again.
template <class Call>
class key_table_products {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using tile = key_lanes_of<Call>;
    using context_type = context_of<Call, tile>;
    using rows_type = tile_rows<tile>;
    using keys_type = head_keys<tile>;
    using stored = stored_keys<Call>;

public:
    /// The rows that pairs of a tile and a panel of keys choose, at most `most`; none where they are too many.
    template <class Pair>
    static auto rows_for(context_type const& context, rows_type const& rows, Pair const& pair, index_t first,
                         index_t count, index_t most) {
        auto of = table_products<Call>::rows_for(context, rows, pair, first, count);
        if (of && (of->count() > most || context.span_of(pair).count == 0)) of.reset();
        return of;
    }

    /// The sums of the nth term with a run of keys of a block, in whole panels; by_feature(part) computes those that
    /// are not for a product.
    template <class Pair, class ByFeature>
    static void multiply(context_type const& context, rows_type const& rows, keys_type const& keys, index_t block,
                         Pair const& pair, index_t nth, score_block<tile> const& to, ByFeature const& by_feature) {
        auto const term = plan::row_product_of(pair.body);
        auto const& held = keys.key_tables();
        index_t const features = context.span_of(pair).count, within = to.first - keys.first(block);
        T* const packed = keys.keys(block, stored::plane_of_table(nth)) + within * features;
        for (index_t k = 0; k < to.count; k += tile::panel) {
            auto const part = to.part(k, tile::panel);
            auto const of = rows_for(context, rows, pair, part.first, part.count, held.capacity);
            if (!of) {
                by_feature(part);
                continue;
            }
            T const* const products =
                held.of(nth, of->first, part.first, of->rows, [&](interval<index_t> const& some, T* of_rows) {
                    multiply_rows(*of, some, features, packed + k * features, held.rows(), of_rows);
                });
            for (index_t r = 0; r < rows.count; ++r)
                kernel::row_numbers<decltype(term)::axis, T, Arch>(
                    term.row, rows.coordinates[static_cast<std::size_t>(r)], part.first, part.packs(),
                    kernel::numbers_of_keys<T const>{{products, of->rows}, tile::panel}, part.scores + r * part.stride);
        }
    }

private:
    /// The products of some rows with a panel of keys.
    template <class Element>
    static void multiply_rows(rows_of_table<Element> const& of, interval<index_t> const& some, index_t features,
                              T* keys,  // (features, panel)
                              [[maybe_unused]] T* converted,
                              T* to) {  // (some, panel)
        index_t const count = some.hi - some.lo + 1;
        kernel::key_operand<T> const rows = [&] {
            if constexpr (std::is_same_v<std::remove_const_t<Element>, T>) {
                return kernel::key_operand<T>{of.at(some.lo), of.stride, {}};
            } else {
                index_t const width = round_up(features, tile::lanes);
                for (index_t i = 0; i < count; ++i)
                    kernel::convert_row<T, Arch>(of.at(some.lo + i), features, converted + i * width);
                return kernel::key_operand<T>{converted, width, {}};
            }
        }();
        kernel::prefetch_queue none;
        products<T, Arch>::contract_query_lanes(
            rows, {tile::nv, count, features, keys, to, tile::panel, nullptr, nullptr}, none);
    }
};

}  // namespace fovea::FOVEA_SET::driver
