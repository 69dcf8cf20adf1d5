// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stations/stations.hpp"

#include "bench/yardstick/operands.hpp"
#include "bench/yardstick/unfused.hpp"
#include "stations/report.hpp"

namespace tour {
namespace {

using namespace fovea;
using namespace fovea::placeholders;

//! [own_normalizer]
/// A weight is the square of what is positive of a score; nothing is divided.
struct squared_relu_t : stage<role::normalizer> {
    static constexpr std::string_view name = "squared_relu";
    template <class V>
    static constexpr V weight(V s) {
        using std::max;
        V const positive = max(s, V(0));
        return positive * positive;
    }
};
inline constexpr squared_relu_t squared_relu{};
//! [own_normalizer]

}  // namespace

void own_words() {
    heading(6, "Words of one's own");
    constexpr index_t heads = 8, length = 512, size = 64, width = 128;
    yardstick::operands<float> o({1, heads, length, size});
    std::vector<float> slopes(heads);
    for (int h = 0; h < heads; ++h) slopes[static_cast<std::size_t>(h)] = std::exp2(-1.0f - static_cast<float>(h));

    //! [own_variant]
    auto const slope = param(slopes);  // one per head
    auto const mine = scaled_dot
                    | rescore(score + slope[head] * (kv_idx - q_idx))  // ALiBi,
                    | rescore(50.f * tanh(score / 50.f))               // then soft-capping,
                    | causal | where(q_idx - kv_idx < width)           // in a sliding window
                    | softmax | weighted_sum;
    //! [own_variant]
    double const pairs = width * length - width * (width - 1) / 2.0;
    report("ALiBi, then soft-capping, in a window of 128 of 512 tokens", mine, 4 * heads * pairs * size,
           [&] {
               unfused::attend<float>(o.query.view(), o.key.view(), o.value.view(), o.result.view(),
                                      {.alibi_slopes = slopes, .softcap = 50, .causal = true, .window = width});
           },
           o.result, o.query, o.key, o.value);

    report("a normalizer written in this file: max(score, 0) squared", scaled_dot | squared_relu | weighted_sum,
           4.0 * heads * length * length * size, nothing{}, o.result, o.query, o.key, o.value);
}

}  // namespace tour
