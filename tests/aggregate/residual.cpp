// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/concat_heads.hpp>
#include <fovea/aggregate/output.hpp>
#include <fovea/aggregate/residual.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/gradient.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/score/dot.hpp>

#include "catch.hpp"
#include "heads_case.hpp"

#include <functional>

using namespace fovea;

TEST_CASE("residual adds the source of the queries", "[aggregate]") {
    testing::dice random(5);
    auto const x = testing::random_tensor<double>(random, std::array<index_t, 3>{2, 5, 4});
    auto const w = testing::random_tensor<double>(random, std::array<index_t, 2>{4, 4});
    tensor<double, 3> change({2, 5, 4}), updated({2, 5, 4});
    auto const attention = project(w, as_is, w, heads<2>) | scaled_dot | softmax | weighted_sum;
    reference::attend(attention, x, change);
    reference::attend(attention | residual, x, updated);
    for (std::size_t n = 0; n < x.elements.size(); ++n)
        CHECK(updated.elements[n] == Approx(x.elements[n] + change.elements[n]));
    reference::attend(attention | output(w) | residual, x, updated);
    reference::attend(attention | output(w), x, change);
    CHECK(updated(1, 4, 3) == Approx(x(1, 4, 3) + change(1, 4, 3)));
}

TEST_CASE("heads that came with the operands keep their residual by head", "[aggregate]") {
    heads_case c;
    c.v = c.make({2, 3, 6, 5});
    tensor<double, 4> plain({2, 3, 4, 5}), updated({2, 3, 4, 5});
    reference::attend(by_heads, c.q, c.k, c.v, plain);
    reference::attend(by_heads | residual, c.q, c.k, c.v, updated);
    CHECK(updated(1, 2, 3, 4) == Approx(plain(1, 2, 3, 4) + c.q(1, 2, 3, 4)));
}

TEST_CASE("in cross attention it is the queries that are added to", "[aggregate]") {
    testing::dice random(5);
    auto const x = testing::random_tensor<double>(random, std::array<index_t, 2>{3, 4});
    auto const m = testing::random_tensor<double>(random, std::array<index_t, 2>{6, 4});
    tensor<double, 2> plain({3, 4}), updated({3, 4});
    auto const attention = scaled_dot | softmax | weighted_sum;
    reference::attend(attention, queries(x), memory(m), plain);
    reference::attend(attention | residual, queries(x), memory(m), updated);
    CHECK(updated(2, 3) == Approx(plain(2, 3) + x(2, 3)));
}

TEST_CASE("rows of the caller's are added, and cut with the queries of a ragged call", "[aggregate]") {
    testing::dice random(6);
    auto const x = testing::random_tensor<double>(random, std::array<index_t, 3>{2, 5, 4}),
               normalized = testing::random_tensor<double>(random, std::array<index_t, 3>{2, 5, 4});
    tensor<double, 3> change({2, 5, 4}), updated({2, 5, 4});
    auto const attention = project(as_is, as_is, as_is, heads<2>) | scaled_dot | softmax | weighted_sum | concat_heads;
    attend(attention, normalized, change);
    attend(attention | residual(x), normalized, updated);
    for (std::size_t n = 0; n < x.elements.size(); ++n)
        CHECK(updated.elements[n] == Approx(x.elements[n] + change.elements[n]));

    std::vector<int> const offsets{0, 5, 10};
    view<double const, 2> const packed(normalized.data(), {10, 4}), added(x.data(), {10, 4});
    tensor<double, 2> y({10, 4}), dx({10, 4});
    attend(ragged(offsets), attention | residual(added), packed, y);
    CHECK(y.elements == updated.elements);
    gradient(ragged(offsets), attention | residual(added), packed, y, grad(added, dx));
    CHECK(dx.elements == y.elements);
}

TEST_CASE("residual names the rows that do not fit", "[aggregate]") {
    tensor<float, 2> const x({5, 4}), few({4, 4}), narrow({5, 3});
    tensor<float, 3> const of_batches({2, 5, 4});
    tensor<float, 2> y({5, 4}, 7);
    auto const attention = dot | softmax | weighted_sum;
    std::vector<int> const offsets{0, 2, 5};
    for (auto const& call :
         std::vector<std::function<void()>>{[&] { attend(attention | residual(few), x, y); },
                                            [&] { attend(ragged(offsets), attention | residual(few), x, y); }})
        CHECK_THROWS_WITH(call(), "residual adds rows (4, 4) to a result of 1 batch element and 5 queries");
    CHECK_THROWS_WITH(attend(attention | residual(of_batches), x, y),
                      "residual adds rows (2, 5, 4) to a result of 1 batch element and 5 queries");
    CHECK_THROWS_WITH(attend(attention | residual(narrow), x, y),
                      "a table read feature by feature has 3 elements, the result has 4 features");
    for (float element : y) CHECK(element == 7);
}

TEST_CASE("the source of the queries is added", "[aggregate]") {
    //! [example]
    tensor<float, 2> x({2, 2}, 1), result({2, 2});
    attend(dot | softmax | weighted_sum | residual, x, result);
    // attention gives 1, the source is 1
    //! [example]
    CHECK(result.elements == std::vector<float>{2, 2, 2, 2});
}
