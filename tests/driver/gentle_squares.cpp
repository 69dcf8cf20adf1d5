// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Squared differences inside of functions, as products where the functions are gentle, against the definition.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

#include <cmath>
#include <string>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

testing::call_sizes const many{
    .batches = 1, .heads = 4, .key_heads = 2, .queries = 37, .keys = 70, .features = 9, .value_features = 18};

/// Whether explain counts a product of the score and no sum for each pair.
template <class E>
bool is_product(E const& e) {
    tensor<float, 4> const x({1, 2, 40, 9});
    auto const text = explain(compare(e) | softmax | weighted_sum, x, x, x);
    CAPTURE(text);
    bool const product = text.find("1 matrix product (") != std::string::npos,
               pairs = text.find("sum for each pair") != std::string::npos;
    REQUIRE(product != pairs);
    return product;
}

auto const squares = sum(square(q - k));

}  // namespace

TEST_CASE("functions that are gentle everywhere take squares as a product", "[driver]") {
    tensor<float, 1> const x({40}, 2);
    CHECK(is_product(-squares / 8));
    CHECK(is_product(tanh(squares / 8)));
    CHECK(is_product(min(squares, 4) + max(0.5 * squares, 1)));
    CHECK(is_product(squares * param(x)[kv_idx]));
    CHECK(is_product(squares / (1 + sum(square(k)))));
    CHECK(is_product(select(kv_idx < q_idx, -squares, 0)));
    CHECK(is_product(squares * squares));
}

TEST_CASE("functions that are steep somewhere take them where the call stays away from there", "[driver]") {
    tensor<float, 1> const widths({2}, 0.5f), negative({2}, -0.5f);
    CHECK(is_product(-log(1 + squares / 8)));
    CHECK(is_product(-log1p(squares / 8)));
    CHECK(is_product(1 / (1 + squares)));
    CHECK(is_product(exp(-squares / 8)));
    CHECK(is_product(sqrt(1.0f + squares)));
    CHECK(is_product(pow(1 + squares / 2.5f, -1.5f)));
    CHECK(is_product(-log(1 + squares / param(widths)[head])));
    CHECK(is_product(select(squares < 4.0f, -squares, -INFINITY)));
    CHECK(is_product(1 / (1 + log(1 + squares))));

    CHECK_FALSE(is_product(-sqrt(squares)));
    CHECK_FALSE(is_product(1 / squares));
    CHECK_FALSE(is_product(log(squares)));
    CHECK_FALSE(is_product(log(1e-6 + squares)));
    CHECK_FALSE(is_product(1 / (1e-6 + squares)));
    CHECK_FALSE(is_product(exp(squares)));
    CHECK_FALSE(is_product(select(squares < 1e-6, 1, 0)));
    CHECK_FALSE(is_product(-log(1 + squares / param(negative)[head])));
}

TEST_CASE("squares inside of functions, fused", "[driver]") {
    check_fused_at_all_widths<float>(compare(-log(1 + squares / 2.5f)) | softmax | weighted_sum, many);
    check_fused_at_all_widths<float>(compare(1 / (1.5f + squares)) | causal | softmax | weighted_sum, many);
    check_fused<float>(compare(sum(square(2 * q - k), features(1, 4)) * sum(q * k)) | softmax | weighted_sum, many);
    check_fused<float>(compare(sum(q * k) / (2 + squares)) | softmax | weighted_sum, many);
    check_fused<float>(compare(exp(-squares / 8)) | weigh(score) | weighted_sum, many);
    check_fused<double>(compare(pow(1 + squares / 2.5, -1.5)) | softmax | weighted_sum, many);
    check_fused<float>(compare(-log(1e-6 + squares)) | softmax | weighted_sum, many);
    auto one = many;
    one.queries = 1;
    check_fused<float>(compare(-log(1 + squares / 2.5f)) | softmax | weighted_sum, one);
}

TEST_CASE("a cutoff on a distance, fused", "[driver]") {
    check_fused_at_all_widths<float>(compare(select(squares < 20.0f, -squares, -INFINITY)) | softmax | weighted_sum,
                                     many);
}

TEST_CASE("what a product loses of a small distance stays as small", "[driver]") {
    // Each key is a query a little moved, far from 0 for its distance: the sum of squares is off by the rounding of
    // products of the features, and the scores by no more.
    testing::dice random(3);
    auto const query = testing::random_tensor<float>(random, std::array<index_t, 2>{40, 9}, 8);
    auto key = query;
    for (float& x : key) x += static_cast<float>(random.real(-1e-2, 1e-2));
    double most = 0;
    for (index_t i = 0; i < 40; ++i) {
        double squared = 0;
        for (index_t c = 0; c < 9; ++c) squared += static_cast<double>(query(i, c)) * static_cast<double>(query(i, c));
        most = std::max(most, squared);
    }
    auto const check = [&](auto const& e) {
        tensor<float, 2> got({40, 40}), result({40, 9});
        tensor<double, 2> expected({40, 40}), exact({40, 9});
        attend(compare(e) | unnormalized | weighted_sum, query, key, query, result, weights(got));
        reference::attend(compare(e) | unnormalized | weighted_sum, query, key, query, exact, weights(expected));
        double worst = 0;
        for (std::size_t n = 0; n < got.elements.size(); ++n)
            worst = std::max(worst, std::abs(static_cast<double>(got.elements[n]) - expected.elements[n]));
        return worst;
    };
    double const rounding = 8 * 0x1p-24 * 2 * most;  // of the products
    CHECK(check(-squares) < rounding);
    CHECK(check(-log(1 + squares)) < rounding);
    CHECK(check(1 / (1 + squares)) < rounding);
    CHECK(check(exp(-squares)) < rounding);
    CHECK(check(1 / (4 + squares)) < rounding / 16);
    CHECK(check(-log(1e-3 + squares)) < 1e-4);  // as written
}
