// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this word reads a table by its indices: pass a view, a tensor or a container
#include <fovea/score/alibi.hpp>

#include <array>

using namespace fovea;
using namespace fovea::placeholders;

constexpr std::array<float, 8> slopes{};

#ifdef FOVEA_BROKEN
auto made = alibi(0.5f);
#else
auto made = alibi(slopes);
#endif
