// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "compare.hpp"
#include "outcome.hpp"

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

/// run(engine, checks) for each engine that this program has (CMakeLists.txt) and that can compute a case whose numbers
/// are stored as these.
template <class Run>
outcome in_each_engine(test_case const& subject, [[maybe_unused]] dtype stored, Run const& run) {
    checks all(subject);
#ifdef FOVEA_TEST_FLOAT32
    if (stored != dtype::f64) run(float32_engine{}, all);
#endif
#ifdef FOVEA_TEST_FLOAT64
    run(float64_engine{}, all);
#else
    if (stored == dtype::f64) return skipped{"float64 is not what this program computes in"};
#endif
#ifdef FOVEA_TEST_DEFINITION
    run(reference_engine{}, all);
#endif
    return all.finish();
}

}  // namespace conformance
