// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The programs that the documentation quotes; each states what must hold of its result.
//! [include]
#include <fovea/fovea.hpp>

using namespace fovea;
using namespace fovea::placeholders;  // q, k, score, q_idx, kv_idx, head, batch, out
//! [include]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace {

void require(bool holds, char const* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::exit(1);
}

template <int Rank>
tensor<float, Rank> random_tensor(extents_t<Rank> extents) {
    static std::mt19937 engine(7);
    std::normal_distribution<float> normal;
    tensor<float, Rank> t(extents);
    for (auto& x : t) x = normal(engine);
    return t;
}

template <int Rank>
bool close(tensor<float, Rank> const& a, tensor<float, Rank> const& b) {
    for (std::size_t i = 0; i < a.elements.size(); ++i)
        if (!(std::abs(a.elements[i] - b.elements[i]) <= 1e-4f * (1 + std::abs(b.elements[i])))) return false;
    return true;
}

void sdpa() {
    auto const query = random_tensor<4>({2, 8, 40, 64}), key = random_tensor<4>({2, 2, 50, 64}),
               value = random_tensor<4>({2, 2, 50, 64});
    tensor<float, 4> result({2, 8, 40, 64}), expected({2, 8, 40, 64});
    //! [sdpa]
    constexpr auto sdpa = scaled_dot | causal | softmax | weighted_sum;
    attend(sdpa, query, key, value, result);  // (batch, head, position, feature)
    //! [sdpa]
    reference::attend(sdpa, query, key, value, expected);  // the definition: numbers, no kernels
    require(close(result, expected), "the fused loop agrees with the reference");

    tensor<float, 3> log_sums({2, 8, 40});
    tensor<float, 4> probabilities({2, 8, 40, 50});
    attend(sdpa, query, key, value, result, lse(log_sums), weights(probabilities));
    require(probabilities(1, 3, 0, 1) == 0, "a masked weight is exactly 0");

    workspace scratch;  // keep it: repeated calls then allocate nothing
    attend(threads(4), scratch, sdpa, query, key, value, result);
    require(close(result, expected), "threads change nothing");

    std::puts(explain(sdpa, query, key, value).c_str());
}

void own_variant() {
    auto const query = random_tensor<4>({1, 8, 70, 16}), key = random_tensor<4>({1, 8, 70, 16}),
               value = random_tensor<4>({1, 8, 70, 16});
    auto alibi_slopes = random_tensor<1>({8});
    tensor<float, 4> result({1, 8, 70, 16}), expected({1, 8, 70, 16});
    //! [own_variant]
    auto const slope = param(alibi_slopes);  // a view: one slope for each head
    auto const mine = scaled_dot
                    | rescore(score + slope[head] * (kv_idx - q_idx))  // ALiBi
                    | rescore(50.f * tanh(score / 50.f))               // then soft-capping
                    | causal | where(q_idx - kv_idx < 32)              // in a sliding window
                    | softmax | weighted_sum;
    attend(mine, query, key, value, result);
    //! [own_variant]
    reference::attend(mine, query, key, value, expected);
    require(close(result, expected), "one's own variant agrees with the reference");
}

void multi_head() {
    auto const x = random_tensor<3>({2, 20, 64});
    auto Wq = random_tensor<2>({64, 64}), Wk = random_tensor<2>({64, 16}), Wv = random_tensor<2>({64, 16}),
         Wo = random_tensor<2>({64, 64});
    tensor<float, 3> y({2, 20, 64}), expected({2, 20, 64});
    //! [multi_head]
    auto const self = project(Wq, Wk, Wv, heads<8, 2>)  // 8 query heads share 2 key/value heads
                    | scaled_dot | causal | softmax | weighted_sum
                    | output(Wo) | residual;
    attend(self, x, y);  // (batch, position, feature)
    //! [multi_head]
    reference::attend(self, x, expected);
    for (auto& e : y) e /= 1000;  // unscaled random matrices make large numbers
    for (auto& e : expected) e /= 1000;
    require(close(y, expected), "the multi-head layer agrees with the reference");
}

void additive_and_hard() {
    auto const query = random_tensor<2>({5, 32}), key = random_tensor<2>({9, 32}), value = random_tensor<2>({9, 4});
    auto v = random_tensor<1>({32});
    tensor<float, 2> result({5, 4}), same({5, 4});
    auto const bahdanau = compare(sum(param(v) * tanh(q + k))) | softmax | weighted_sum;
    attend(bahdanau, query, key, value, result);  // additive(v) is a name for this score
    attend(additive(v) | softmax | weighted_sum, query, key, value, same);
    require(result.elements == same.elements, "additive is its one line");
    constexpr auto hard = scaled_dot | hardmax | weighted_sum;  // the best key only: its value is copied
    attend(hard, query, key, value, result);
    bool copied = false;
    for (int j = 0; j < 9; ++j) copied = copied || result(0, 0) == value(j, 0);
    require(copied, "hard attention copies a value");
}

void graph_attention() {
    auto const nodes = random_tensor<2>({6, 12});
    auto W = random_tensor<2>({12, 32}), a_target = random_tensor<2>({8, 4}), a_source = random_tensor<2>({8, 4});
    tensor<float, 2> result({6, 32}), expected({6, 32});
    //! [graph]
    graph::edge const edges[] = {{0, 0}, {0, 1}, {1, 0}, {2, 5}, {5, 2}};  // {who looks, at whom}
    graph const friends(6, edges);
    auto const gat = project(W, W, W, heads<8>) | gat_score(a_target, a_source, 0.2f) | neighbors(friends)
                   | softmax | weighted_sum | concat_heads | map(elu(out));
    attend(gat, nodes, result);
    //! [graph]
    reference::attend(gat, nodes, expected);
    require(close(result, expected), "graph attention agrees with the reference");
    require(result(3, 0) == 0, "a node without edges gets zeros");
}

}  // namespace

int main() {
    sdpa();
    own_variant();
    multi_head();
    additive_and_hard();
    graph_attention();
}
