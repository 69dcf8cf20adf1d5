// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/expr/placeholder.hpp>

#include "catch.hpp"

using namespace fovea;

namespace {
template <fixed_string Name>
struct named {
    static constexpr std::string_view name = Name;
};
}  // namespace

TEST_CASE("a string is a template argument", "[core]") {
    STATIC_REQUIRE(named<"q_idx">::name == "q_idx");
    STATIC_REQUIRE(!std::is_same_v<named<"q">, named<"k">>);
}
