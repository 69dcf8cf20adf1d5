// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Normalizers other than softmax: how much more, or less, than softmax they take of a whole call.
#include "bench/pair_rows.hpp"

namespace {

template <class Normalizer>
void normalized(std::string const& family, Normalizer const& normalizer) {
    constexpr fovea::index_t length = 2048;
    auto const spec = fovea::scaled_dot | normalizer | fovea::weighted_sum;
    bench::add_pair_rows(
        bench::variant<float, std::remove_const_t<decltype(spec)>>{
            .family = family, .spec = spec, .against_plain = true, .peers = false},
        {.heads = 8, .length = length, .size = 64}, length * length);
}

bench::family const rows([] {
    normalized("sparsemax", fovea::sparsemax);
    normalized("entmax15", fovea::entmax15);
    normalized("hardmax", fovea::hardmax);
    normalized("topk", fovea::top_k_softmax(8));
});

}  // namespace
