// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which product multiplies operands of given types on an architecture: the one place that chooses.
#pragma once

#include <fovea/expr/placeholder.hpp>
#include <fovea/kernel/product/bf16_product.hpp>
#include <fovea/kernel/product/number_product.hpp>
#include <fovea/plan/product.hpp>

namespace fovea::FOVEA_SET::kernel {

/// product: how operands are multiplied, one type for an architecture and the elements of both operands. It says how
/// each operand is packed or read in place, and which step its microkernels take; the traversals know no element type.
///
///     step                                     of its microkernels (kernel/step.hpp)
///     scope                                    stands in each task while it multiplies (driver/product_scopes.hpp)
///     takes_query_lanes                        queries may be in lanes, keys broadcast element by element
///     transpose(body, row, base, scale, to)    packs rows, a column for each
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

/// The product of elements as they are stored, where an architecture has an instruction for it.
template <class T, class Arch>
using stored_product = bf16_product<T, Arch>;

static_assert(product<number_product<float, arch::best>> && product<stored_product<float, arch::best>>);

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
