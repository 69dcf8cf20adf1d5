// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texts of the library that a program with strict warnings inlines: GCC's warnings of copies and
// of memory depend on how far it optimises, and more is inlined where a function is called once: one call, of many
// words.
#include <fovea/fovea.hpp>

#include <string>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

std::string biased(view<float const, 4> x, std::vector<float> const& slopes) {
    auto const spec = scaled_dot | alibi(slopes) | softcap(30) | causal | softmax | weighted_sum;
    return "biased: " + explain(spec, x, x, x);
}

void refused(double cap, index_t reach) {
    static_cast<void>(softcap(cap));
    static_cast<void>(sliding_window(reach, 0));
}
