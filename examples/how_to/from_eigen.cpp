// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An attention written with Eigen, and the calls that replace it.
#include "check.hpp"

#include <Eigen/Core>

using namespace fovea;
using how_to::require;

//! [before]
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Causal attention of one head: q, k and v are (position, feature).
matrix attention_with_eigen(matrix const& q, matrix const& k, matrix const& v) {
    matrix weight = q * k.transpose() / std::sqrt(static_cast<float>(q.cols()));
    for (Eigen::Index i = 0; i < weight.rows(); ++i)
        weight.row(i).tail(weight.cols() - i - 1).setConstant(-std::numeric_limits<float>::infinity());
    Eigen::VectorXf const largest = weight.rowwise().maxCoeff();
    weight = (weight.colwise() - largest).array().exp();
    Eigen::VectorXf const total = weight.rowwise().sum();
    weight.array().colwise() /= total.array();
    return weight * v;
}
//! [before]

int main() {
    Eigen::Index const positions = 70, heads_of_model = 4, d = 16;
    std::srand(3);
    matrix const q = matrix::Random(positions, heads_of_model * d), k = matrix::Random(positions, heads_of_model * d),
               v = matrix::Random(positions, heads_of_model * d);

    //! [one_head]
    constexpr auto sdpa = scaled_dot | causal | softmax | weighted_sum;
    matrix result(q.rows(), v.cols());
    attend(sdpa, q, k, v, result);
    //! [one_head]
    require((result - attention_with_eigen(q, k, v)).cwiseAbs().maxCoeff() < 1e-6f, "one head");

    matrix expected(q.rows(), v.cols());
    //! [loop]
    for (Eigen::Index h = 0; h < heads_of_model; ++h)
        expected.middleCols(h * d, d) = attention_with_eigen(q.middleCols(h * d, d), k.middleCols(h * d, d),
                                                             v.middleCols(h * d, d));
    //! [loop]
    //! [heads]
    auto const in_heads = project(as_is, as_is, as_is, heads<4>)  // head h has the columns h * d and on
                        | scaled_dot | causal | softmax | weighted_sum;
    attend(in_heads, q, k, v, result);
    //! [heads]
    require((result - expected).cwiseAbs().maxCoeff() < 1e-6f, "four heads side by side");

    attend(sdpa, q.middleCols(d, d), k.middleCols(d, d), v.middleCols(d, d), result.middleCols(d, d));
    require((result - expected).cwiseAbs().maxCoeff() < 1e-6f, "blocks of columns are operands as they are");

    //! [columns]
    Eigen::MatrixXf const tokens = q.transpose();                // by columns, a token in each
    Eigen::MatrixXf mixed(tokens.rows(), tokens.cols());
    attend(in_heads, tokens.transpose(), mixed.transpose());     // by rows, a token in each: nothing is copied
    //! [columns]
    attend(in_heads, q, result);
    require(matrix(mixed.transpose()) == result, "a matrix by columns, transposed");
}
