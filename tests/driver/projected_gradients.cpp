// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Gradients of layers, with projections and finishes, are what the definition says.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"
#include "support/layer_gradients.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using namespace layer_gradients;

TEST_CASE("gradients of cross attention reach tables of the score and of the result's map, and an array that is both",
          "[driver]") {
    arrays<double> random;
    index_t const m = 7, n = 21, keys = 34;
    auto const x = random(n, m), memory_rows = random(keys, index_t{5}), d = random(n, index_t{3});
    auto const wq = random(index_t{8}, m), wk = random(index_t{8}, index_t{5}), wo = random(m, index_t{3});
    auto const slope = random(index_t{2}), factor = random(m);
    // wq and wk are stored as (out, in); two heads of the value have m features when they are averaged.
    auto const wide = random(index_t{5}, 2 * m);
    auto const layer = project(transposed(wq), transposed(wk), wide, heads<2>) | scaled_dot
                     | rescore(score - param(slope)[head] * abs(q_idx - kv_idx)) | softmax | weighted_sum | mean_heads
                     | map(tanh(out) * param(factor) + param(x)[q_idx]) | output(wo);
    CHECK(worst<double>(serial, layer, std::tuple(queries(x), memory(memory_rows), d.view()), x, memory_rows, wq, wk,
                        wide, wo, slope, factor)
          < 1e-13);
}

TEST_CASE("gradients of a layer in bfloat16 are sums in float", "[driver]") {
    arrays<bfloat16> random;
    index_t const m = 12, n = 33;
    auto const x = random(n, m), wq = random(m, m), wk = random(m, m), wv = random(m, m), wo = random(m, m);
    auto const d = arrays<float>()(n, m);
    auto const layer = project(wq, wk, wv, heads<3>) | scaled_dot | softmax | weighted_sum | output(wo) | residual;
    CHECK(worst<float>(serial, layer, std::tuple(x.view(), d.view()), x, wq, wk, wv, wo) < 1e-5);
}

TEST_CASE("heads that came with the operands keep their places through finishes", "[driver]") {
    arrays<double> random;
    auto const query = random(index_t{2}, index_t{4}, index_t{11}, index_t{6}),
               key = random(index_t{2}, index_t{2}, index_t{17}, index_t{6}),
               value = random(index_t{2}, index_t{2}, index_t{17}, index_t{6});
    auto const d = random(index_t{2}, index_t{4}, index_t{11}, index_t{6});
    auto const side_by_side = random(index_t{2}, index_t{11}, index_t{24});
    auto const before = scaled_dot | softmax | weighted_sum | map(sigmoid(out) * out);
    CHECK(worst<double>(serial, before | residual, std::tuple(query.view(), key.view(), value.view(), d.view()), query,
                        key, value)
          < 1e-13);
    CHECK(worst<double>(serial, before | concat_heads,
                        std::tuple(query.view(), key.view(), value.view(), side_by_side.view()), query, key, value)
          < 1e-13);
}

TEST_CASE("sources cut into heads as they are, and their maps, have gradients", "[driver]") {
    arrays<float> random;
    auto const x = random(index_t{29}, index_t{20}), d = random(index_t{29}, index_t{20});
    auto const layer =
        project(as_is | rms_normalized, as_is | rotary, as_is, heads<2>) | scaled_dot | causal | softmax | weighted_sum;
    CHECK(worst<float>(serial, layer, std::tuple(x.view(), d.view()), x) < 1e-5);
}
