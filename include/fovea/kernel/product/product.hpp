// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which product multiplies operands of given types on an architecture: the one place that chooses.
#pragma once

#include <fovea/expr/placeholder.hpp>
#include <fovea/kernel/packing.hpp>
#include <fovea/kernel/product/amx_product.hpp>
#include <fovea/kernel/product/bf16_product.hpp>
#include <fovea/kernel/product/contract_rows.hpp>
#include <fovea/kernel/product/integer_product.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/simd/arch/processor.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET::kernel {

/// The product of numbers of type T: operands of any type are converted as they are packed or read, and the factor of
/// a row is multiplied into its elements.
template <class T, class Arch>
struct number_product {
    using number = T;
    using architecture = Arch;
    using step = number_products;
    struct scope {};
    static constexpr bool available = true;
    static constexpr bool takes_query_lanes = true;  // operands may be broadcast element by element
    template <class Rows>
    using keys_in_place = kernel::keys_in_place<T, Arch, Rows>;

    /// Scales, maps and transposes rows.
    template <class Body, class Rows, class Bases, class Scales>
    static void transpose(Body const& body, Rows const& row, Bases const& base, Scales const& scale,
                          transpose_target<T> const& destination) {
        transpose_features<T, Arch>(body, row, base, scale, destination);
    }
    /// Calls store(n, pack) with each pack of a scaled and mapped row, for products with keys in place.
    template <class Body, class Element, class Base, class F>
    static void for_packs(Body const& body, Element const* row, Base const& base, T scale, index_t features,
                          F const& store) {
        for_features<T, Arch>(body, base, row, row, features, [&](index_t f, auto const& value) {
            store(f / pack<T, Arch>::lanes, value * pack<T, Arch>(scale));
        });
    }
    /// One row of packed values.
    template <class Value>
    static void pack_values(Value const* row, Value const*, index_t n, T* to) {
        convert_row<T, Arch>(row, n, to);
    }
    /// Weights as the product takes them, in place.
    static void round_weights(T*, index_t) {}
};

/// The same with queries in place that are rounded to blocks of integers, for keys in such blocks.
template <class T, class Arch, block_of_words Block>
struct integer_product : number_product<T, Arch> {
    template <class Rows>
    using keys_in_place = blocks_in_place<Arch, Rows>;

    /// Of a row of whole blocks.
    template <class Body, class Element, class Base, class F>
    static void for_packs(Body const& body, Element const* row, Base const& base, T scale, index_t features,
                          F const& store) {
        constexpr index_t lanes = pack<T, Arch>::lanes, packs = rounded_query::packs<Arch>;
        alignas(64) T numbers[rounded_query::size];
        auto const add = [&](index_t n, auto const& value) {
            index_t const feature = n * lanes, at = feature % rounded_query::size;
            value.store(numbers + at);
            if (at + lanes < rounded_query::size) return;
            rounded_query const block(numbers, block_words<Block>::template zero<Arch>);
            for (index_t p = 0; p < packs; ++p)
                store(feature / rounded_query::size * packs + p, block.template load<Arch>(p));
        };
        number_product<T, Arch>::for_packs(body, row, base, scale, features, add);
    }
};

/// product: how operands are multiplied, one type for an architecture and the elements of both operands. It says how
/// each operand is packed or read in place, and which step its microkernels take; the traversals know no element type.
///
///     step                                     of its microkernels (kernel/product/outer_product.hpp)
///     scope                                    stands in each task while it multiplies
///     (driver/call/products.hpp) takes_query_lanes                        queries may be in lanes, keys
///     broadcast element by element transpose(body, row, base, scale, to)    packs rows, a column for each
///     for_packs(body, row, base, scale, n, f)  lays out a row for keys in place
///     keys_in_place<Rows>                      how those are read
///     pack_values(row, next, n, to)            packs the values of as many keys as a step takes
///     round_weights(row, n)                    makes weights what a step takes
template <class P>
concept product = step_of_products<typename P::step> && std::default_initializable<typename P::scope>
               && requires(typename P::number* row, index_t n) {
                      typename P::architecture;
                      { P::available } -> std::convertible_to<bool>;
                      { P::takes_query_lanes } -> std::convertible_to<bool>;
                      P::round_weights(row, n);
                  };

/// lane_product: the same where queries are in lanes, keys are read as they lie and nothing is summed across lanes
/// (driver/dense/query_lanes_products.hpp):
///
///     blocking, element                           the blocking, and what keys and values are read or copied as
///     scope                                    as above
///     scales_queries                           the factors of queries are applied to them; to their sums otherwise
///     contract_query_lanes(keys, sums, next)   S^T = K Q^T
///     accumulate_query_lanes(values, ...)      O^T = O^T rescale + V^T P^T
///     packs_values                             values are packed block by block:
///     pack_queries, pack_values                how operands are packed,
///     copy_key, end_keys                       and how keys are copied, one by one and after the last,
///     value_at(packed, width, key, feature)    a number of packed values, and
///     query_planes<Element>                    the planes that queries of other elements are packed in
template <class P>
concept lane_product =
    std::default_initializable<typename P::scope>
    && requires(key_operand<typename P::element> const& keys, value_operand<typename P::element> const& values,
                lane_sums<typename P::number> const& sums, prefetch_queue& next) {
           requires P::blocking::queries_in_lanes;
           { P::packs_values } -> std::convertible_to<bool>;
           { P::scales_queries } -> std::convertible_to<bool>;
           P::contract_query_lanes(keys, sums, next);
           P::accumulate_query_lanes(values, sums, next);
       };

/// Either of them: what stands in a task while it multiplies.
template <class P>
concept configured_product = product<P> || lane_product<P>;

/// The product of elements as they are stored, where an architecture has an instruction for it.
template <class T, class Arch>
using stored_product = bf16_product<T, Arch>;

static_assert(product<number_product<float, arch::best>> && product<stored_product<float, arch::best>>);

/// The product of a matrix unit, of operands and weights in so many parts.
template <class T, class Arch, class Parts = plan::parts_of_operands<>>
using matrix_unit_product = amx_bf16<T, Arch, Parts>;

/// Its sums of keys in a gradient.
template <class T, class Arch, class Parts>
using matrix_unit_key_sums = amx_key_sums<T, Arch, Parts>;

/// Calls f(type of architecture): another one than `Arch` where a matrix unit would multiply operands of these
/// elements, or any that is asked for, such as what is projected, and this process may not use it; and where pairs of
/// them would be multiplied in vectors by a processor that is slow at it.
template <class Arch, class T, int Asked, class... Elements, class F>
decltype(auto) on_usable(F const& f) {
    if constexpr (plan::multiplies_in_matrix_unit<T, Arch, Asked, std::conditional_t<(Asked > 0), T, Elements>...>
                  && requires { typename Arch::without_matrix_unit; }) {
        if (!matrix_unit<Arch>::available()) return f(std::type_identity<typename Arch::without_matrix_unit>{});
    }
    if constexpr (plan::multiplies_as_stored<T, Arch, Elements...> && requires { typename Arch::without_fast_pairs; }) {
        if (!multiplies_pairs_fast()) return f(std::type_identity<typename Arch::without_fast_pairs>{});
    }
    return f(std::type_identity<Arch>{});
}

namespace detail {
template <class T, class Arch, class Block>
struct of_blocks : std::type_identity<number_product<T, Arch>> {};
template <class Arch, block_of_words Block>
struct of_blocks<float, Arch, Block> : std::type_identity<integer_product<float, Arch, Block>> {};
}  // namespace detail

/// S = Q K^T of these elements and keys that are read in blocks, for which queries are rounded where that is possible.
template <class T, class Arch, class Block>
using block_product = typename detail::of_blocks<T, Arch, Block>::type;

/// S = Q K^T of these elements, where the factors of the product are `OfQuery` and `OfKey`.
template <class T, class Arch, class Query, class Key, class OfQuery = q_t, class OfKey = k_t>
using score_product = std::conditional_t<plan::multiplies_as_stored<T, Arch, Query, Key> && std::is_same_v<OfQuery, q_t>
                                             && std::is_same_v<OfKey, k_t>,
                                         stored_product<T, Arch>, number_product<T, Arch>>;

/// O = P V of these elements; weights lose precision only where results are stored with no more.
template <class T, class Arch, class Value, class Result, bool Is_sum>
using value_product = std::conditional_t<Is_sum && plan::multiplies_as_stored<T, Arch, Value, Result>,
                                         stored_product<T, Arch>, number_product<T, Arch>>;

}  // namespace fovea::FOVEA_SET::kernel
