// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eight documents of unequal length packed one after another: a token sees its own document. Which tiles are empty
// is read from the predicate alone.
#include "bench/pair_rows.hpp"

#include <array>
#include <vector>

namespace {

using bench::index_t;
using namespace fovea::placeholders;

constexpr std::array<index_t, 9> starts{0, 300, 1000, 1100, 1900, 2000, 2900, 3500, 4096};

std::vector<int> document_of_tokens() {
    std::vector<int> document(4096);
    for (std::size_t d = 0; d + 1 < starts.size(); ++d)
        for (index_t i = starts[d]; i < starts[d + 1]; ++i) document[static_cast<std::size_t>(i)] = static_cast<int>(d);
    return document;
}

bench::family const rows([] {
    static auto const document = document_of_tokens();
    index_t pairs = 0;
    for (std::size_t d = 0; d + 1 < starts.size(); ++d)
        pairs += (starts[d + 1] - starts[d]) * (starts[d + 1] - starts[d]);
    auto const same = fovea::param(document)[q_idx] == fovea::param(document)[kv_idx];
    auto const spec = fovea::scaled_dot | fovea::where(same) | fovea::softmax | fovea::weighted_sum;
    bench::add_pair_rows(
        bench::variant<float, std::remove_const_t<decltype(spec)>>{.family = "documents", .spec = spec, .peers = false},
        {.heads = 8, .length = 4096, .size = 64}, pairs);
});

}  // namespace
