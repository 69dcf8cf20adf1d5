// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attention with a mask that is given by a formula; rescored.cpp adds the formulas that change the score.

#include "flex.hpp"
#include "masks.hpp"
#include "runner.hpp"

namespace conformance {
namespace {

using namespace fovea::placeholders;

template <class Engine>
void run_with(test_case const& subject, checks& all) {
    flex_call<Engine> call(subject);
    with_mask(subject, call.pairs, [&](auto const& mask) { call.attend(masked(fovea::scaled_by(call.scale), mask)); });
    call.compare(subject, all);
    call.differentiate(subject, all, fovea::scaled_by(call.scale), fovea::softmax);
}

outcome run(test_case const& subject) {
    checks all(subject);
    if (subject.contains("/score_mod/name")) {
        run_rescored(subject, all);
    } else {
        if (subject["q"].dtype != dtype::f64) run_with<float32_engine>(subject, all);
        run_with<float64_engine>(subject, all);
        in_definition([&](auto engine) { run_with<decltype(engine)>(subject, all); });
    }
    return all.finish();
}

registration const registered{"flex", run};

}  // namespace
}  // namespace conformance
