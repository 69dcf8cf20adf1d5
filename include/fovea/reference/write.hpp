// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rounds what has been computed to the types that were asked for.
#pragma once

#include <fovea/reference/aggregate.hpp>
#include <fovea/reference/finish.hpp>
#include <fovea/spec/outputs.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET::reference {

template <class T, class Real>
void write(view<T, 4> const& target, array<Real> const& computed) {
    for_each_element(computed.extents, [&](index_t b, index_t h, index_t n, index_t c) {
        target(b, h, n, c) = rounded_to<T>(computed(b, h, n, c));
    });
}

}  // namespace fovea::FOVEA_SET::reference
