// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward and backward of scores that an expression changes, with the gradients of the tables that it reads.
#include "bench/train_rows.hpp"
#include "bench/yardstick/random.hpp"

namespace {

using namespace fovea::placeholders;

constexpr bench::shape sizes{.heads = 8, .length = 2048, .size = 64};

/// `rescored(table)` is the expression; the table has its own gradient.
template <std::size_t Rank, class Rescored>
void add_with_table(std::string const& family, std::array<fovea::index_t, Rank> const& extents,
                    Rescored const& rescored) {
    bench::add<float>("train/" + family, sizes, [=](benchmark::State& state) {
        auto const table = yardstick::random_tensor<float, Rank>(extents, 7, 0.1);
        fovea::tensor<float, Rank> d_table(extents);
        auto const spec = fovea::scaled_dot | fovea::rescore(rescored(table)) | fovea::softmax | fovea::weighted_sum;
        bench::measure_training<float>(state, bench::training_work(sizes, sizes.length * sizes.length), sizes, spec,
                                       fovea::grad(table, d_table));
    });
}

bench::family const rows([] {
    using fovea::param;
    add_with_table<1>("alibi", {sizes.heads},
                      [](auto const& slopes) { return score + param(slopes)[head] * (kv_idx - q_idx); });
    add_with_table<2>("table", {sizes.heads, 2 * sizes.length - 1}, [](auto const& distances) {
        return score + param(distances)(head, kv_idx - q_idx + sizes.length - 1);
    });
    bench::add_train_row<float>(
        "softcap", fovea::scaled_dot | fovea::rescore(50.f * tanh(score / 50.f)) | fovea::softmax | fovea::weighted_sum,
        sizes, sizes.length * sizes.length);
});

}  // namespace
