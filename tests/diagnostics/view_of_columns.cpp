// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a view needs row-major storage: store it by rows, or pass m.transpose() where the transpose of a
// matrix is meant
#include <fovea/core/as_view.hpp>

using namespace fovea;

/// As a matrix of Eigen.
template <bool RowMajor>
struct matrix {
    static constexpr bool IsRowMajor = RowMajor;
    float* data() const { return nullptr; }
    index_t rows() const { return 0; }
    index_t cols() const { return 0; }
    index_t innerStride() const { return 1; }
    index_t outerStride() const { return 0; }
};

#ifdef FOVEA_BROKEN
inline auto rows_of(matrix<false> const& m) { return as_view(m); }
#else
inline auto rows_of(matrix<true> const& m) { return as_view(m); }
#endif
