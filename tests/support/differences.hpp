// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients of numbers in double, held against central differences of a loss.
#pragma once

#include "catch.hpp"

#include <cstddef>

/// How elements are compared: how far each is moved, how far off its gradient may be beside the tolerance of Approx,
/// and that one of `every` elements is compared.
struct differences {
    double width = 1e-5, margin = 1e-7;
    std::size_t every = 1;
};

/// The gradients of the elements of an array are limits of differences of loss(), which reads the array.
template <class Array, class Gradients, class Loss>
void check_differences(Array& array, Gradients const& gradients, Loss const& loss, differences const& how = {}) {
    for (std::size_t i = 0; i < array.elements.size(); i += how.every) {
        double& element = array.elements[i];
        double const was = element;
        element = was + how.width;
        double const above = loss();
        element = was - how.width;
        double const below = loss();
        element = was;
        CHECK(gradients.elements[i] == Approx((above - below) / (2 * how.width)).margin(how.margin));
    }
}
