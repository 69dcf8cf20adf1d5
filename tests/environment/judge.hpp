// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/testing/tolerance.hpp>

#include "calls.hpp"

#include <cstdio>
#include <exception>
#include <span>

/// Compares results with the definition and counts those that are too far away.
struct judge {
    static inline int failures = 0, calls = 0;

    static void take(call_results const& r) {
        ++calls;
        std::span<double const> const expected(r.expected, r.count);
        std::span<float const> const got(r.got, r.count), plain(r.plain, r.count);
        try {
            auto const allowed = fovea::testing::tolerance_for<float, double>(expected, plain);
            fovea::testing::check_close<double, float>(r.name, expected, got, allowed);
            if (!r.same_on_threads) throw fovea::testing::law_broken("three threads give other bits");
        } catch (std::exception const& e) {
            ++failures;
            std::printf("FAILED %s: %s\n", r.name, e.what());
        }
    }
};
