// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The operator FlexAttention of the ONNX standard: its subgraphs as rescore and reweight.

#include "engines.hpp"
#include "load.hpp"
#include "runner.hpp"

#include <fovea/fovea.hpp>

#include <string>

namespace conformance {
namespace {

using namespace fovea::placeholders;

template <class Engine>
void run_with(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    auto const query = load<T, 4>(subject["Q"]), key = load<T, 4>(subject["K"]), value = load<T, 4>(subject["V"]);
    fovea::tensor<T, 4> result({query.extent(0), query.extent(1), query.extent(2), value.extent(3)});
    auto const number = [&](std::string const& place) { return static_cast<T>(subject.at<double>(place)); };
    auto const name_of = [&](std::string const& modification) {
        auto const place = "/" + modification + "/name";
        return subject.contains(place) ? subject.at<std::string>(place) : "none";
    };

    auto const attend = [&](auto const& scored) {
        auto const run = [&](auto const& weighed) {
            Engine::attend(weighed | fovea::weighted_sum, query, key, value, result.view());
        };
        auto const name = name_of("prob_mod");
        if (name == "none") run(scored | fovea::softmax);
        else if (name == "multiply_constant")
            run(scored | fovea::softmax | fovea::reweight(weight * number("/prob_mod/value")));
        else if (name == "add_constant")
            run(scored | fovea::softmax | fovea::reweight(weight + number("/prob_mod/value")));
        else throw malformed("there is no change of the weights named " + name);
    };

    auto const scored = fovea::scaled_by(number("/resolved/scale"));
    auto const name = name_of("score_mod");
    if (name == "none") {
        attend(scored);
    } else if (name == "causal_top_left") {
        attend(scored | fovea::causal);
    } else if (name == "relative_position") {
        attend(scored | fovea::rescore(score + (q_idx - kv_idx)));
    } else {
        auto const constant = number("/score_mod/value");
        if (name == "add_constant") attend(scored | fovea::rescore(score + constant));
        else if (name == "multiply_constant") attend(scored | fovea::rescore(score * constant));
        else if (name == "softcap") attend(scored | fovea::softcap(constant));
        else throw malformed("there is no change of the score named " + name);
    }
    all.compare(Engine::name, Engine::computes, "Y", result);
}

outcome run(test_case const& subject) {
    return in_each_engine(subject, subject["Q"].dtype,
                          [&]<class Engine>(Engine, checks& all) { run_with<Engine>(subject, all); });
}

registration const registered{"onnx_flex_attention", run};

}  // namespace
}  // namespace conformance
