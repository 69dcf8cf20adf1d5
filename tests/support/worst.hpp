// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

/// The greater of two differences; one that is not a number stays, whatever follows.
inline double worse(double most, double off) { return std::isnan(most) || most >= off ? most : off; }
template <class... Off>
double worse(double most, double off, Off... others) {
    return worse(worse(most, off), others...);
}
