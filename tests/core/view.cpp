// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/tensor.hpp>
#include <fovea/core/view.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;

TEST_CASE("a dense view reads in C order", "[core]") {
    std::vector<int> elements(24);
    for (int i = 0; i < 24; ++i) elements[static_cast<std::size_t>(i)] = i;
    view<int, 3> const v(elements.data(), {2, 3, 4});
    CHECK(v.size() == 24);
    int expected = 0;
    for (index_t a = 0; a < 2; ++a)
        for (index_t b = 0; b < 3; ++b)
            for (index_t c = 0; c < 4; ++c) CHECK(v(a, b, c) == expected++);
}

TEST_CASE("strides make other orders and broadcasts of the same elements", "[core]") {
    std::vector<float> const elements{0, 1, 2, 3, 4, 5};
    view<float const, 2> const rows(elements.data(), {3, 2});
    view<float const, 3> const swapped(elements.data(), {2, 3, 1}, {1, 2, 1});
    view<float const, 2> const repeated(elements.data(), {4, 2}, {0, 1});
    for (index_t i = 0; i < 3; ++i)
        for (index_t j = 0; j < 2; ++j) CHECK(swapped(j, i, 0) == rows(i, j));
    for (index_t i = 0; i < 4; ++i) CHECK(repeated(i, 1) == 1);
}

TEST_CASE("type and rank are deduced, with strides or without", "[core]") {
    float elements[24] = {};
    float const* const first = elements;
    std::array<index_t, 2> const extents{4, 3}, strides{6, 1};
    static_assert(std::is_same_v<decltype(view(elements, {4, 6})), view<float, 2>>);
    static_assert(std::is_same_v<decltype(view(first, {2, 4, 3}, {12, 3, 1})), view<float const, 3>>);
    static_assert(std::is_same_v<decltype(view(elements, extents, strides)), view<float, 2>>);
    CHECK(view(elements, {4, 3}, {6, 1}).place(2, 1) == elements + 13);
}

TEST_CASE("a container of numbers alone is a view with one axis", "[core]") {
    std::vector<float> numbers{1, 2, 3};
    view const all(numbers);
    STATIC_REQUIRE(std::is_same_v<decltype(all), view<float, 1> const>);
    CHECK(all.data == numbers.data());
    CHECK(all.extents == extents_t<1>{3});
    std::vector<float> const fixed(2);
    STATIC_REQUIRE(std::is_same_v<decltype(view(fixed)), view<float const, 1>>);
    STATIC_REQUIRE(!std::is_convertible_v<std::vector<float>&, view<float, 1>>);         // a view is made by name
    STATIC_REQUIRE(!std::is_constructible_v<view<float const, 1>, std::vector<float>>);  // of a temporary there is none
}

TEST_CASE("a view refuses what it cannot be", "[core]") {
    std::vector<float> elements(6);
    CHECK_THROWS_AS((view<float, 2>(elements.data(), {2, 3}, {1, 2})), shape_error);
    CHECK_THROWS_WITH((view<float, 2>(std::span<float>(elements), {2, 4})),
                      "view: the span has 6 elements, the extents (2, 4) need 8");
    CHECK_NOTHROW(view<float, 2>(elements.data(), {6, 1}, {1, 6}));  // a last axis of one element has no stride
}

TEST_CASE("a view without elements has no wrong strides", "[core]") {
    for (index_t const stride : {-3, 0, 1, 6}) {
        CHECK(view<float, 2>(nullptr, {0, 6}, {1, stride}).empty());
        CHECK(view<float, 3>(nullptr, {2, 0, 6}, {stride, stride, stride}).strides[2] == 1);
        CHECK(view<float, 2>(nullptr, {6, 0}, {stride, stride}).size() == 0);
    }
}

TEST_CASE("leading axes can be added to a view", "[core]") {
    std::vector<float> elements(6);
    view<float, 2> const v(elements.data(), {2, 3});
    auto const wider = with_leading_axes<4>(v);
    CHECK(wider.extents == extents_t<4>{1, 1, 2, 3});
    CHECK(&wider(0, 0, 1, 2) == &v(1, 2));
}

TEST_CASE("indices beside a table stand for its nearest element", "[core]") {
    std::vector<int> const elements(40);
    view<int const, 2> const table(elements.data(), {3, 4}, {10, 1});
    for (index_t i = -2; i <= 5; ++i)
        for (index_t j = -2; j <= 6; ++j) {
            index_t const row = i < 0 ? 0 : i > 2 ? 2 : i, column = j < 0 ? 0 : j > 3 ? 3 : j;
            CHECK(clamped_offset(table, i, j) == table.offset(row, column));
            CHECK(clamped_offset(table, i) == table.offset(row, 0));
        }
    CHECK(clamped_offset(table) == 0);
}

TEST_CASE("a view converts to one of const elements and is made at compile time", "[core]") {
    static constexpr int elements[] = {1, 2, 3, 4};
    constexpr view<int const, 2> v(elements, {2, 2});
    STATIC_REQUIRE(v(1, 0) == 3);
    float x = 1;
    view<float const, 1> const read_only = view<float, 1>(&x, {1});
    CHECK(read_only(0) == 1);
}

TEST_CASE("extents are written as in messages", "[core]") { CHECK(to_text(extents_t<3>{2, 8, 128}) == "(2, 8, 128)"); }

TEST_CASE("a tensor converts to its view, written as a conversion or not", "[core]") {
    tensor<float, 3> const t({2, 3, 4}, 5);
    auto const written = view<float const, 3>(t);
    view<float const, 3> const implied = t;
    CHECK(written.data == t.data());
    CHECK(written.extents == t.extents);
    CHECK(implied.extents == t.extents);
}
