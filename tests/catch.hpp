// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// Catch2 as the tests see it, whichever major version is installed: write the test as for Catch2 3.

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
