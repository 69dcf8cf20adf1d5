// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// Catch2 as the tests see it, whichever major version is installed: write the test as for Catch2 3.

// Clang 22 warns under -Wpedantic of __COUNTER__, with which the macros of both versions name test cases.
#if defined(__clang__)
#if __has_warning("-Wc2y-extensions")
#pragma clang diagnostic ignored "-Wc2y-extensions"
#endif
#endif

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>

using Catch::Approx;

#else
#include <catch2/catch.hpp>

namespace Catch {

using Catch::Detail::Approx;

namespace Matchers {

// Catch2 3 calls this one ContainsSubstring.
inline auto ContainsSubstring(std::string const& part) { return Contains(part); }

}  // namespace Matchers
}  // namespace Catch
#endif
