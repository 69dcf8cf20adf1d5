// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks as interval arithmetic sees them: of the blocks of 2048 queries and keys, how many are not computed.
#include <fovea/fovea.hpp>

#include <cstdio>
#include <limits>
#include <string>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// Prints the line of explain about the mask, for vectors of one width on every machine.
template <class Mask>
void count(Mask const& mask) {
    tensor<float, 4> const x({1, 1, 2048, 64});
    auto const text = explain<arch::avx2>(scaled_dot | mask | softmax | weighted_sum, x, x, x);
    auto const first = text.find("mask ") + 12, end = text.find('\n', first);
    auto line = text.substr(first, end - first);
    auto const sizes = line.find(": of the blocks of ");
    line.erase(sizes, line.find(" keys", sizes) + 5 - sizes);
    std::puts(line.c_str());
}

}  // namespace

int main() {
    std::vector<int> const lengths{500};
    std::vector<int> document(2048);
    for (std::size_t i = 0; i < document.size(); ++i) document[i] = static_cast<int>(i / 300);
    //! [masks]
    count(causal);
    count(where(abs(q_idx - kv_idx) <= 128));
    count(where(kv_idx < param(lengths)[batch]));
    count(where(param(document)[q_idx] == param(document)[kv_idx]));
    count(where(q_idx / 256 == kv_idx / 256));
    count(where((q_idx - kv_idx) % 64 == 0));
    count(where(2 * kv_idx <= q_idx + kv_idx));  // causal, but kv_idx occurs twice
    count(where(random(1) < 0.001));
    //! [masks]
}
