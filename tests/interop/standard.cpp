// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Containers of the standard library, arrays of the language, and containers of one's own.
#include "interop/places.hpp"

#include <array>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <valarray>
#include <vector>

using namespace fovea;

namespace own {

/// A matrix of somebody's, of which the library knows nothing. It looks like a list of its elements.
class grid {
public:
    grid(int rows, int columns) : cells_(static_cast<std::size_t>(rows * columns)), rows_(rows), columns_(columns) {}
    auto begin() { return cells_.begin(); }
    auto begin() const { return cells_.begin(); }
    auto end() { return cells_.end(); }
    auto end() const { return cells_.end(); }
    float* cells() { return cells_.data(); }
    float const* cells() const { return cells_.data(); }
    int height() const { return rows_; }
    int width() const { return columns_; }

private:
    std::vector<float> cells_;
    int rows_, columns_;
};

/// A part of one: its elements do not end with it.
struct window {
    grid& of;
};

}  // namespace own

template <>
struct fovea::container_traits<own::grid> {
    static auto view_of(auto& g) { return view(g.cells(), {g.height(), g.width()}); }
};
template <>
struct fovea::container_traits<own::window> {
    static constexpr bool owns_elements = false;
    static auto view_of(auto& w) { return view(w.of.cells(), {w.of.height(), w.of.width()}); }
};

TEST_CASE("containers that container_traits knows are taken everywhere", "[interop]") {
    places::check_all_places([](int rows, int columns) { return own::grid(rows, columns); },
                             [](int size) { return std::vector<float>(static_cast<std::size_t>(size)); });
    own::grid g(3, 4);
    STATIC_REQUIRE(std::is_same_v<decltype(as_view(g)), view<float, 2>>);
    STATIC_REQUIRE(std::is_same_v<decltype(as_view(std::as_const(g))), view<float const, 2>>);
    CHECK(as_view(own::window{g}).data == g.cells());
    STATIC_REQUIRE(is_temporary_owner<own::grid>);
    STATIC_REQUIRE(is_temporary_owner<own::grid const>);
    STATIC_REQUIRE(!is_temporary_owner<own::grid&>);
    STATIC_REQUIRE(!is_temporary_owner<own::window>);
}

TEST_CASE("views and spans with extents are taken everywhere", "[interop]") {
    std::vector<std::vector<float>> elements;  // what the views show outlives them
    auto const some = [&](int size) { return std::span(elements.emplace_back(static_cast<std::size_t>(size))); };
    elements.reserve(1000);
    places::check_all_places([&](int rows, int columns) { return view(some(rows * columns), {rows, columns}); },
                             [&](int size) { return some(size); });
}

TEST_CASE("numbers one after another have one axis", "[interop]") {
    std::vector<double> const vector(5);
    std::array<int, 5> array{};
    std::span<int, 5> const span(array);
    std::valarray<float> numbers(5);
    float plain[5] = {};
    auto const owner = std::make_unique<float[]>(5);
    CHECK(as_view(vector).extents == extents_t<1>{5});
    CHECK(as_view(array).data == array.data());
    CHECK(as_view(span).data == array.data());
    CHECK(as_view(numbers).data == &numbers[0]);
    CHECK(as_view(plain).data == plain);
    CHECK(as_view(view(owner.get(), {5})).extents == extents_t<1>{5});
    STATIC_REQUIRE(std::is_same_v<decltype(as_view(vector)), view<double const, 1>>);
    STATIC_REQUIRE(std::is_same_v<decltype(as_view(std::as_const(plain))), view<float const, 1>>);
    CHECK(as_view(std::vector<float>()).empty());
}

TEST_CASE("arrays of fixed sizes are axes of their own", "[interop]") {
    float plain[2][3] = {{1, 2, 3}, {4, 5, 6}};
    CHECK(as_view(plain).extents == extents_t<2>{2, 3});
    CHECK(&as_view(plain)(1, 2) == &plain[1][2]);
    std::vector<std::array<float, 3>> rows(4);
    CHECK(as_view(rows).extents == extents_t<2>{4, 3});
    CHECK(&as_view(rows)(3, 1) == &rows[3][1]);
    STATIC_REQUIRE(std::is_same_v<decltype(as_view(std::as_const(rows))), view<float const, 2>>);
    std::array<std::array<std::array<int, 2>, 3>, 4> const deep{};
    CHECK(as_view(deep).extents == extents_t<3>{4, 3, 2});
    CHECK(&as_view(deep)(3, 2, 1) == &deep[3][2][1]);
    STATIC_REQUIRE(is_temporary_owner<std::vector<std::array<float, 3>>>);
    STATIC_REQUIRE(!is_temporary_owner<std::span<std::array<float, 3>>>);
    STATIC_REQUIRE(!viewable<std::vector<std::vector<float>>>);
    STATIC_REQUIRE(!viewable<std::vector<std::pair<float, float>>>);
    STATIC_REQUIRE(!viewable<std::array<std::vector<float>, 3>>);

    float result[2][3];
    tensor<float, 2> expected({2, 3});
    reference::attend(scaled_dot | softmax | weighted_sum, plain, result);
    reference::attend(scaled_dot | softmax | weighted_sum, as_view(plain), expected);
    CHECK(places::same(as_view(result), expected.view()));
}

TEST_CASE("what has no elements to show gives no view", "[interop]") {
    STATIC_REQUIRE(!viewable<std::vector<bool>>);
    STATIC_REQUIRE(!viewable<float*>);
    STATIC_REQUIRE(!viewable<std::span<std::vector<float>>>);
    STATIC_REQUIRE(!viewable<std::vector<float*>>);
    STATIC_REQUIRE(!viewable<float>);
    STATIC_REQUIRE(!viewable<std::initializer_list<std::vector<float>>>);
}
