// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "catch.hpp"

#include <fovea/driver/explain_gradient.hpp>
#include <fovea/fovea.hpp>

#include <array>

using namespace fovea;
using namespace fovea::placeholders;

namespace {
bool says(std::string const& text, std::string const& line) { return text.find(line + "\n") != std::string::npos; }
}  // namespace

TEST_CASE("derivatives of a score are printed for everything that it reads", "[driver]") {
    std::array<float, 4> const slopes{};
    //! [example]
    std::string const text = explain_gradient(scaled_dot | alibi(slopes) | causal | softmax | weighted_sum);
    //! [example]
    INFO(text);
    CHECK(says(text, "by q        rsqrt(dim) * k"));
    CHECK(says(text, "by k        rsqrt(dim) * q"));
    CHECK(text.find("by param[head] ") != std::string::npos);
    CHECK(says(text, "normalize   softmax"));
    CHECK(text.find("runs        tiles, five products") != std::string::npos);
    CHECK(text.find("driver/dense/backward/softmax_gradient.hpp") != std::string::npos);
}

TEST_CASE("derivatives are the expressions that derivative gives", "[driver]") {
    auto const body = tanh(q * 2 + k);
    int found = 0;
    for_each_derivative(body, [&](auto const& leaf, auto const& by) {
        ++found;
        struct {
            double operator()(q_t) const { return 0.25; }
            double operator()(k_t) const { return -0.75; }
        } const at;
        CHECK(evaluate(by, at) == evaluate(derivative(body, leaf), at));
    });
    CHECK(found == 2);
    CHECK(print(derivative(body, k)) == "1 - square(tanh(q * 2 + k))");
}

TEST_CASE("of operands the operations and bytes of a gradient are counted", "[driver]") {
    tensor<float, 4> const q({1, 2, 50, 16}), k({1, 2, 100, 16}), v({1, 2, 100, 8});
    auto const text = explain_gradient(scaled_dot | softmax | weighted_sum, q, k, v);
    INFO(text);
    // 2 * 50 * 100 pairs of 3 * 32 + 2 * 16 operations, and 48 more; 1600 + 3200 + 1600 numbers, and 800 of the result
    CHECK(says(text,
               "work        1.28 Mflop in sums over features; 28.8 kB read, 25.6 kB written; 1.76 Mflop without "
               "saved rows"));
    CHECK(explain_gradient(scaled_dot | sparsemax | weighted_sum, q, k, v).find("without") == std::string::npos);
}

TEST_CASE("what computes a gradient is named", "[driver]") {
    auto const runs = [](auto const& spec) {
        auto const text = explain_gradient(spec);
        return text.substr(text.find("runs "));
    };
    graph const none(0, {});
    std::array<float, 4> const w{};
    view<float const, 2> const matrix(w.data(), {2, 2});
    CHECK(runs(scaled_dot | sparsemax | weighted_sum).find("normalizer_gradient.hpp") != std::string::npos);
    CHECK(runs(dot | neighbors(none) | softmax | weighted_sum).find("listed_gradient.hpp") != std::string::npos);
    CHECK(runs(dot | neighbors(none) | sparsemax | weighted_sum).find("listed_gradient.hpp") != std::string::npos);
    CHECK(runs(dot | causal | unnormalized | running_state).find("recurrent_gradient.hpp") != std::string::npos);
    auto const listed_layer =
        runs(project(matrix, matrix, matrix, heads<2>) | dot | neighbors(none) | softmax | weighted_sum);
    CHECK(listed_layer.find("layer_gradient.hpp, around") != std::string::npos);
    CHECK(listed_layer.find("listed_gradient.hpp") != std::string::npos);
    CHECK(runs(project(matrix, matrix, matrix, heads<2>) | dot | softmax | weighted_sum).find("layer_gradient.hpp")
          != std::string::npos);
    CHECK(explain_gradient(dot | softmax | reweight(weight * 2) | weighted_sum).find("reweight    ")
          != std::string::npos);
}
