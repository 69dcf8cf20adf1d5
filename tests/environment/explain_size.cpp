// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The line of explain() in a unit that is compiled for size: for dense calls, and for no others.
#include <fovea/fovea.hpp>

#include <cstdio>
#include <string>

static_assert(fovea::for_size, "this is compiled with FOVEA_SIZE");

int main() {
    using namespace fovea;
    tensor<float, 4> const x({1, 2, 512, 64});
    std::string const line = "\nbuilt       for size: one orientation, a key in each lane; ";
    auto const dense = explain(scaled_dot | causal | softmax | weighted_sum, x, x, x);
    auto const listed = explain(dot | causal | unnormalized | running_state, x, x, x);
    bool const says = dense.find(line) != std::string::npos && dense.find("key_lanes_scores.hpp") != std::string::npos;
    bool const is_silent = listed.find("for size") == std::string::npos;
    std::printf("%s%s", dense.c_str(), listed.c_str());
    if (!says) std::puts("FAILED: a dense call does not say what is left out");
    if (!is_silent) std::puts("FAILED: a call that is run as in other units says that something is left out");
    return says && is_silent ? 0 : 1;
}
