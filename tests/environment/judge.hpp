// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/testing/tolerance.hpp>

#include "calls.hpp"

#include <cstdio>
#include <span>

/// Compares results with the definition and counts those that are too far away.
struct judge {
    static inline int failures = 0, calls = 0;

    static void take(call_results const& r) {
        ++calls;
        std::span<double const> const expected(r.expected, r.count);
        std::span<float const> const got(r.got, r.count), plain(r.plain, r.count);
        auto const allowed = fovea::testing::tolerance_for<float, double>(expected, plain);
        std::size_t i = 0;
        while (i < r.count && allowed.allows(expected[i], got[i])) ++i;
        if (i == r.count && r.same_on_threads) return;
        ++failures;
        if (i == r.count) std::printf("FAILED %s: three threads give other bits\n", r.name);
        else
            std::printf("FAILED %s: element %zu is %.9g, not %.9g\n", r.name, i, static_cast<double>(got[i]),
                        expected[i]);
    }
};
