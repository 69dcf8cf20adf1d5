// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The flex family's changes of the score by their names, as expressions over the score and indices; those that read
// tables of the case are in rescored_by_tables.cpp.

#include "flex.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace conformance {
namespace {

using namespace fovea::placeholders;
using fovea::index_t;

template <class Engine>
void run_with(test_case const& subject, std::string const& name, checks& all) {
    using T = typename Engine::value;
    using enum composed;
    flex_call<Engine> call(subject);
    auto const scored = fovea::scaled_by(call.scale);
    if (name == "softcap") {
        auto const cap = static_cast<T>(score_parameter(subject, "cap"));
        attend_with_mask<no_mask, causal, sliding_window, prefix_lm>(subject, call, scored | fovea::softcap(cap));
        call.template differentiate<no_mask>(subject, all, scored | fovea::softcap(cap), fovea::softmax);
    } else if (name == "alibi") {
        auto const heads = score_parameter(subject, "heads");
        std::vector<T> slopes;
        for (index_t h = 0; h < call.pairs[1]; ++h)
            slopes.push_back(static_cast<T>(std::exp2(-8 * static_cast<double>(h + 1) / heads)));
        attend_with_mask<no_mask, causal, document_causal>(subject, call, scored | fovea::alibi(slopes));
        call.template differentiate<no_mask>(subject, all, scored | fovea::alibi(slopes), fovea::softmax);
    } else if (name == "scale_per_head") {
        auto const factors = load<T, 1>(subject["head_scale"]);
        auto const rescored = scored | fovea::rescore(score * fovea::param(factors)[head]);
        attend_with_mask<no_mask>(subject, call, rescored);
        call.template differentiate<no_mask>(subject, all, rescored, fovea::softmax, of_case{"d_head_scale", factors});
    } else {  // relative_position
        auto const rescored = scored | fovea::rescore(score + (q_idx - kv_idx));
        attend_with_mask<no_mask>(subject, call, rescored);
        call.template differentiate<no_mask>(subject, all, rescored, fovea::softmax);
    }
    call.compare(subject, all);
}

}  // namespace

outcome run_rescored(test_case const& subject) {
    auto const name = subject.at<std::string>("/score_mod/name");
    if (name != "softcap" && name != "alibi" && name != "scale_per_head" && name != "relative_position")
        return run_rescored_by_tables(subject, name);
    return in_each_engine(subject, subject["q"].dtype,
                          [&]<class Engine>(Engine, checks& all) { run_with<Engine>(subject, name, all); });
}

}  // namespace conformance
