// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/reference/row.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <cmath>
#include <numeric>
#include <vector>

/// The weights of one row of scores.
template <class N, class T = double>
std::vector<T> weights_of(N const& n, std::vector<T> scores) {
    std::vector<fovea::index_t> keys(scores.size());
    std::iota(keys.begin(), keys.end(), fovea::index_t{0});
    fovea::reference::normalize(n, fovea::reference::row<T>{scores, keys});
    return scores;
}

/// The fused loops, as comparisons with the reference call them.
inline constexpr auto fused = [](auto const&... arguments) { fovea::attend(arguments...); };

/// Quotients of scores that are so small, or so great, that their sums or the inverses of these leave the range of
/// float; from key to key they grow, shrink, or lie anywhere. For scores that are not negative. Subnormal ones count as
/// 0.
template <class N>
void check_quotients_of_any_size(N const& n) {
    fovea::testing::dice random(23);
    double const ranges[][2] = {{-37.9, -37.5}, {-37.9, 38}, {38, 38.4}, {-30, 30}, {37, 38.4}};
    for (auto const& [least, most] : ranges)
        for (int const order : {-1, 0, 1})
            for (fovea::index_t const keys : {1, 5, 40, 300, 3000}) {
                fovea::tensor<float, 2> const q({2, 1}, 1);
                fovea::tensor<float, 2> k({keys, 1}), v({keys, 1}), got({2, 1}), expected({2, 1}), alone({2, 1});
                fovea::tensor<float, 2> weights_got({2, keys}), weights_expected({2, keys});
                for (fovea::index_t j = 0; j < keys; ++j) {
                    double const part = static_cast<double>(j) / static_cast<double>(keys);
                    double const at = order == 0 ? random.real(0, 1) : order > 0 ? part : 1 - part;
                    k(j, 0) = static_cast<float>(std::pow(10, least + (most - least) * at));
                    v(j, 0) = static_cast<float>(random.real(1, 2));
                }
                auto const spec = fovea::dot | n | fovea::weighted_sum;
                fovea::reference::attend(spec, q, k, v, expected, fovea::weights(weights_expected));
                fovea::attend(spec, q, k, v, alone);
                fovea::attend(spec, q, k, v, got, fovea::weights(weights_got));
                CAPTURE(least, most, order, keys);
                using fovea::testing::check_close;
                fovea::testing::tolerance const allowed{1e-12, 4e-6};
                CHECK_NOTHROW(check_close<float, float>("result", expected.elements, alone.elements, allowed));
                CHECK_NOTHROW(check_close<float, float>("beside weights", expected.elements, got.elements, allowed));
                CHECK_NOTHROW(check_close<float, float>("weights", weights_expected.elements, weights_got.elements,
                                                        {1e-12, 1e-5}));
            }
}

/// The weights of long rows sum to one within a few units in the last place, whatever their scores are: all the same,
/// near each other, far apart, or one beside very many.
template <class N>
void check_sum_of_long_rows(N const& n) {
    fovea::testing::dice random(29);
    for (int const kind : {0, 1, 2, 3})
        for (fovea::index_t const keys : {300, 3000, 10007, 100000}) {
            fovea::tensor<float, 2> const q({1, 1}, 1), v({keys, 1}, 1);
            fovea::tensor<float, 2> k({keys, 1}), got({1, 1}), alone({1, 1}), w({1, keys});
            for (float& s : k)
                s = static_cast<float>(kind == 0 ? 0.3 : random.real(-1, 1) * std::pow(10, 1 - 2 * kind));
            if (kind == 3) k(0, 0) = 0.6f;
            fovea::attend(fovea::dot | n | fovea::weighted_sum, q, k, v, got, fovea::weights(w));
            fovea::attend(fovea::dot | n | fovea::weighted_sum, q, k, v, alone);
            double const sum = std::accumulate(w.begin(), w.end(), 0.0);
            CAPTURE(kind, keys);
            CHECK(std::abs(sum - 1) <= 1e-6);
            CHECK(std::abs(got(0, 0) - 1) <= 2e-5f);  // values are added one after the other
            CHECK(std::abs(alone(0, 0) - 1) <= 2e-5f);
        }
}
