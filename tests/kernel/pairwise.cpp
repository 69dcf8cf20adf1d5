// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
// tanh of a sum from exponentials of each side: how far it is from tanh, and where it may be used.
#include <fovea/driver/dense/pairwise.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/guarded.hpp"

#include <cmath>
#include <limits>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// Points from -reach to reach, as numbers in memory: where an expression stands in place of one, compilers contract it
/// differently wherever it is used.
[[gnu::noinline]] std::vector<double> points(double reach, index_t count) {
    std::vector<double> all;
    for (index_t i = 0; i < count; ++i)
        all.push_back(reach * (2.0 * static_cast<double>(i) / static_cast<double>(count - 1) - 1));
    return all;
}

/// The greatest distance of sums of c (tanh(a + b) - 1) over a few features from what the loop over pairs makes of the
/// factors, relative to c and the number of features. Both sides run from -reach to reach, and c has either sign; the
/// factors are those of the plan, rounded once.
template <class T, class Arch>
double worst_error(T scale, double reach, index_t features) {
    constexpr index_t width = kernel::pack<T, Arch>::lanes;
    auto const factors = plan::factor_rest(scale * tanh(q + k));
    double const sides[] = {1, -0.5, -1}, signs[] = {1, -1, 1};
    guarded<T> queries(2 * features), keys(features * width), scores(width);
    kernel::row_coordinates const row;
    double worst = 0;
    auto const as = points(reach, 601), bs = points(reach, 600 / width * width + width);
    for (double const a : as)
        for (auto b = bs.begin(); b != bs.end(); b += width) {
            double expected[static_cast<std::size_t>(width)]{};
            for (index_t f = 0; f < features; ++f) {
                double const c = static_cast<double>(scale) * signs[f], of_query = a * sides[f];
                queries[f] = static_cast<T>(-2 * c * std::exp(-2 * of_query));
                queries[features + f] = static_cast<T>(std::exp(-2 * of_query));
                for (index_t l = 0; l < width; ++l) {
                    double const of_key = b[l] * sides[features - 1 - f];
                    keys[f * width + l] = static_cast<T>(std::exp(2 * of_key));
                    expected[l] += c * (std::tanh(of_query + of_key) - 1);
                }
            }
            kernel::pair_factors<T> const from{queries.data(), features, keys.data(), features * width, features};
            kernel::pairwise<1, 1, T, Arch>(factors.body, &row, kernel::positions<T, Arch>{0}, from, scores.data(),
                                            width);
            for (index_t l = 0; l < width; ++l)
                worst = std::max(worst, std::abs(static_cast<double>(scores[l]) - expected[l])
                                            / static_cast<double>(features) / std::abs(static_cast<double>(scale)));
        }
    return worst;
}

template <class T>
bool stays(T factor) {
    auto const in_range = [&](auto const& expression) { return kernel::stays_in_range(expression, &factor, 1); };
    return in_range(exp(-2 * q));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("tanh of a sum is right to four units of its factor", "[kernel]", lane_widths) {
    constexpr double unit = std::numeric_limits<float>::epsilon(), fine = std::numeric_limits<double>::epsilon();
    auto const check = [&](double reach, float scale, index_t features) {
        CHECK(worst_error<float, TestType>(scale, reach, features) <= 4 * unit);
    };
    for (double reach : {0.1, 2.0, 9.0, 20.7, 34.0})
        for (index_t const features : {1, 2, 3}) {
            if (features > 1 && reach > 21) continue;  // the product of two sums is beyond float
            check(reach, 1.f, features);
            if (features == 1 || reach < 10) check(reach, -3e7f, features);  // as with a coefficient
            CHECK(worst_error<double, TestType>(0.3, reach, features) <= 8 * fine);
        }
}

TEST_CASE("exponentials and what multiplies them stay clear of the ends of the range", "[kernel]") {
    constexpr float inf = std::numeric_limits<float>::infinity();
    CHECK(stays(1.f));
    CHECK(stays(1e-17f));
    CHECK_FALSE(stays(0.f));
    CHECK_FALSE(stays(1e-19f));
    CHECK_FALSE(stays(1e19f));
    CHECK_FALSE(stays(inf));
    CHECK_FALSE(stays(std::numeric_limits<float>::quiet_NaN()));
    CHECK(stays(1e-31));
    CHECK_FALSE(stays(1e-151));
    float const weights[] = {0.f, -1e17f, 3.f};
    CHECK(kernel::stays_in_range(-2 * q, weights, 3));
    float const great[] = {0.f, -1e19f};
    CHECK_FALSE(kernel::stays_in_range(-2 * q, great, 2));
}
