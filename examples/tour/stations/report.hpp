// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/yardstick/machine.hpp"
#include "bench/yardstick/stopwatch.hpp"

#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace tour {

/// "--- 3. Cross attention ---"
void heading(int number, std::string const& title);

/// A specification or a line of a plan on several lines, broken before a bar or after a semicolon or a colon.
std::string wrapped(std::string const& text, std::string const& indentation);

/// The report about one attention.
struct findings {
    std::string what;          // what it was run on
    std::string spec, plan;    // as text; the plan as `explain` gives it
    double error = 0;          // largest difference from the reference
    double largest = 0;        // result of the reference
    double flops_per_second = 0, of_peak = 0;
    double over_unfused = 0;   // how many times as fast as Eigen; 0: not compared
};
void print(findings const& found);

/// The attention written with Eigen is a call without arguments; `nothing` where there is none.
struct nothing {
    void operator()() const {}
};

/// report: runs an attention on its operands, compares with the reference, times it and prints the findings.
/// `flops` is the work required: 2 (d_qk + d_v) per visible pair and head, projections included where it has them.
template <class Spec, class Unfused, class Result, class... Operands>
void report(std::string const& what, Spec const& spec, double flops, Unfused const& unfused, Result& result,
            Operands const&... operands) {
    auto expected = result;
    fovea::reference::attend(spec, operands..., expected);
    fovea::attend(spec, operands..., result);
    double error = 0, largest = 0;
    for (fovea::index_t i = 0; i < result.size(); ++i) {
        double const wanted = static_cast<double>(expected.data()[i]);
        error = std::max(error, std::abs(static_cast<double>(result.data()[i]) - wanted));
        largest = std::max(largest, std::abs(wanted));
    }

    yardstick::around const peak([] { return yardstick::fma_peak<float>(); });
    fovea::workspace scratch;
    auto const seconds =
        yardstick::time_in_turn(0.05, [&] { fovea::attend(scratch, spec, operands..., result); }, unfused);
    print({.what = what,
           .spec = text(spec),
           .plan = explain(spec, operands...),
           .error = error,
           .largest = largest,
           .flops_per_second = flops / seconds[0],
           .of_peak = flops / seconds[0] / peak.mean(),
           .over_unfused = std::is_same_v<Unfused, nothing> ? 0 : seconds[1] / seconds[0]});
}

}  // namespace tour
