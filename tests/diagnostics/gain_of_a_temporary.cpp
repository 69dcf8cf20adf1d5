// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this word keeps a view, and this container is a temporary, destroyed at the end of the statement
#include <fovea/project/rms_normalized.hpp>

#include <vector>

using namespace fovea;

std::vector<float> const gain(8, 1.f);

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const normalized_by_gain = rms_normalized(std::vector<float>(8, 1.f));
#else
[[maybe_unused]] auto const normalized_by_gain = rms_normalized(gain);
#endif
