// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Weights that are a function of the score alone: out = f(scale * q.k) v.

#include "flex.hpp"
#include "runner.hpp"

namespace conformance {
namespace {

using namespace fovea::placeholders;

template <class Engine>
void run_with(test_case const& subject, checks& all) {
    flex_call<Engine> call(subject);
    auto const name = subject.at<std::string>("/score_mod/name");
    auto const attend = [&](auto const& normalizer) {
        with_composed_mask<composed::causal>(subject, call.pairs, [&](auto const& mask) {
            call.attend_without_sums(masked(fovea::scaled_by(call.scale), mask) | normalizer);
        });
        call.differentiate(subject, all, fovea::scaled_by(call.scale), normalizer);
    };
    if (name == "relu") attend(fovea::weigh(relu(score)));
    else if (name == "squared_relu") attend(fovea::weigh(square(relu(score))));
    else if (name == "sigmoid") attend(fovea::weigh(sigmoid(score)));
    else if (name == "gelu") attend(fovea::weigh(gelu(score)));
    else throw malformed("there is no function of the score named " + name);
    call.compare(subject, all);
}

outcome run(test_case const& subject) {
    return in_each_engine(subject, subject["q"].dtype,
                          [&]<class Engine>(Engine, checks& all) { run_with<Engine>(subject, all); });
}

registration const registered{"flex_activation", run};

}  // namespace
}  // namespace conformance
