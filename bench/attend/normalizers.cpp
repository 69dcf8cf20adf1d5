// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Normalizers other than softmax: how much more, or less, than softmax they take of a whole call; sigmoids of the best
// keys beside the softmax of these.
#include "bench/pair_rows.hpp"

namespace {

template <class Normalizer, class Other = fovea::softmax_t>
void add_rows(std::string const& family, Normalizer const& normalizer, Other const& other = {}) {
    constexpr fovea::index_t length = 2048;
    auto const spec = fovea::scaled_dot | normalizer | fovea::weighted_sum;
    auto const plain = fovea::scaled_dot | other | fovea::weighted_sum;
    bench::add_pair_rows(
        bench::variant<float, std::remove_const_t<decltype(spec)>, std::remove_const_t<decltype(plain)>>{
            .family = family, .spec = spec, .against_plain = true, .peers = false, .other = plain},
        {.heads = 8, .length = length, .size = 64}, length * length);
}

bench::family const rows([] {
    add_rows("sparsemax", fovea::sparsemax);
    add_rows("entmax15", fovea::entmax15);
    add_rows("hardmax", fovea::hardmax);
    add_rows("topk", fovea::top_k_softmax(8));
    add_rows("topk_32", fovea::top_k_softmax(32));
    add_rows("topk_32_sigmoid", fovea::keep(fovea::top_k(32)) | fovea::weigh(sigmoid(fovea::placeholders::score)),
             fovea::top_k_softmax(32));
});

}  // namespace
