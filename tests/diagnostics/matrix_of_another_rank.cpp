// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the matrix of a projection is (in, out) and its bias (out)
#include <fovea/project/project.hpp>

#include <vector>

using namespace fovea;

auto projection_of(std::vector<float> const& w) {
#ifdef FOVEA_BROKEN
    return project(w, as_is, as_is);
#else
    return project(view(w, {8, w.size() / 8}), as_is, as_is);
#endif
}
