// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/as_view.hpp>
#include <fovea/core/tensor.hpp>

#include "catch.hpp"

using namespace fovea;

namespace {

/// A stand-in for std::mdspan, for compilers that have none.
struct span_of_rows {
    float* first;
    static constexpr std::size_t rank() { return 2; }
    float* const& data_handle() const { return first; }  // a reference, as in some libraries
    int extent(std::size_t axis) const { return axis == 0 ? 2 : 3; }
    int stride(std::size_t axis) const { return axis == 0 ? 3 : 1; }
};

/// A stand-in for an Eigen matrix in rows.
struct matrix_of_rows {
    float* first;
    static constexpr bool IsRowMajor = true;
    float* data() const { return first; }
    int rows() const { return 2; }
    int cols() const { return 3; }
    int outerStride() const { return 3; }
    int innerStride() const { return 1; }
};

}  // namespace

TEST_CASE("owners, mdspans and matrices give views", "[core]") {
    tensor<float, 2> owner({2, 3});
    owner(1, 2) = 7;
    CHECK(as_view(owner)(1, 2) == 7);
    CHECK(as_view(span_of_rows{owner.data()})(1, 2) == 7);
    CHECK(as_view(matrix_of_rows{owner.data()})(1, 2) == 7);
    STATIC_REQUIRE(std::is_same_v<decltype(as_view(owner)), view<float, 2>>);
    STATIC_REQUIRE(std::is_same_v<decltype(as_view(std::as_const(owner))), view<float const, 2>>);
    STATIC_REQUIRE(viewable<view<double, 3>>);
    STATIC_REQUIRE(!viewable<int>);
}
