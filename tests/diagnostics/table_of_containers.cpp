// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a container of containers is not contiguous: copy it into one container and write view(elements,
// {rows, columns})
#include <fovea/score/bias.hpp>

#include <vector>

using namespace fovea;

#ifdef FOVEA_BROKEN
auto score_of(std::vector<std::vector<float>> const& table) { return bias(table); }
#else
auto score_of(std::vector<float> const& table) { return bias(view(table, {4, table.size() / 4})); }
#endif
