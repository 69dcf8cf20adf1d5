// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients of layers, with projections and finishes, are what the definition says.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"
#include "support/layer_gradients.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using namespace layer_gradients;

TEST_CASE("the gradients of a whole layer are those of the definition, with the same bits in any number of threads",
          "[driver]") {
    arrays<float> random;
    index_t const m = 19;
    auto const wq = random(m, index_t{24}), wk = random(m, index_t{12}), wv = random(m, index_t{10}),
               wo = random(index_t{20}, m), gain = random(index_t{1}, index_t{6});
    auto const bq = random(index_t{24}), bk = random(index_t{12}), bv = random(index_t{10}), bo = random(m);
    auto const layer = project(linear(wq, bq) | rms_normalized(gain) | rotary, linear(wk, bk) | rotary | l2_normalized,
                               linear(wv, bv), heads<4, 2>)
                     | scaled_dot | causal | softmax | weighted_sum | output(wo, bo) | residual;
    for (index_t const n : {1, 37, 130}) {
        CAPTURE(n);
        auto const x = random(index_t{2}, n, m), d = random(index_t{2}, n, m);
        CHECK(worst<float>(serial, layer, std::tuple(x.view(), d.view()), x, wq, wk, wv, wo, bq, bk, bv, bo) < 2e-5);
        workspace scratch;
        auto const in_threads = [&](int count) {
            return gradients_of<float>([&](auto... asked) { gradient(threads(count), scratch, layer, x, d, asked...); },
                                       x, wq, wk, wv, wo, bq);
        };
        auto const one = in_threads(1);
        for (int const count : {2, 5})
            std::apply(
                [&](auto const&... again) {
                    std::apply([&](auto const&... once) { CHECK(((again.elements == once.elements) && ...)); }, one);
                },
                in_threads(count));

        saved_rows<float> state;
        tensor<float, 3> result(d.extents), expected(x.extents), found(x.extents);
        attend(layer, x, result, save(state));
        REQUIRE(state.complete());
        gradient(layer, x, d, state, grad(x, found));
        gradient(layer, x, d, grad(x, expected));
        for (std::size_t i = 0; i < found.elements.size(); ++i)
            CHECK(found.elements[i] == Approx(expected.elements[i]).margin(1e-5));
    }
}

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

TEST_CASE("no gradient comes from rows of a source that the mask excludes, whatever they hold", "[driver]") {
    arrays<float> random;
    index_t const m = 10, n = 9, keys = 40;
    auto const x = random(index_t{2}, n, m), d = random(index_t{2}, n, m);
    auto const w = random(m, m);
    auto context = random(index_t{2}, keys, m);
    std::vector<int> const lengths{40, 23};
    for (index_t j = 23; j < keys; ++j)
        for (index_t c = 0; c < m; ++c)
            context(1, j, c) = c % 2 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
    auto const layer = project(w, linear(w) | l2_normalized, w, heads<2>) | scaled_dot | key_lengths(lengths) | softmax
                     | weighted_sum | output(w) | residual;
    CHECK(worst<float>(threads(2), layer, std::tuple(queries(x), memory(context), d.view()), x, context, w) < 1e-5);
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
