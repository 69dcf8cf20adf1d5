// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
#include <fovea/fovea.hpp>
#include <fovea/simd/arch/processor.hpp>

#include "catch.hpp"

#include <fstream>
#include <string>
#include <type_traits>

using namespace fovea;

#if defined(__x86_64__)

namespace {
template <class Arch>
constexpr bool asks_for_vendor = requires { typename Arch::without_fast_pairs; };
}  // namespace

TEST_CASE("pairs of bfloat16 are multiplied where the vendor's processors are fast at it", "[simd]") {
    STATIC_REQUIRE(kernel::is_of_intel(0x756e6547, 0x49656e69, 0x6c65746e));   // GenuineIntel
    STATIC_REQUIRE(!kernel::is_of_intel(0x68747541, 0x69746e65, 0x444d4163));  // AuthenticAMD
    auto const runs_pairs = []<class... Elements>() {
        return kernel::on_usable<arch::avx512_bf16, float, 0, Elements...>(
            []<class Usable>(std::type_identity<Usable>) { return std::is_same_v<Usable, arch::avx512_bf16>; });
    };
    // Units for processors of one vendor alone do not ask.
    constexpr bool asks = asks_for_vendor<arch::avx512_bf16>;
    CHECK(runs_pairs.operator()<bfloat16>() == (!asks || kernel::multiplies_pairs_fast()));
    CHECK(runs_pairs.operator()<float>());  // has none

    std::ifstream processors("/proc/cpuinfo");
    std::string line;
    while (std::getline(processors, line) && !line.starts_with("vendor_id")) {}
    if (line.empty()) {
        WARN("skipped, 1 check of 5: this system does not name the vendor of its processor");
        return;
    }
    INFO(line);
    CHECK(kernel::multiplies_pairs_fast() == (line.find("GenuineIntel") == std::string::npos));
}

#endif
