// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/angle.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cmath>

using namespace fovea;

TEST_CASE("directions are within 3e-9 of cosine and sine", "[core]") {
    testing::dice random(3);
    double worst = 0;
    auto const look_at = [&](double angle) {
        auto const d = direction_of(angle);
        worst = std::max({worst, std::abs(d.cosine - std::cos(angle)), std::abs(d.sine - std::sin(angle))});
    };
    for (double const size : {1e-9, 1., 10., 1e3, 1e6})
        for (int trial = 0; trial < 20000; ++trial) look_at(random.real(-size, size));
    for (int quarter = -40; quarter <= 40; ++quarter)
        for (double const beside : {-1e-7, 0., 1e-7}) look_at((quarter + 0.5) * 0.78539816339744831 + beside);
    CHECK(worst < 3e-9);
}

TEST_CASE("no angle is no turn", "[core]") {
    CHECK(direction_of(0).cosine == 1);
    CHECK(direction_of(0).sine == 0);
}

TEST_CASE("angles of any size have their directions in float and in double", "[core]") {
    double const near[4] = {0.5, -3, 100, 7}, far[4] = {0.5, 3e7, -1e9, 1};
    for (auto const* angles : {&near, &far}) {
        float cosines[3], sines[3] = {};
        double exact_cosines[4], exact_sines[4];
        write_directions(*angles, 3, cosines, sines);
        write_directions(*angles, 4, exact_cosines, exact_sines);
        for (int i = 0; i < 4; ++i) {
            CHECK(exact_cosines[i] == std::cos((*angles)[i]));
            CHECK(exact_sines[i] == std::sin((*angles)[i]));
            if (i == 3) continue;
            CHECK(cosines[i] == Approx(std::cos((*angles)[i])).margin(1e-7));
            CHECK(sines[i] == Approx(std::sin((*angles)[i])).margin(1e-7));
        }
    }
}
