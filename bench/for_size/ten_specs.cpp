// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "specs.hpp"

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

namespace {
template <int... N>
bool all_finite(rows_read in, rows_written to, std::integer_sequence<int, N...>) {
    return ((run<N>(in, in, in, to), std::isfinite(to(0, 0, 5, 0))) && ...);
}
}  // namespace

int main() {
    fovea::extents_t<4> const extents{1, 2, 40, 16};
    std::vector<float> x(2 * 40 * 16), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i));
    bool const finite = all_finite({x.data(), extents}, {y.data(), extents}, std::make_integer_sequence<int, 10>{});
    std::puts(finite ? "ten specifications ran" : "a result is not finite");
    return finite ? 0 : 1;
}
