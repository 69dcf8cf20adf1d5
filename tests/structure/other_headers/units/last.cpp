// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A unit whose other headers all come first.
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <Eigen/Dense>
#if __has_include(<X11/Xlib.h>)
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#endif
#include <complex.h>
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

matrix attended(matrix const& x) {
    matrix result(x.rows(), x.cols());
    fovea::attend(fovea::scaled_dot | fovea::causal | fovea::softmax | fovea::weighted_sum, x, result);
    return result;
}

matrix differentiated(matrix const& x, matrix const& d_result) {
    matrix d_x = matrix::Zero(x.rows(), x.cols());
    fovea::gradient(fovea::scaled_dot | fovea::causal | fovea::softmax | fovea::weighted_sum, x, d_result,
                    fovea::grad(x, d_x));
    return d_x;
}
