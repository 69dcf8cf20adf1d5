// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
#include <fovea/driver/dense/stored_keys.hpp>
#include <fovea/simd/architecture.hpp>

#include "catch.hpp"

#include <cmath>
#include <limits>
#include <vector>

using namespace fovea;

namespace {
using arch_type = arch::best;
constexpr int vectors = 2;

/// Completes one product among others that are far from close.
template <class T>
bool is_far(T query_norm, T key_norm, T product, T& distance) {
    constexpr index_t width = vectors * kernel::pack<T, arch_type>::lanes;
    std::vector<T> norms(width, query_norm == 0 ? T{1} : query_norm), products(width, T{0});
    norms[width - 2] = key_norm;
    products[width - 2] = product;
    bool const far = kernel::complete_squares<vectors, T, arch_type>(query_norm, norms.data(), T{-2}, products.data());
    distance = products[width - 2];
    return far;
}

template <class T>
void check_completion() {
    T const inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    T distance;
    CHECK(is_far<T>(4, 9, -6, distance));
    CHECK(distance == 25);
    CHECK(is_far<T>(4, 4, 3.5, distance));  // an eighth of the sum of norms
    CHECK(distance == 1);
    CHECK_FALSE(is_far<T>(4, 4, T(3.8), distance));
    CHECK_FALSE(is_far<T>(4, 4, 4, distance));
    CHECK_FALSE(is_far<T>(4, 4, 5, distance));  // below 0
    for (T const norm : {inf, nan}) CHECK_FALSE(is_far<T>(4, norm, 1, distance));
    for (T const product : {inf, nan}) CHECK_FALSE(is_far<T>(4, 4, product, distance));
}

template <class T>
void check_centring() {
    constexpr index_t width = vectors * kernel::pack<T, arch_type>::lanes;
    std::vector<T> keys(3 * width), to(3 * width), norms(width);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<T>(i % 7);
    std::vector<T> const centre{1, -2, 3}, factor{1, 2, T(0.5)};
    kernel::centre_keys<vectors, -1, T, arch_type>(keys.data(), centre.data(), factor.data(), 3, to.data(),
                                                   norms.data());
    for (std::size_t k = 0; k < norms.size(); ++k) {
        T sum = 0;
        for (std::size_t f = 0; f < 3; ++f) {
            T const x = (keys[f * norms.size() + k] - centre[f]) * factor[f];
            CHECK(to[f * norms.size() + k] == x);
            sum += x * x;
        }
        CHECK(norms[k] == sum);
    }
}

}  // namespace

TEST_CASE("a product is completed unless the distance is small beside the norms", "[kernel]") {
    check_completion<float>();
    check_completion<double>();
}

TEST_CASE("keys are moved about a centre and scaled", "[kernel]") {
    check_centring<float>();
    check_centring<double>();
}
