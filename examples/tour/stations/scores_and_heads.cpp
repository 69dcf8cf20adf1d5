// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stations/stations.hpp"

#include "bench/yardstick/operands.hpp"
#include "bench/yardstick/unfused.hpp"
#include "stations/report.hpp"

namespace tour {
namespace {

using namespace fovea;
using namespace fovea::placeholders;
using yardstick::random_tensor;

constexpr index_t length = 256;

tensor<float, 2> weight_matrix(index_t in, index_t out, std::uint64_t seed) {
    return random_tensor<float, 2>({in, out}, seed, 1 / std::sqrt(static_cast<double>(in)));
}

void additive_score() {
    constexpr index_t size = 64;
    yardstick::operands<float> o({1, 1, length, size});
    auto const v = random_tensor<float, 1>({size}, 4, 0.3);

    //! [additive]
    auto const bahdanau = compare(sum(param(v) * tanh(q + k))) | softmax | weighted_sum;
    //! [additive]
    report("additive (Bahdanau), 256 positions, 64 hidden units", bahdanau, 4.0 * length * length * size,
           [&] { unfused::additive<float>(o.query.view(), o.key.view(), o.value.view(), v.view(), o.result.view()); },
           o.result, o.query, o.key, o.value);
}

void hard() {
    yardstick::operands<float> o({1, 8, length, 64});

    //! [hard]
    constexpr auto best_only = scaled_dot | hardmax | weighted_sum;
    //! [hard]
    report("hard: the best key only; values are copied, not summed", best_only, 2.0 * 8 * length * length * 64,
           nothing{}, o.result, o.query, o.key, o.value);
}

/// The same attention in steps: three products, attention per head, a product, a sum.
void multi_head_in_steps(view<float const, 2> x, view<float const, 2> Wq, view<float const, 2> Wk,
                         view<float const, 2> Wv, view<float const, 2> Wo, std::array<index_t, 2> heads,
                         view<float, 2> y) {
    auto const split = [](auto& matrix, index_t count) { return split_heads(as_heads(matrix.view()), count, ""); };
    auto const query = unfused::product(x, Wq), key = unfused::product(x, Wk), value = unfused::product(x, Wv);
    tensor<float, 2> between({x.extent(0), Wo.extent(0)});
    unfused::attend<float>(split(query, heads[0]), split(key, heads[1]), split(value, heads[1]),
                           split(between, heads[0]));
    auto const change = unfused::product<float>(between.view(), Wo);
    for (index_t i = 0; i < change.size(); ++i) y.data[i] = x.data[i] + change.data()[i];
}

template <int Query, int KeyValue>
void transformer_layer(std::string const& what, heads_t<Query, KeyValue> shared, index_t head_size) {
    index_t const inner = Query * head_size, narrow = KeyValue * head_size;
    auto const x = random_tensor<float, 2>({length, inner}, 1);
    auto const Wq = weight_matrix(inner, inner, 2), Wk = weight_matrix(inner, narrow, 3),
               Wv = weight_matrix(inner, narrow, 4), Wo = weight_matrix(inner, inner, 5);
    tensor<float, 2> result({length, inner});

    //! [multi_head]
    auto const layer = project(Wq, Wk, Wv, shared) | scaled_dot | softmax | weighted_sum | output(Wo) | residual;
    //! [multi_head]
    index_t const flops = 4 * length * length * inner + 4 * length * inner * (inner + narrow);
    report(what, layer, static_cast<double>(flops),
           [&] {
               multi_head_in_steps(x.view(), Wq.view(), Wk.view(), Wv.view(), Wo.view(), {Query, KeyValue},
                                   result.view());
           },
           result, x);
}

}  // namespace

void scores_and_heads() {
    heading(4, "Other scores, other weights, many heads");
    additive_score();
    hard();
    transformer_layer("multi-head: 8 heads of 64, output projection, added to the input", heads<8>, 64);
    transformer_layer("grouped-query: 32 query heads share 8 key and value heads, 4 to a group", heads<32, 8>, 32);
}

}  // namespace tour
