// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The programs of docs/containers.md; each states what must hold of its result. What is not here is left out, and said.
#include "require.hpp"

#include <fovea/fovea.hpp>

#include <array>
#include <cstdio>
#include <span>
#include <vector>

#ifdef FOVEA_DOCS_EIGEN
#include <Eigen/Core>
#include <unsupported/Eigen/CXX11/Tensor>
#endif
#ifdef FOVEA_DOCS_XTENSOR
#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif
#ifdef FOVEA_DOCS_DLPACK
//! [dlpack_include]
#include <fovea/interop/dlpack.hpp>  // includes <dlpack/dlpack.h>
//! [dlpack_include]
#endif

using namespace fovea;

namespace {

constexpr int n = 6, d = 8;
constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;

/// The self-attention of the numbers that fill() writes.
std::vector<float> filled(int size) {
    std::vector<float> x(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 11) / 11;
    return x;
}
bool is_expected(view<float const, 2> const& result) {
    auto const x = filled(n * d);
    tensor<float, 2> expected({n, d});
    attend(spec, view(x, {n, d}), expected);
    for (index_t i = 0; i < n; ++i)
        for (index_t c = 0; c < d; ++c)
            if (result(i, c) != expected(i, c)) return false;
    return true;
}

void standard() {
    auto const x = filled(n * d);
    {
        std::vector<float> out(n * d);
        //! [vector]
        attend(spec, view(x, {n, d}), view(out, {n, d}));
        //! [vector]
        require(is_expected(view(out, {n, d})), "a vector with extents");
    }
    {
        float const* const rows = x.data();
        std::vector<float> out(n * d);
        //! [pointer]
        view<float const, 4> const by_position(rows, {1, 2, n, d / 2}, {n * d, d / 2, d, 1});  // heads within a row
        //! [pointer]
        require(by_position(0, 1, 2, 3) == x[2 * d + d / 2 + 3], "strides");
        std::span const elements(x);
        attend(spec, view(elements, {n, d}), view(out, {n, d}));
        require(is_expected(view(out, {n, d})), "a span with extents");
    }
    {
        //! [rows]
        std::vector<std::array<float, d>> rows(n), out(n);
        //! [rows]
        for (std::size_t i = 0; i < x.size(); ++i) rows[i / d][i % d] = x[i];
        //! [rows]
        attend(spec, rows, out);
        //! [rows]
        require(is_expected(as_view(out)), "arrays in a vector");
    }
    tensor<float, 4> const q({1, 2, n, d});
    tensor<float, 4> result({1, 2, n, d});
    //! [tables]
    std::vector<float> const slopes{0.5f, 0.25f};
    std::array<int, 1> const lengths{5};
    auto const alibi_attention = scaled_dot | alibi(slopes) | key_lengths(lengths) | softmax | weighted_sum;
    attend(alibi_attention, q, q, q, result);
    //! [tables]
    require(result(0, 1, 5, 7) == 0, "tables of numbers");
}

#ifdef FOVEA_DOCS_EIGEN
void eigen() {
    auto const numbers = filled(n * d);
    //! [eigen]
    using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    matrix x(n, d), out(n, d);
    //! [eigen]
    x = Eigen::Map<matrix const>(numbers.data(), n, d);
    //! [eigen]
    attend(spec, x, out);
    //! [eigen]
    require(is_expected(as_view(out)), "a matrix of Eigen");
    //! [eigen]
    attend(spec, x.topRows(3), out.topRows(3));  // blocks, maps and Ref as well
    //! [eigen]

    //! [eigen_columns]
    Eigen::MatrixXf const W = Eigen::MatrixXf::Identity(d, d);  // (in, out) by columns is (out, in) by rows
    auto const map = linear(transposed(W.transpose()));
    attend(project(map, map, map) | scaled_dot | causal | softmax | weighted_sum, x, out);
    //! [eigen_columns]
    require(is_expected(as_view(out)), "a projection by columns");

    //! [eigen_tensor]
    Eigen::Tensor<float, 4, Eigen::RowMajor> q(1, 2, n, d), result(1, 2, n, d);
    //! [eigen_tensor]
    q.setConstant(1);
    //! [eigen_tensor]
    attend(spec, q, q, q, result);
    //! [eigen_tensor]
    require(result(0, 1, 5, 7) == 1, "a tensor of Eigen");
}
#else
void eigen() { std::puts("left out: Eigen is not here"); }
#endif

#ifdef FOVEA_DOCS_XTENSOR
void xtensor() {
    auto const numbers = filled(n * d);
    //! [xtensor]
    xt::xtensor<float, 2> x({n, d}), out({n, d});
    //! [xtensor]
    std::copy(numbers.begin(), numbers.end(), x.begin());
    //! [xtensor]
    attend(spec, x, out);
    //! [xtensor]
    require(is_expected(as_view(out)), "an array of xtensor");
    //! [xtensor]
    attend(spec, xt::view(x, xt::range(0, 3), xt::all()), xt::view(out, xt::range(0, 3), xt::all()));
    //! [xtensor]
    //! [xarray]
    xt::xarray<float> const array = x;  // its type does not say how many axes it has
    attend(spec, as_view<2>(array), out);
    //! [xarray]
    require(is_expected(as_view(out)), "an array that counts its axes");
}
#else
void xtensor() { std::puts("left out: xtensor is not here"); }
#endif

#ifdef FOVEA_DOCS_DLPACK
//! [dlpack_in]
/// The function of an extension for another framework: it borrows x, and gives an array away.
DLManagedTensor* attend_to_itself(DLTensor const& x) {
    auto const rows = from_dlpack<float const, 2>(x);  // checked: device, type, axes, strides, alignment
    tensor<float, 2> result(rows.extents);
    attend(spec, rows, result);
    return to_dlpack(std::move(result));  // who takes it calls its deleter
}
//! [dlpack_in]

void dlpack() {
    tensor<float, 2> x({n, d});
    auto const numbers = filled(n * d);
    std::copy(numbers.begin(), numbers.end(), x.begin());
    //! [dlpack_owner]
    dlpack_array<float, 2> const array(to_dlpack(std::move(x)));  // owns what it is given, and is passed as a tensor is
    //! [dlpack_owner]
    auto* const borrowed = to_dlpack(view<float, 2>(const_cast<float*>(array.view().data), {n, d}), nullptr);
    dlpack_array<float, 2> const result(attend_to_itself(borrowed->dl_tensor));
    borrowed->deleter(borrowed);
    require(is_expected(result.view()), "an array through DLPack");
}
#else
void dlpack() { std::puts("left out: DLPack is not here"); }
#endif

}  // namespace

//! [own]
namespace own {
/// A matrix with cells in rows, each row padded to a multiple of 16.
struct grid {
    int height, width, padded = (width + 15) / 16 * 16;
    std::vector<float> cells = std::vector<float>(static_cast<std::size_t>(height * padded));
};
}  // namespace own

template <>
struct fovea::container_traits<own::grid> {
    static auto view_of(auto& g) {  // a grid, or one that is const: then the elements are const as well
        using element = std::remove_reference_t<decltype(*g.cells.data())>;
        return view<element, 2>(g.cells.data(), {g.height, g.width}, {g.padded, 1});
    }
};
//! [own]

namespace {

void own_container() {
    own::grid x{n, d}, out{n, d};
    auto const numbers = filled(n * d);
    auto const cells = as_view(x);
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < d; ++c) cells(i, c) = numbers[static_cast<std::size_t>(i * d + c)];
    //! [own_call]
    attend(spec, x, out);
    //! [own_call]
    require(is_expected(as_view(out)), "a container of one's own");
}

}  // namespace

int main() {
    standard();
    eigen();
    xtensor();
    dlpack();
    own_container();
}
