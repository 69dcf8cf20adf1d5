// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays, adaptors and views of xtensor.
#include "interop/places.hpp"

#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include <array>
#include <type_traits>
#include <utility>
#include <vector>

using namespace fovea;

namespace {

using matrix = xt::xtensor<float, 2>;

matrix counted(std::size_t rows, std::size_t columns) {
    matrix m(std::array{rows, columns});
    float next = 0;
    for (auto& x : m) x = next++;
    return m;
}

}  // namespace

TEST_CASE("arrays of xtensor are taken everywhere", "[interop]") {
    auto const sizes = [](auto... n) { return std::array{static_cast<std::size_t>(n)...}; };
    places::check_all_places([&](int rows, int columns) { return matrix(sizes(rows, columns)); },
                             [&](int size) { return xt::xtensor<float, 1>(sizes(size)); });
}

TEST_CASE("arrays of xtensor show their own elements", "[interop]") {
    auto m = counted(6, 8);
    CHECK(as_view(m).extents == extents_t<2>{6, 8});
    CHECK(&as_view(m)(5, 7) == &m(5, 7));
    STATIC_REQUIRE(std::is_same_v<decltype(as_view(std::as_const(m))), view<float const, 2>>);
    std::vector<float> elements(24);
    auto adapted = xt::adapt(elements, std::array<std::size_t, 3>{2, 3, 4});
    CHECK(&as_view(adapted)(1, 2, 3) == &elements[23]);
    xt::xtensor_fixed<float, xt::xshape<2, 3>> fixed;
    CHECK(&as_view(fixed)(1, 2) == &fixed(1, 2));
    xt::xtensor<float, 3> const of_one(std::array<std::size_t, 3>{1, 5, 1});  // xtensor gives such axes stride 0
    CHECK(&as_view(of_one)(0, 4, 0) == &of_one(0, 4, 0));
}

TEST_CASE("views of xtensor show the elements they stand for", "[interop]") {
    auto m = counted(6, 8);
    auto part = xt::view(m, xt::range(1, 4), xt::range(2, 6));
    CHECK(as_view(part).extents == extents_t<2>{3, 4});
    CHECK(&as_view(part)(2, 3) == &m(3, 5));
    auto of_part = xt::view(part, xt::range(1, 3), xt::all());
    CHECK(&as_view(of_part)(1, 3) == &m(3, 5));
    CHECK(as_view(xt::view(m, 3, xt::all())).extents == extents_t<1>{8});
    CHECK(&as_view(xt::view(m, 3, xt::all()))(7) == &m(3, 7));
    CHECK(&as_view(xt::view(m, xt::range(0, 6, 2), xt::all()))(2, 1) == &m(4, 1));
    CHECK(as_view(xt::view(m, xt::newaxis(), xt::all(), xt::all())).extents == extents_t<3>{1, 6, 8});
    CHECK_THROWS_WITH(as_view(xt::view(m, xt::all(), xt::range(0, 8, 2))),
                      "view: the last axis must be contiguous, its stride is 2 and must be 1: copy the elements");
    CHECK_THROWS_WITH(as_view(xt::view(m, xt::all(), 3)),
                      "view: the last axis must be contiguous, its stride is 8 and must be 1: copy the elements");
    xt::xtensor<float, 2, xt::layout_type::column_major> const columns(std::array<std::size_t, 2>{6, 8});
    CHECK_THROWS_WITH(as_view(columns),
                      "view: the last axis must be contiguous, its stride is 6 and must be 1: copy the elements");
}

TEST_CASE("of an array that counts its axes itself, the number is written", "[interop]") {
    xt::xarray<float> const array = counted(6, 8);
    CHECK(&as_view<2>(array)(5, 7) == &array(5, 7));
    CHECK_THROWS_WITH(as_view<3>(array), "view: the array has 2 axes, the view has 3");
    auto const strided = xt::strided_view(array, {xt::range(1, 4), xt::all()});
    CHECK(&as_view<2>(strided)(2, 7) == &array(3, 7));
    xt::xarray<float> result = counted(6, 8);
    tensor<float, 2> expected({6, 8});
    reference::attend(scaled_dot | softmax | weighted_sum, as_view<2>(array), as_view<2>(result));
    reference::attend(scaled_dot | softmax | weighted_sum, counted(6, 8), expected);
    CHECK(places::same(as_view<2>(result), expected.view()));
}

TEST_CASE("temporary owners of xtensor are known", "[interop]") {
    STATIC_REQUIRE(is_temporary_owner<matrix>);
    STATIC_REQUIRE(is_temporary_owner<xt::xarray<float>>);
    STATIC_REQUIRE(is_temporary_owner<xt::xtensor_fixed<float, xt::xshape<2, 3>>>);
    STATIC_REQUIRE(!is_temporary_owner<decltype(xt::view(std::declval<matrix&>(), 1, xt::all()))>);
    STATIC_REQUIRE(!is_temporary_owner<decltype(xt::adapt(std::declval<std::vector<float>&>(),
                                                          std::array<std::size_t, 2>{2, 3}))>);
    STATIC_REQUIRE(detail::like_expression<decltype(std::declval<matrix&>() + std::declval<matrix&>())>);
}
