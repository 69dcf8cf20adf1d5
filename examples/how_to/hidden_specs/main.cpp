// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls attention without knowing any specification, and holds it to laws.
#include "attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void require(bool holds, char const* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::exit(EXIT_FAILURE);
}

float difference(std::vector<float> const& a, std::vector<float> const& b) {
    float largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

}  // namespace

int main() {
    //! [call]
    fovea::extents_t<4> const extents{1, 2, 40, 16};
    std::vector<float> x(2 * 40 * 16), y(x.size()), slopes{0.5f, 0.25f};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i));
    fovea::view<float const, 4> const in(x.data(), extents);
    model::alibi_attention(in, in, in, {slopes.data(), {2}}, {y.data(), extents});
    //! [call]
    auto const alibi = y;
    model::windowed_attention(in, in, in, 1, {y.data(), extents});
    require(difference(y, x) < 1e-6f, "a query that sees itself alone gets its own value");

    model::windowed_attention(in, in, in, 40, {y.data(), extents});
    std::vector<float> const causal = y;
    slopes = {0, 0};
    model::alibi_attention(in, in, in, {slopes.data(), {2}}, {y.data(), extents});
    require(difference(y, causal) < 1e-6f, "slopes of 0 and a window over everything are both causal attention");
    require(difference(alibi, causal) > 0.1f, "with other slopes it is not");
}
