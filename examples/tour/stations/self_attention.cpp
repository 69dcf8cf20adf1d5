// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stations/stations.hpp"

#include "bench/yardstick/operands.hpp"
#include "bench/yardstick/unfused.hpp"
#include "data/sentence.hpp"
#include "picture/heat_map.hpp"
#include "stations/report.hpp"

#include <cstdio>
#include <limits>

namespace tour {
namespace {

using namespace fovea;
using namespace fovea::placeholders;

/// M of softmax(Q K^T / sqrt(d) + M) V: 0 where a key is visible, -inf where it comes later.
tensor<float, 2> additive_mask(index_t length) {
    tensor<float, 2> mask({length, length});
    for (index_t i = 0; i < length; ++i)
        for (index_t j = i + 1; j < length; ++j) mask(i, j) = -std::numeric_limits<float>::infinity();
    return mask;
}

/// The map of a spec on the sentence.
template <class Spec>
tensor<float, 2> attention_map(Spec const& spec) {
    auto const x = sentence::embeddings();
    tensor<float, 3> result(x.extents);
    tensor<float, 2> map({x.extent(1), x.extent(1)});
    attend(spec, x, result, weights(view<float, 4>(map.data(), {1, 1, x.extent(1), x.extent(1)})));
    return map;
}

double largest_difference(tensor<float, 2> const& a, tensor<float, 2> const& b) {
    double difference = 0;
    for (index_t i = 0; i < a.size(); ++i)
        difference = std::max(difference, static_cast<double>(std::abs(a.data()[i] - b.data()[i])));
    return difference;
}

void report_speed() {
    constexpr index_t length = 512, heads = 8, size = 64;
    yardstick::operands<float> o({1, heads, length, size});
    auto const eigen = [&](unfused::steps<float> steps) {
        return [&, steps] {
            unfused::attend<float>(o.query.view(), o.key.view(), o.value.view(), o.result.view(), steps);
        };
    };
    report("plain, 8 heads, 512 tokens, 64 features", scaled_dot | softmax | weighted_sum,
           4.0 * heads * length * length * size, eigen({}), o.result, o.query, o.key, o.value);
    report("causal, the same", scaled_dot | causal | softmax | weighted_sum,
           2.0 * heads * length * (length + 1) * size, eigen({.causal = true}), o.result, o.query, o.key, o.value);
}

}  // namespace

void self_attention(std::filesystem::path const& pictures) {
    heading(2, "Self-attention: each token becomes a blend of the tokens it looks at");
    auto const Wq = sentence::query_projection();
    auto const M = additive_mask(static_cast<index_t>(sentence::tokens().size()));

    //! [self_attention]
    auto const look = project(Wq, as_is, as_is) | scaled_dot;
    auto const plain = look | softmax | weighted_sum | residual;
    auto const masked = look | causal | softmax | weighted_sum | residual;
    auto const added = look | rescore(score + param(M)[q_idx][kv_idx]) | softmax | weighted_sum | residual;
    //! [self_attention]

    auto const all = attention_map(plain), past = attention_map(masked), with_m = attention_map(added);
    auto const& words = sentence::tokens();
    picture::heat_map const left{"every token sees every token", words, words, all.view()};
    picture::heat_map const right{"causal: a token sees what came before", words, words, past.view()};
    std::printf("\n  %s\n\n", text(plain).c_str());
    picture::print_heat_map(left);
    std::printf("\n  %s\n\n", text(masked).c_str());
    picture::print_heat_map(right);
    std::printf("\n  `causal` and the mask M of 0 and -inf added to the scores differ by %.1e\n",
                largest_difference(past, with_m));
    auto const path = (pictures / "sentence.svg").string();
    picture::save_heat_maps(path, "Self-attention on a sentence",
                            "Each row is a token that asks; its weights over the tokens it looks at sum to 1.",
                            {left, right});
    std::printf("  drawn in %s\n", path.c_str());
    report_speed();
}

}  // namespace tour
