// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this expression of matrices or arrays is not computed yet, so there are no elements to view: store
// its value by rows first
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

/// As an expression of Eigen: rows and columns, and no elements before it is computed.
struct matrix_t {
    using PlainObject = matrix_t;
    static constexpr bool IsRowMajor = true;
    float elements[32];
    float const* data() const { return elements; }
    index_t rows() const { return 4; }
    index_t cols() const { return 8; }
    index_t outerStride() const { return 8; }
    index_t innerStride() const { return 1; }
};
struct twice_t {
    using Scalar = float;
    matrix_t const& of;
    index_t rows() const { return 4; }
    index_t cols() const { return 8; }
    matrix_t eval() const { return of; }
};

void call(matrix_t const& x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, twice_t{x}, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, twice_t{x}.eval(), result);
#endif
}
