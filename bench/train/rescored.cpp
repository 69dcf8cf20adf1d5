// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward and backward of scores that an expression changes, with the gradients of the tables that it reads.
#include "bench/train_rows.hpp"
#include "bench/yardstick/random.hpp"

namespace {

using namespace fovea::placeholders;

constexpr bench::shape sizes{.heads = 8, .length = 2048, .size = 64};

bench::work const done = bench::training_work(sizes, sizes.length* sizes.length);

template <class Expression>
auto rescored(Expression const& expression) {
    return fovea::scaled_dot | fovea::rescore(expression) | fovea::softmax | fovea::weighted_sum;
}

/// `expression(table)` is the score; the table, which outlives the rows, has its own gradient.
template <int Rank, class Expression>
void add_with_table(std::string const& family, fovea::tensor<float, Rank> const& table, Expression const& expression) {
    bench::add<float>("train/" + family, sizes, [=, &table](benchmark::State& state) {
        fovea::tensor<float, Rank> d_table(table.extents);
        bench::measure_training<float>(state, done, sizes, rescored(expression(table)), fovea::grad(table, d_table));
    });
}

bench::family const rows([] {
    using fovea::param;
    static auto const slopes = yardstick::random_tensor<float, 1>({sizes.heads}, 7, 0.002);
    static auto const distances = yardstick::random_tensor<float, 2>({sizes.heads, 2 * sizes.length - 1}, 7, 0.1);
    auto const alibi = [](auto const& table) { return score + param(table)[head] * (kv_idx - q_idx); };
    add_with_table("alibi", slopes, alibi);
    bench::add_training_peers<float>("alibi", rescored(alibi(slopes)), sizes, done,
                                     {.alibi_slopes = {slopes.data(), static_cast<std::size_t>(sizes.heads)}});
    add_with_table("table", distances,
                   [](auto const& table) { return score + param(table)(head, kv_idx - q_idx + sizes.length - 1); });
    bench::add_train_row<float>("softcap", rescored(50.f * tanh(score / 50.f)), sizes, sizes.length * sizes.length,
                                {.softcap = 50});
});

}  // namespace
