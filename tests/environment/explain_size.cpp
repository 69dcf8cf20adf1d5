// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A unit that is compiled for size: the line of explain() for dense calls and for no others, and that the word which
// promises the same bits keeps them.
#include <fovea/fovea.hpp>

#include <cstdio>
#include <cstring>
#include <string>

static_assert(fovea::for_size, "this is compiled with FOVEA_SIZE");

using namespace fovea;

/// Whether the last queries alone, of 1 to 7, have the bits that they have among all.
bool keeps_bits() {
    constexpr index_t n = 70, d = 8;
    auto const spec = scaled_dot | causal_at_end | softmax | weighted_sum | batch_invariant;
    tensor<float, 2> x({n, d}), all({n, d});
    for (std::size_t i = 0; i < x.elements.size(); ++i) x.elements[i] = static_cast<float>((i * 37) % 101) / 50 - 1;
    attend(spec, x, x, x, all);
    for (index_t count = 1; count < 8; ++count) {
        tensor<float, 2> some({count, d});
        attend(spec, view<float const, 2>(&x(n - count, 0), {count, d}), x, x, some);
        if (std::memcmp(some.elements.data(), &all(n - count, 0), some.elements.size() * sizeof(float)) != 0)
            return false;
    }
    return true;
}

int main() {
    tensor<float, 4> const x({1, 2, 512, 64});
    std::string const line = "\nbuilt       for size: one orientation, a key in each lane; ";
    auto const dense = explain(scaled_dot | causal | softmax | weighted_sum, x, x, x);
    auto const listed = explain(dot | causal | unnormalized | running_state, x, x, x);
    bool const says = dense.find(line) != std::string::npos && dense.find("key_lanes_scores.hpp") != std::string::npos;
    bool const is_silent = listed.find("for size") == std::string::npos;
    std::printf("%s%s", dense.c_str(), listed.c_str());
    if (!says) std::puts("FAILED: a dense call does not say what is left out");
    if (!is_silent) std::puts("FAILED: a call that is run as in other units says that something is left out");
    bool const keeps = keeps_bits();
    if (!keeps) std::puts("FAILED: a query alone has other bits than among others");
    return says && is_silent && keeps ? 0 : 1;
}
