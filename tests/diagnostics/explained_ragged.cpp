// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: ragged(...) runs one call for each sequence: explain that of one sequence, without ragged
#include <fovea/fovea.hpp>

#include <string>
#include <vector>

using namespace fovea;

std::string call(std::vector<int> const& offsets, view<float const, 2> x) {
    auto const spec = scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    return explain(threads(2), ragged(offsets), spec, x);
#else
    return explain(spec, view(x.data, {offsets[1], x.extent(1)}));
#endif
}
