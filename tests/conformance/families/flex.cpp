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
    call.template differentiate<composed::no_mask>(subject, all, fovea::scaled_by(call.scale), fovea::softmax);
}

outcome run(test_case const& subject) {
    if (subject.contains("/score_mod/name")) return run_rescored(subject);
    return in_each_engine(subject, subject["q"].dtype,
                          [&]<class Engine>(Engine, checks& all) { run_with<Engine>(subject, all); });
}

registration const registered{"flex", run};

}  // namespace
}  // namespace conformance
