// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of operands that are converted to the type of the arithmetic.
#pragma once

#include <fovea/kernel/packing.hpp>
#include <fovea/kernel/product/contract_rows.hpp>

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

}  // namespace fovea::FOVEA_SET::kernel
