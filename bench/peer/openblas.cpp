// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The products of OpenBLAS, and between them the steps of the Eigen program.
#include "bench/peer/peer.hpp"
#include "bench/yardstick/unfused_dense.hpp"

#include <cblas.h>

namespace bench::peer {
namespace {

using fovea::index_t;

void gemm(CBLAS_TRANSPOSE transposed, index_t m, index_t n, index_t k, float alpha, float const* a, index_t a_stride,
          float const* b, index_t b_stride, float* c, index_t c_stride) {
    auto const whole = [](index_t size) { return static_cast<blasint>(size); };
    cblas_sgemm(CblasRowMajor, CblasNoTrans, transposed, whole(m), whole(n), whole(k), alpha, a, whole(a_stride), b,
                whole(b_stride), 0, c, whole(c_stride));
}
void gemm(CBLAS_TRANSPOSE transposed, index_t m, index_t n, index_t k, double alpha, double const* a, index_t a_stride,
          double const* b, index_t b_stride, double* c, index_t c_stride) {
    auto const whole = [](index_t size) { return static_cast<blasint>(size); };
    cblas_dgemm(CblasRowMajor, CblasNoTrans, transposed, whole(m), whole(n), whole(k), alpha, a, whole(a_stride), b,
                whole(b_stride), 0, c, whole(c_stride));
}

struct products {
    template <class T, class Query, class Key>
    static void compare(T scale, Query const& query, Key const& key, Eigen::Map<unfused::matrix<T>> scores) {
        gemm(CblasTrans, query.rows(), key.rows(), query.cols(), scale, query.data(), query.outerStride(), key.data(),
             key.outerStride(), scores.data(), scores.outerStride());
    }
    template <class T, class Value, class Result>
    static void combine(Eigen::Map<unfused::matrix<T>> const& weights, Value const& value, Result result) {
        gemm(CblasNoTrans, weights.rows(), value.cols(), weights.cols(), T{1}, weights.data(), weights.outerStride(),
             value.data(), value.outerStride(), result.data(), result.outerStride());
    }
};

/// "0.3.29 SkylakeX": the second word is the processor whose kernels it chose, or OPENBLAS_CORETYPE for it.
std::string version() {
    std::string const built = openblas_get_config();  // "OpenBLAS 0.3.29 NO_LAPACKE ..."
    auto const first = built.find(' ') + 1;
    return built.substr(first, built.find(' ', first) - first) + " " + openblas_get_corename();
}

template <class T>
library<T> openblas() {
    return {"openblas", version(), [](auto const&, shape const&) { return true; },
            [](request<T> const& asked) {
                openblas_set_num_threads(1);
                return program{[&o = asked.o, steps = asked.steps] {
                    unfused::attend_with<products, T>(o.query.view(), o.key.view(), o.value.view(), o.result.view(),
                                                      steps);
                }};
            }};
}

entry<float> const singles(openblas<float>());
entry<double> const doubles(openblas<double>());

}  // namespace
}  // namespace bench::peer
