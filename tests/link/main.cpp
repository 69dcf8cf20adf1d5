// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace fovea;

void attend_narrow(view<float const, 4>, view<float const, 4>, view<float const, 4>, view<float, 4>);
void attend_wide(view<float const, 4>, view<float const, 4>, view<float const, 4>, view<float, 4>);

namespace {

tensor<float, 4> waves(index_t positions, float step) {
    tensor<float, 4> result({1, 2, positions, 24});
    for (index_t i = 0; i < result.size(); ++i) result.data()[i] = std::sin(step * static_cast<float>(i));
    return result;
}

}  // namespace

// Both units must compute the same attention.
int main() {
    auto const query = waves(37, 0.7f), key = waves(41, 1.1f), value = waves(41, 1.3f);
    tensor<float, 4> narrow(query.extents), wide(query.extents);
    attend_narrow(query.view(), key.view(), value.view(), narrow.view());
    attend_wide(query.view(), key.view(), value.view(), wide.view());

    float largest = 0;
    for (index_t i = 0; i < narrow.size(); ++i)
        largest = std::max(largest, std::abs(narrow.data()[i] - wide.data()[i]));
    std::printf("the two units differ by at most %g\n", largest);
    return largest < 1e-5f ? 0 : 1;
}
