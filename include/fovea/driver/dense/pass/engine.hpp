// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dense engine of an element type and an architecture, which knows no specification: compiled in each unit or, for
// programs with many specifications, once (src/compiled.cpp).
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/pass/online.hpp>
#include <fovea/driver/dense/pass/split_keys.hpp>
#include <fovea/driver/dense/pass/whole_rows.hpp>
#include <fovea/driver/dense/query_lanes_products.hpp>

/// Explicit instantiations: `declare` empty defines them, `extern` declares them. Expand in fovea::driver.
#define FOVEA_DENSE_ENGINE(declare, T, Arch)                                          \
    declare template struct packed_products<kernel::number_product<T, Arch>>;         \
    declare template struct packed_products<kernel::stored_product<T, Arch>>;         \
    declare template class block_mask<plan::key_lanes_blocking<T, Arch>>;             \
    declare template class dense_loop<online<plan::key_lanes_blocking<T, Arch>>>;     \
    declare template class dense_loop<whole_rows<plan::key_lanes_blocking<T, Arch>>>; \
    FOVEA_QUERY_LANES_ENGINE(declare, T, Arch)

/// The part of it that a unit for size leaves out (plan/variants.hpp).
#if FOVEA_HAS(FOVEA_SIZE)
#define FOVEA_QUERY_LANES_ENGINE(declare, T, Arch)                               \
    declare template void products<T, Arch>::transpose(transposition<T> const&); \
    declare template void products<T, Arch>::contract_in_place(                  \
        kernel::keys_in_place<T, Arch, kernel::even_rows<T>> const&, kernel::row_products<T> const&);
#else
#define FOVEA_QUERY_LANES_ENGINE(declare, T, Arch)                                     \
    declare template struct products<T, Arch>;                                         \
    declare template class block_mask<plan::query_lanes_blocking<T, Arch>>;            \
    declare template struct query_lanes_products<plan::query_lanes_blocking<T, Arch>>; \
    declare template class dense_loop<online<plan::query_lanes_blocking<T, Arch>>>;
#endif

#ifdef FOVEA_COMPILED
namespace fovea::FOVEA_SET::driver {
FOVEA_DENSE_ENGINE(extern, float, arch::best)
FOVEA_DENSE_ENGINE(extern, double, arch::best)
}  // namespace fovea::FOVEA_SET::driver
#endif
