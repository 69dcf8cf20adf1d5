// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "compare.hpp"

#include <fovea/fovea.hpp>

namespace conformance {

/// Who computes: the fused loops in two precisions, and the definition they are measured by.
template <class T, arithmetic Computes>
struct fused_engine {
    using value = T;
    static constexpr auto computes = Computes;
    static constexpr auto name = Computes == arithmetic::f32 ? "float32" : "float64";

    static constexpr bool differentiates = true;
    static void attend(auto const&... arguments) { fovea::attend(arguments...); }
};
using float32_engine = fused_engine<float, arithmetic::f32>;
using float64_engine = fused_engine<double, arithmetic::f64>;

struct reference_engine {
    using value = double;
    static constexpr auto computes = arithmetic::f64;
    static constexpr auto name = "reference";

    static void attend(auto const&... arguments) { fovea::reference::attend(arguments...); }
};

/// What the definition computes of a case; left to `./run test exhaustive`, since each word's own test
/// holds it as well.
void in_definition([[maybe_unused]] auto const& run) {
#ifdef FOVEA_TEST_DEFINITION
    run(reference_engine{});
#endif
}

}  // namespace conformance
