// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums in a fixed order: how much more, or less, than the usual one they take.
#include "bench/pair_rows.hpp"

namespace {

template <class Mask>
void add_rows(std::string const& family, Mask const& mask, bench::shape const& s, fovea::index_t pairs) {
    auto const plain = fovea::scaled_dot | mask | fovea::softmax | fovea::weighted_sum;
    auto const spec = plain | fovea::batch_invariant;
    bench::add_pair_rows(
        bench::variant<float, std::remove_const_t<decltype(spec)>, std::remove_const_t<decltype(plain)>>{
            .family = family, .spec = spec, .against_plain = true, .peers = false, .other = plain},
        s, pairs);
}

bench::family const rows([] {
    constexpr fovea::index_t n = 2048, keys = 4096;
    for (fovea::index_t const size : {64, 128}) {
        add_rows("batch_invariant", fovea::everything, {.heads = 8, .length = n, .size = size}, n * n);
        add_rows("batch_invariant_causal", fovea::causal, {.heads = 8, .length = n, .size = size}, n * (n + 1) / 2);
        for (fovea::index_t const heads : {1, 8})
            add_rows("batch_invariant", fovea::everything, {.heads = heads, .length = 1, .keys = keys, .size = size},
                     keys);
    }
});

}  // namespace
