// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrices, arrays, maps, blocks and tensors of Eigen.
#include "interop/places.hpp"

#include <Eigen/Core>
#include <unsupported/Eigen/CXX11/Tensor>

#include <type_traits>
#include <utility>

using namespace fovea;

namespace {

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using columns = Eigen::MatrixXf;
using strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;

}  // namespace

TEST_CASE("matrices, vectors and arrays of Eigen are taken everywhere", "[interop]") {
    places::check_all_places([](int rows, int cols) { return matrix(rows, cols); },
                             [](int size) { return Eigen::VectorXf(size); });
    places::check_all_places(
        [](int rows, int cols) {
            return Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>(rows, cols);
        },
        [](int size) { return Eigen::RowVectorXf(size); });
}

TEST_CASE("tensors of Eigen are taken everywhere", "[interop]") {
    places::check_all_places([](int rows, int cols) { return Eigen::Tensor<float, 2, Eigen::RowMajor>(rows, cols); },
                             [](int size) { return Eigen::Tensor<float, 1>(size); });
}

TEST_CASE("maps, blocks and references of Eigen show the elements they stand for", "[interop]") {
    matrix m = matrix::Random(6, 8);
    Eigen::Map<matrix> const map(m.data(), 6, 8);
    CHECK(as_view(map).data == m.data());
    auto const block = as_view(m.block(1, 2, 3, 4));
    CHECK(block.extents == extents_t<2>{3, 4});
    CHECK(block.strides == extents_t<2>{8, 1});
    CHECK(&block(2, 3) == &m(3, 5));
    auto const rows = as_view(m.middleRows(2, 3));
    CHECK(&rows(0, 7) == &m(2, 7));
    Eigen::Ref<matrix> const ref(m);
    CHECK(&as_view(ref)(5, 7) == &m(5, 7));
    auto const row = as_view(m.row(3));
    STATIC_REQUIRE(decltype(row)::rank == 1);
    CHECK(&row(index_t{7}) == &m(3, 7));
    Eigen::Map<matrix const, 0, Eigen::OuterStride<>> const every_other(m.data(), 3, 8, Eigen::OuterStride<>(16));
    CHECK(&as_view(every_other)(2, 1) == &m(4, 1));
    STATIC_REQUIRE(std::is_same_v<decltype(as_view(every_other)), view<float const, 2>>);
    STATIC_REQUIRE(std::is_same_v<decltype(as_view(std::as_const(m))), view<float const, 2>>);

    Eigen::Tensor<float, 4, Eigen::RowMajor> t(2, 3, 4, 5);
    t.setRandom();
    Eigen::TensorMap<Eigen::Tensor<float const, 4, Eigen::RowMajor>> const mapped(t.data(), 2, 3, 4, 5);
    CHECK(as_view(t).extents == extents_t<4>{2, 3, 4, 5});
    CHECK(&as_view(t)(1, 2, 3, 4) == &t(1, 2, 3, 4));
    CHECK(&as_view(mapped)(1, 0, 3, 2) == &t(1, 0, 3, 2));
    STATIC_REQUIRE(std::is_same_v<decltype(as_view(mapped)), view<float const, 4>>);
    Eigen::TensorFixedSize<float, Eigen::Sizes<2, 3>, Eigen::RowMajor> fixed;
    CHECK(as_view(fixed).extents == extents_t<2>{2, 3});
}

TEST_CASE("a matrix in columns is passed as its transpose", "[interop]") {
    columns const stored = columns::Random(6, 8);  // what is meant is (8, 6)
    auto const v = as_view(stored.transpose());
    CHECK(v.extents == extents_t<2>{8, 6});
    CHECK(&v(7, 5) == &stored(5, 7));
    // A projection by a matrix in columns: (in, out) in columns is (out, in) in rows.
    columns const w = columns::Random(6, 4);
    matrix const w_rows = w, x = matrix::Random(5, 6);
    matrix by_columns(5, 4), by_rows(5, 4);
    auto const attention = [](auto const& map) { return project(map, map, map) | scaled_dot | softmax | weighted_sum; };
    reference::attend(attention(linear(transposed(w.transpose()))), x, by_columns);
    reference::attend(attention(linear(w_rows)), x, by_rows);
    CHECK(by_columns == by_rows);
}

TEST_CASE("strides that a view cannot have are refused", "[interop]") {
    matrix m = matrix::Random(6, 8);
    Eigen::Map<matrix, 0, strides> const inner(m.data(), 6, 4, strides(8, 2));
    CHECK_THROWS_WITH(as_view(inner),
                      "view: the last axis must be contiguous, its stride is 2 and must be 1: copy the elements");
    CHECK_THROWS_WITH(as_view(m.col(1)),
                      "view: the last axis must be contiguous, its stride is 8 and must be 1: copy the elements");
    Eigen::Map<matrix, 0, strides> const backwards(m.data() + 40, 6, 8, strides(-8, 1));
    CHECK(&as_view(backwards)(5, 0) == &m(0, 0));
}

TEST_CASE("temporary owners of Eigen are known", "[interop]") {
    STATIC_REQUIRE(is_temporary_owner<matrix>);
    STATIC_REQUIRE(is_temporary_owner<Eigen::Tensor<float, 2, Eigen::RowMajor>>);
    STATIC_REQUIRE(is_temporary_owner<Eigen::TensorFixedSize<float, Eigen::Sizes<2, 3>, Eigen::RowMajor>>);
    STATIC_REQUIRE(!is_temporary_owner<Eigen::Map<matrix>>);
    STATIC_REQUIRE(!is_temporary_owner<Eigen::Ref<matrix>>);
    STATIC_REQUIRE(!is_temporary_owner<decltype(std::declval<matrix&>().row(0))>);
    STATIC_REQUIRE(!is_temporary_owner<Eigen::TensorMap<Eigen::Tensor<float, 2, Eigen::RowMajor>>>);
}
