// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

using namespace fovea;

namespace {
tensor<double, 2> matrix(unsigned seed, index_t in, index_t out) {
    testing::dice random(seed);
    return testing::random_tensor<double>(random, std::array<index_t, 2>{in, out});
}
}  // namespace

TEST_CASE("projections and heads are those of separate attentions", "[project]") {
    testing::dice random(9);
    auto const x = testing::random_tensor<double>(random, std::array<index_t, 2>{5, 6});
    auto const wq = matrix(1, 6, 8), wk = matrix(2, 6, 4), wv = matrix(3, 6, 6);
    tensor<double, 2> out({5, 12});
    reference::attend(project(wq, wk, wv, heads<4, 2>) | scaled_dot | softmax | weighted_sum, x, out);

    for (index_t h = 0; h < 4; ++h) {  // query head h reads key/value head h / 2
        auto const part = [&](tensor<double, 2> const& w, index_t first, index_t size) {
            return view<double const, 2>(w.data() + first, {6, size}, {w.extent(1), 1});
        };
        auto const q = part(wq, 2 * h, 2), k = part(wk, 2 * (h / 2), 2);
        auto const v = part(wv, 3 * (h / 2), 3);
        tensor<double, 2> one({5, 3});
        reference::attend(project(q, k, v) | scaled_dot | softmax | weighted_sum, x, one);
        for (index_t i = 0; i < 5; ++i)
            for (index_t c = 0; c < 3; ++c) CHECK(out(i, 3 * h + c) == Approx(one(i, c)));
    }
}

TEST_CASE("a bare matrix stands for linear", "[project]") {
    auto const w = matrix(1, 3, 4);
    STATIC_REQUIRE(std::is_same_v<decltype(project(w, linear(w), as_is)),
                                  project_t<linear_t<double>, linear_t<double>, as_is_t, heads_t<1>>>);
    CHECK(describe(project(w, as_is, as_is)) == "project(linear(3 -> 4), as_is, as_is)");
    CHECK(describe(project(as_is, as_is, as_is, heads<32, 8>)) == "project(as_is, as_is, as_is, heads<32, 8>)");
    CHECK(describe(project(as_is, as_is, as_is, heads<4>)) == "project(as_is, as_is, as_is, heads<4>)");
}

TEST_CASE("queries and memory are projected from their own sources", "[project]") {
    testing::dice random(9);
    auto const x = testing::random_tensor<double>(random, std::array<index_t, 3>{2, 3, 6});
    auto const m = testing::random_tensor<double>(random, std::array<index_t, 3>{2, 7, 5});
    auto const wq = matrix(1, 6, 4), wk = matrix(2, 5, 4);
    tensor<double, 3> out({2, 3, 5}), same({2, 3, 5});
    auto const attention = project(wq, wk, as_is) | scaled_dot | softmax | weighted_sum;
    reference::attend(attention, queries(x), memory(m), out);
    reference::attend(attention, x, m, m, same);
    CHECK(out.elements == same.elements);
}

TEST_CASE("queries, keys and values arise from their sources", "[project]") {
    //! [example]
    testing::dice random(1);
    auto const x = testing::random_tensor<float, 2>(random, {5, 8});
    auto const Wq = testing::random_tensor<float, 2>(random, {8, 16}),
               Wk = testing::random_tensor<float, 2>(random, {8, 8});
    auto const Wv = testing::random_tensor<float, 2>(random, {8, 8});
    tensor<float, 2> result({5, 16});
    attend(project(Wq, Wk, Wv, heads<4, 2>) | scaled_dot | softmax | weighted_sum, x, result);
    // four query heads of four features share two heads of keys and values
    //! [example]
    tensor<float, 2> expected({5, 16});
    reference::attend(project(Wq, Wk, Wv, heads<4, 2>) | scaled_dot | softmax | weighted_sum, x, expected);
    for (std::size_t i = 0; i < 80; ++i) CHECK(result.elements[i] == Approx(expected.elements[i]).margin(1e-6));
}
