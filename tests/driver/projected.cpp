// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Projections, heads and finishes, against the definition.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

#include <cmath>
#include <limits>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct matrices {
    testing::dice random{11};
    tensor<float, 2> wq = testing::random_tensor<float>(random, std::array<index_t, 2>{13, 20}, 0.5);
    tensor<float, 2> wk = testing::random_tensor<float>(random, std::array<index_t, 2>{13, 10}, 0.5);
    tensor<float, 2> wv = testing::random_tensor<float>(random, std::array<index_t, 2>{13, 6}, 0.5);
    tensor<float, 2> wo = testing::random_tensor<float>(random, std::array<index_t, 2>{12, 13}, 0.5);
    tensor<float, 1> bias = testing::random_tensor<float>(random, std::array<index_t, 1>{13}, 0.5);
};

/// Rows of bfloat16 through a matrix of them, against sums in double.
template <class Arch>
void check_product_of_bfloat16(index_t rows, index_t inputs, index_t outputs) {
    testing::dice random{static_cast<unsigned>(rows + 7 * inputs + outputs)};
    auto const rounded = [&](index_t first, index_t second) {
        tensor<bfloat16, 2> all({first, second});
        for (auto& x : all.elements) x = static_cast<bfloat16>(static_cast<float>(random.real(-2, 2)));
        return all;
    };
    auto const x = rounded(rows, inputs), matrix = rounded(inputs, outputs), transposed_matrix = [&] {
        tensor<bfloat16, 2> all({outputs, inputs});
        for (index_t i = 0; i < inputs; ++i)
            for (index_t c = 0; c < outputs; ++c) all(c, i) = matrix(i, c);
        return all;
    }();
    workspace scratch;
    scratch.prepare(1);
    auto const check = [&](auto const& map) {
        tensor<float, 4> y({1, 1, rows, outputs}, std::numeric_limits<float>::quiet_NaN());
        driver::matrix_product<float, Arch>(serial, scratch, map,
                                            view<bfloat16 const, 4>(x.data(), {1, 1, rows, inputs}), y.view());
        double worst = 0;
        for (index_t n = 0; n < rows; ++n)
            for (index_t c = 0; c < outputs; ++c) {
                double sum = 0, size = 1;
                for (index_t i = 0; i < inputs; ++i) {
                    double const term = static_cast<double>(static_cast<float>(x(n, i)))
                                      * static_cast<double>(static_cast<float>(matrix(i, c)));
                    sum += term;
                    size += std::abs(term);
                }
                double const off = std::abs(static_cast<double>(y(0, 0, n, c)) - sum) / size;
                worst = off <= worst ? worst : off;  // also where it is no number
            }
        CAPTURE(rows, inputs, outputs);
        CHECK(worst < 1e-6);
    };
    check(linear(matrix));
    check(linear(transposed(transposed_matrix)));
}

}  // namespace

TEST_CASE("bfloat16 through matrices of it, converted or multiplied as stored, is what sums in double say",
          "[driver]") {
    for (index_t const rows : {1, 7, 25})
        for (index_t const inputs : {1, 2, 15, 256, 259})
            for (index_t const outputs : {1, 16, 35}) {
                check_product_of_bfloat16<arch::best>(rows, inputs, outputs);
                on_emulated<arch::emulated<64, 32>>(
                    [&](auto other) { check_product_of_bfloat16<decltype(other)>(rows, inputs, outputs); });
            }
}

TEST_CASE("heads of sources as they are, side by side, fused", "[driver]") {
    check_fused<float>(project(as_is, as_is, as_is, heads<4, 2>) | scaled_dot | softmax | weighted_sum);
}

TEST_CASE("heads side by side, then a function with a table, fused", "[driver]") {
    matrices const m;
    auto const bias = testing::call_sizes{
        .batches = 2, .heads = 2, .key_heads = 1, .queries = 9, .keys = 7, .features = 5, .value_features = 3};
    auto const table = view<float const, 1>(m.bias.data(), {6});
    check_fused<double>(scaled_dot | softmax | weighted_sum | concat_heads | map(relu(out + param(table))), bias);
}
