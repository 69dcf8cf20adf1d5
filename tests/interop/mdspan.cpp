// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// std::mdspan where the standard library has it, otherwise the reference implementation.
#include "interop/places.hpp"

#ifdef FOVEA_TEST_REFERENCE_MDSPAN
#include <mdspan/mdspan.hpp>
namespace spans = Kokkos;
#else
#include <mdspan>
namespace spans = std;
#endif

#include <array>
#include <type_traits>
#include <utility>
#include <vector>

using namespace fovea;

namespace {

using matrix = spans::mdspan<float, spans::dextents<int, 2>>;

/// An accessor that gives the double of what is stored.
struct doubling {
    using element_type = float;
    using reference = float;
    using data_handle_type = float*;
    using offset_policy = doubling;
    float access(float* p, std::size_t i) const { return 2 * p[i]; }
    float* offset(float* p, std::size_t i) const { return p + i; }
};

}  // namespace

TEST_CASE("mdspans are taken everywhere", "[interop]") {
    std::vector<std::vector<float>> elements;  // what the spans show outlives them
    elements.reserve(1000);
    auto const some = [&](int size) { return elements.emplace_back(static_cast<std::size_t>(size)).data(); };
    places::check_all_places(
        [&](int rows, int columns) { return matrix(some(rows * columns), rows, columns); },
        [&](int size) { return spans::mdspan<float, spans::dextents<long, 1>>(some(size), size); });
}

TEST_CASE("an mdspan shows its own elements", "[interop]") {
    std::vector<float> elements(48);
    matrix const m(elements.data(), 6, 8);
    CHECK(as_view(m).extents == extents_t<2>{6, 8});
    CHECK(&as_view(m)(5, 7) == &elements[47]);
    STATIC_REQUIRE(!is_temporary_owner<matrix>);
    using strided = spans::mdspan<float const, spans::dextents<int, 2>, spans::layout_stride>;
    using mapping = strided::mapping_type;
    strided const every_other(elements.data(), mapping(spans::dextents<int, 2>(3, 8), std::array{16, 1}));
    CHECK(&as_view(every_other)(2, 1) == &elements[33]);
    STATIC_REQUIRE(std::is_same_v<decltype(as_view(every_other)), view<float const, 2>>);
    strided const inner(elements.data(), mapping(spans::dextents<int, 2>(3, 4), std::array{16, 2}));
    CHECK_THROWS_WITH(as_view(inner),
                      "view: the last axis must be contiguous, its stride is 2 and must be 1: copy the elements");
    spans::mdspan<float, spans::dextents<int, 2>, spans::layout_left> const columns(elements.data(), 6, 8);
    CHECK_THROWS_WITH(as_view(columns),
                      "view: the last axis must be contiguous, its stride is 6 and must be 1: copy the elements");
    spans::mdspan<float, spans::extents<int, spans::dynamic_extent, 8>> const rows(elements.data(), 6);
    STATIC_REQUIRE(static_features<std::remove_const_t<decltype(rows)>> == 8);
    CHECK(as_view(rows).extents == extents_t<2>{6, 8});
}

TEST_CASE("an mdspan whose accessor computes elements is known", "[interop]") {
    using computed = spans::mdspan<float, spans::dextents<int, 2>, spans::layout_right, doubling>;
    STATIC_REQUIRE(detail::computes_elements<computed>);
    STATIC_REQUIRE(!detail::computes_elements<matrix>);
    STATIC_REQUIRE(!detail::computes_elements<spans::mdspan<float const, spans::dextents<int, 2>>>);
}
