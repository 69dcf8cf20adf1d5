// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Weights that are a function of the score alone: out = f(scale * q.k) v.

#include "flex.hpp"
#include "runner.hpp"

namespace conformance {
namespace {

using namespace fovea::placeholders;

template <composed...>
struct masks {};

template <class Engine>
void run_with(test_case const& subject, checks& all) {
    flex_call<Engine> call(subject);
    auto const name = subject.at<std::string>("/score_mod/name");
    auto const attend = [&]<composed... Masks>(masks<Masks...>, auto const& normalizer) {
        with_composed_mask<Masks...>(subject, call.pairs, [&](auto const& mask) {
            call.attend_without_sums(masked(fovea::scaled_by(call.scale), mask) | normalizer);
        });
        constexpr auto of_gradients = ((Masks == composed::no_mask) || ...) ? composed::no_mask : composed::table;
        call.template differentiate<of_gradients>(subject, all, fovea::scaled_by(call.scale), normalizer);
    };
    masks<composed::no_mask> const no_mask;
    if (name == "relu") attend(masks<composed::causal, composed::table>{}, fovea::weigh(relu(score)));
    else if (name == "squared_relu") attend(masks<composed::table>{}, fovea::weigh(square(relu(score))));
    else if (name == "sigmoid") attend(no_mask, fovea::weigh(sigmoid(score)));
    else if (name == "gelu") attend(no_mask, fovea::weigh(gelu(score)));
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
