// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a pointer does not say how many elements there are: write view(pointer, extents)
#include <fovea/project/rotary.hpp>

#include <vector>

using namespace fovea;

std::vector<float> const frequencies(8, 1.f);

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const turned = rotary.frequencies(&frequencies[0]);
#else
[[maybe_unused]] auto const turned = rotary.frequencies(frequencies);
#endif
