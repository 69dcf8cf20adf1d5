// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the matrix of a projection and its bias have elements of one type
#include <fovea/project/project.hpp>

#include <vector>

using namespace fovea;

auto projection_of(view<float const, 2> w, std::vector<double> const& wide, std::vector<float> const& bias) {
#ifdef FOVEA_BROKEN
    static_cast<void>(bias);
    return project(linear(w, wide), as_is, as_is);
#else
    static_cast<void>(wide);
    return project(linear(w, bias), as_is, as_is);
#endif
}
