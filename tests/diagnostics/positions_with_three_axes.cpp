// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this table has more axes than the word reads
#include <fovea/project/rotary.hpp>

using namespace fovea;

constexpr int places[8] = {};

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const turned = rotary.positions(view<int const, 3>(places, {1, 2, 4}));
#else
[[maybe_unused]] auto const turned = rotary.positions(view<int const, 2>(places, {2, 4}));
#endif
