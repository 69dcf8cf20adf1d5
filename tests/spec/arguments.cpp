// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: alone
// Whatever gives a view may stand wherever a view may, and means the same there.
#include <fovea/fovea.hpp>

#include "catch.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#define FOVEA_HAS_EIGEN 1
#elif __has_include(<eigen3/Eigen/Core>)
#include <eigen3/Eigen/Core>
#define FOVEA_HAS_EIGEN 1
#endif

using namespace fovea;

namespace {
constexpr auto sdpa = scaled_dot | softmax | weighted_sum;
constexpr index_t rows = 5, per_row = 4;

/// Numbers that are all different.
template <class T = float>
std::vector<T> numbers(index_t count, double first = 0) {
    std::vector<T> all;
    for (index_t i = 0; i < count; ++i) all.push_back(T(first + 0.37 * double(i % 7) - 0.05 * double(i)));
    return all;
}

/// The result of a call, of `per_row` columns.
template <class Call>
std::vector<float> written(Call const& call, index_t columns = per_row) {
    std::vector<float> result(std::size_t(rows * columns), -1.f);
    call(view(result, {rows, columns}));
    return result;
}

/// Whether two results are the same up to rounding, as they are where one of them takes another loop.
bool agree(std::vector<float> const& a, std::vector<float> const& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(std::abs(a[i] - b[i]) < 1e-5f)) return false;
    return a.size() == b.size();
}

/// The results with an attention by the engine and by its definition, which must agree.
template <class A>
std::vector<float> result_of(A const& a, view<float const, 2> x, index_t columns = per_row) {
    auto const fused = written([&](auto out) { attend(a, x, out); }, columns);
    auto const exact = written([&](auto out) { reference::attend(a, x, out); }, columns);
    for (std::size_t i = 0; i < fused.size(); ++i) CHECK(fused[i] == Approx(exact[i]).margin(1e-5));
    return fused;
}
}  // namespace

TEST_CASE("containers are operands with extents, and tables and outputs as they are", "[spec]") {
    auto const x = numbers(rows * per_row);
    view<float const, 2> const v(x.data(), {rows, per_row});
    auto const expected = result_of(sdpa, v);
    CHECK(result_of(sdpa, view(x, {x.size() / per_row, per_row})) == expected);
    CHECK(result_of(sdpa, view(std::span(x), {rows, per_row})) == expected);
    CHECK(written([&](auto out) { attend(sdpa, queries(v), memory(v), out); }) == expected);
    CHECK(written([&](auto out) { attend(threads(2), sdpa, view(x, {rows, per_row}), v, v, out); }) == expected);

    std::vector<float> sums(rows), pairs(rows * rows);
    std::array<float, rows> entropies{};
    std::vector<std::int32_t> best(rows);
    std::vector<float> result(rows * per_row);
    attend(sdpa, v, view(result, {rows, per_row}), lse(sums), entropy(entropies));
    CHECK(agree(result, expected));
    attend(sdpa, v, view(result, {rows, per_row}), weights(view(pairs, {rows, rows})), best_key(std::span(best)),
           column_sums(std::span(sums)));
    CHECK(agree(result, expected));
}

TEST_CASE("a table is the same by a view, a tensor, a vector, a span and an array", "[spec]") {
    auto const x = numbers(rows * per_row);
    view<float const, 2> const v(x.data(), {rows, per_row});
    std::vector<float> const vector{1, -1, 0.5f, 2};
    std::array<float, 4> const array{1, -1, 0.5f, 2};
    float const plain[] = {1, -1, 0.5f, 2};
    tensor<float, 1> owner({4});
    std::copy(vector.begin(), vector.end(), owner.begin());
    std::span const span(vector);
    view<float const, 1> const viewed(vector.data(), {4});

    auto const by_each = [&](auto const& attention) {
        auto const expected = result_of(attention(viewed), v);
        CHECK(result_of(attention(vector), v) == expected);
        CHECK(result_of(attention(array), v) == expected);
        CHECK(result_of(attention(plain), v) == expected);
        CHECK(result_of(attention(owner), v) == expected);
        CHECK(result_of(attention(span), v) == expected);
    };
    using namespace placeholders;
    SECTION("param") {
        by_each([&](auto const& t) { return compare(sum(param(t) * q * k)) | softmax | weighted_sum; });
    }
    SECTION("additive") {
        by_each([&](auto const& t) { return additive(t) | softmax | weighted_sum; });
    }
    SECTION("key_only") {
        by_each([&](auto const& t) { return key_only(t) | softmax | weighted_sum; });
    }
    SECTION("alibi") {
        by_each([&](auto const& t) { return dot | alibi(t) | softmax | weighted_sum; });
    }
    SECTION("rms_normalized") {
        by_each([&](auto const& t) {
            return project(as_is | rms_normalized(t), as_is, as_is) | scaled_dot | softmax | weighted_sum;
        });
    }
    SECTION("the bias of a projection") {
        auto const w = numbers(per_row * per_row, 0.2);
        auto const matrix = view(w, {per_row, per_row});
        by_each([&](auto const& t) {
            return project(linear(matrix, t), as_is, as_is) | scaled_dot | softmax | weighted_sum;
        });
        by_each([&](auto const& t) { return scaled_dot | softmax | weighted_sum | output(matrix, t); });
    }
    SECTION("map") {
        by_each([&](auto const& t) { return scaled_dot | softmax | weighted_sum | map(out * param(t)); });
    }
}

TEST_CASE("tables over positions are the same by any container", "[spec]") {
    auto const x = numbers(rows * per_row);
    view<float const, 2> const v(x.data(), {rows, per_row});
    std::vector<int> const ids{0, 0, 1, 1, 2};
    std::vector<std::uint16_t> const small{0, 0, 1, 1, 2};  // ids may be any integers
    view<int const, 1> const viewed(ids.data(), {rows});
    auto const expected = result_of(scaled_dot | document(viewed) | softmax | weighted_sum, v);
    CHECK(result_of(scaled_dot | document(ids) | softmax | weighted_sum, v) == expected);
    CHECK(result_of(scaled_dot | document(std::span(ids)) | softmax | weighted_sum, v) == expected);
    CHECK(result_of(scaled_dot | document(small) | softmax | weighted_sum, v) == expected);
    CHECK(result_of(scaled_dot | document(small, ids) | softmax | weighted_sum, v) == expected);

    std::vector<int> const length{3};
    CHECK(result_of(scaled_dot | key_lengths(length) | softmax | weighted_sum, v)
          == result_of(scaled_dot | key_lengths(3) | softmax | weighted_sum, v));
    CHECK(result_of(scaled_dot | key_lengths(view<int const, 1>(length.data(), {1})) | softmax | weighted_sum, v)
          == result_of(scaled_dot | key_lengths(3) | softmax | weighted_sum, v));

    std::vector<std::uint8_t> const visible{1, 0, 1, 1, 0};  // (key)
    auto const by_column = where(placeholders::kv_idx != 1 && placeholders::kv_idx != 4);
    CHECK(result_of(scaled_dot | mask_tensor(visible) | softmax | weighted_sum, v)
          == result_of(scaled_dot | by_column | softmax | weighted_sum, v));
    CHECK(agree(result_of(scaled_dot | bias(std::span(x).first(rows)) | softmax | weighted_sum, v),
                result_of(scaled_dot | bias(view(x, {1, rows})) | softmax | weighted_sum, v)));
}

TEST_CASE("matrices of projections are the same by any owner", "[spec]") {
    auto const x = numbers(rows * per_row), w = numbers(per_row * 6, 0.3);
    view<float const, 2> const v(x.data(), {rows, per_row});
    tensor<float, 2> owner({per_row, 6});
    std::copy(w.begin(), w.end(), owner.begin());
    auto const matrix = view(w, {per_row, 6});
    auto const with = [&](auto const& m) {
        return result_of(project(m, m, m, heads<2>) | scaled_dot | softmax | weighted_sum, v, 6);
    };
    auto const expected = with(matrix);
    CHECK(with(owner) == expected);
    CHECK(with(linear(owner)) == expected);
    CHECK(result_of(project(owner | rotary, owner, matrix) | scaled_dot | softmax | weighted_sum, v, 6)
          == result_of(project(matrix | rotary, matrix, matrix) | scaled_dot | softmax | weighted_sum, v, 6));
}

TEST_CASE("views of containers have extents of any integers", "[spec]") {
    auto x = numbers(12);
    auto const& fixed = x;
    STATIC_REQUIRE(std::is_same_v<decltype(view(x, {3, 4})), view<float, 2>>);
    STATIC_REQUIRE(std::is_same_v<decltype(view(fixed, {3, 4})), view<float const, 2>>);
    CHECK(view(x, {x.size() / 4, 4}).extents == extents_t<2>{3, 4});
    CHECK(view(x, {index_t{2}, 3, x.size() / 6}).extents == extents_t<3>{2, 3, 2});
    CHECK(view<float const, 2>(x, {3, 4})(2, 3) == x[11]);
    CHECK_THROWS_AS(view(x, {3, 5}), shape_error);
    STATIC_REQUIRE(!std::is_convertible_v<view<float const, 2>, view<float, 2>>);
}

TEST_CASE("what owns its elements and ends with the statement is known", "[spec]") {
    STATIC_REQUIRE(is_temporary_owner<std::vector<float>>);
    STATIC_REQUIRE(is_temporary_owner<std::array<float, 3>>);
    STATIC_REQUIRE(is_temporary_owner<tensor<float, 2>>);
    STATIC_REQUIRE(is_temporary_owner<tensor<float, 2> const>);
    STATIC_REQUIRE(!is_temporary_owner<std::vector<float>&>);
    STATIC_REQUIRE(!is_temporary_owner<std::vector<float> const&>);
    STATIC_REQUIRE(!is_temporary_owner<std::span<float>>);
    STATIC_REQUIRE(!is_temporary_owner<view<float, 2>>);
    STATIC_REQUIRE(viewable<float(&)[3]>);
    STATIC_REQUIRE(!viewable<float*>);
    STATIC_REQUIRE(!viewable<std::vector<bool>&>);
    STATIC_REQUIRE(!viewable<std::vector<std::vector<float>>&>);
}

TEST_CASE("sixteen bits of a float are read as one where the pointer says so", "[spec]") {
    std::vector<std::uint16_t> bits;
    for (float const x : numbers(rows * per_row)) bits.push_back(bfloat16(x).bits);
    std::vector<float> wide;
    for (auto const b : bits) wide.push_back(bfloat16::from_bits(b));
    auto const v = view(reinterpret_cast<bfloat16 const*>(bits.data()), {rows, per_row});
    auto const narrow = written([&](auto out) { attend(sdpa, v, out); });
    auto const expected = written([&](auto out) { attend(sdpa, view(wide, {rows, per_row}), out); });
    for (std::size_t i = 0; i < narrow.size(); ++i) CHECK(narrow[i] == Approx(expected[i]).margin(1e-2));
}

TEST_CASE("matrices, maps, blocks and vectors of Eigen are arguments", "[spec]") {
#ifndef FOVEA_HAS_EIGEN
    std::cout << "spec/arguments: Eigen is not installed, its matrices were not tried\n";
#else
    using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    auto const x = numbers(rows * per_row);
    view<float const, 2> const v(x.data(), {rows, per_row});
    matrix const m = Eigen::Map<matrix const>(x.data(), rows, per_row);
    auto const expected = result_of(sdpa, v);
    SECTION("operands") {
        CHECK(written([&](auto out) { attend(sdpa, m, out); }) == expected);
        CHECK(written([&](auto out) { attend(sdpa, Eigen::Map<matrix const>(x.data(), rows, per_row), m, m, out); })
              == expected);
        CHECK(written([&](auto out) { attend(sdpa, matrix(1 * m), m, m, out); }) == expected);
        CHECK(written([&](auto out) { attend(sdpa, queries(m), memory(m), out); }) == expected);
        matrix wide = matrix::Zero(rows, per_row + 3), result = matrix::Zero(rows, per_row);
        wide.middleCols(2, per_row) = m;
        attend(sdpa, wide.middleCols(2, per_row), result);
        CHECK(std::vector<float>(result.data(), result.data() + result.size()) == expected);
        attend(sdpa, m, wide.middleCols(1, per_row));  // a block of a matrix that lives on
        CHECK(wide(rows - 1, per_row) == expected.back());
        Eigen::MatrixXf const columns = m.transpose();
        CHECK(written([&](auto out) { attend(sdpa, columns.transpose(), out); }) == expected);
        CHECK(written([&](auto out) { attend(sdpa, Eigen::Ref<matrix const>(m), out); }) == expected);
        Eigen::RowVectorXf const one = m.row(0);  // (1, feature)
        std::vector<float> first(per_row);
        attend(sdpa, one, m, m, view(first, {1, per_row}));
        CHECK(agree(first, std::vector<float>(expected.begin(), expected.begin() + per_row)));
    }
    SECTION("tables and projections") {
        Eigen::VectorXf const u = Eigen::VectorXf::LinSpaced(per_row, -1, 1);
        Eigen::RowVectorXf const r = u.transpose();
        std::vector<float> const plain(u.data(), u.data() + per_row);
        CHECK(result_of(additive(u) | softmax | weighted_sum, v)
              == result_of(additive(plain) | softmax | weighted_sum, v));
        matrix const w = matrix::Random(per_row, per_row), b = matrix::Random(rows, rows);
        auto const as_tensor = view<float const, 2>(w.data(), {per_row, per_row});
        auto const end = scaled_dot | softmax | weighted_sum;
        CHECK(result_of(project(linear(w, u), w, transposed(w)) | scaled_dot | softmax | weighted_sum, v)
              == result_of(project(linear(as_tensor, plain), as_tensor, transposed(as_tensor)) | scaled_dot | softmax
                               | weighted_sum,
                           v));
        CHECK(result_of(end | output(w, r), v) == result_of(end | output(as_tensor, plain), v));
        CHECK(
            result_of(scaled_dot | bias(b) | softmax | weighted_sum, v)
            == result_of(scaled_dot | bias(view<float const, 2>(b.data(), {rows, rows})) | softmax | weighted_sum, v));
        Eigen::VectorXf sums(rows);
        matrix pairs(rows, rows);
        matrix result(rows, per_row);
        attend(sdpa, m, result, lse(sums), weights(pairs));
        CHECK(pairs.row(2).sum() == Approx(1));
        CHECK(std::isfinite(sums(0)));
        STATIC_REQUIRE(is_temporary_owner<matrix>);
        STATIC_REQUIRE(!is_temporary_owner<Eigen::Map<matrix>>);
        STATIC_REQUIRE(!is_temporary_owner<decltype(pairs.row(0))>);
        STATIC_REQUIRE(!viewable<decltype(w * w)>);
    }
#endif
}
