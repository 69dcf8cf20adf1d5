// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/calls/parameters.hpp"

#include <cstddef>
#include <string_view>

namespace calls {

/// The operations of one call of a kernel, counted on paper: additions and multiplications of the two products, over
/// the pairs that take part. Exponentials, activations, masks and sorting are not counted, and neither is what a
/// program does for pairs that take no part. Here and nowhere else is said what is counted:
///
///     most            2 (features + value features) for each visible pair and head
///     additive        the same: a multiply-add for each feature of a pair, and for each of its value
///     hard            2 features for each pair: values are only copied
///     gat             2 value features for each edge and head: its score is one addition
///     gatv2           2 (features + value features) for each edge and head
///     linear          4 features x value features for each position and head: the state is updated and read
///     sparse weights  as if all of them were above 0
double operations_of(std::string_view kernel, sizes const& n, parameters const& p);

/// The bytes of keys and values that one call reads, where reading them is the limit: decode. 0 for all others.
double bytes_of(std::string_view kernel, sizes const& n, parameters const& p, std::size_t bytes_of_element);

}  // namespace calls
