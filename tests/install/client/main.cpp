// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same program for every way to the library. PACKAGE is the version that the package states, where there is one.
#include <fovea/fovea.hpp>

#include <cstdio>
#include <string>

using namespace fovea;

#ifdef PACKAGE
int version_differs() {
    std::string const header = std::to_string(FOVEA_VERSION_MAJOR) + "." + std::to_string(FOVEA_VERSION_MINOR) + "."
                             + std::to_string(FOVEA_VERSION_PATCH);
    if (header == PACKAGE) return 0;
    std::printf("the headers are of %s and the package is of %s\n", header.c_str(), PACKAGE);
    return 1;
}
#else
int version_differs() { return 0; }
#endif

// Every value of the first head is 3, so whatever the weights are, every output must be 3. All outputs are printed.
int main() {
    static_assert(FOVEA_VERSION == 10000 * FOVEA_VERSION_MAJOR + 100 * FOVEA_VERSION_MINOR + FOVEA_VERSION_PATCH);
    tensor<float, 4> query({1, 2, 5, 8}, 0.5f), key({1, 2, 7, 8}, 0.25f), value({1, 2, 7, 8}, 3.f);
    for (index_t n = 0; n < 7; ++n) {
        for (index_t c = 0; c < 8; ++c) {
            key(0, 1, n, c) = static_cast<float>(n - c) / 4;
            value(0, 1, n, c) = static_cast<float>(n * c % 5);
        }
    }
    tensor<float, 4> result({1, 2, 5, 8});
    attend(scaled_dot | causal | softmax | weighted_sum, query, key, value, result);

    int wrong = version_differs();
    for (index_t n = 0; n < 5; ++n) {
        for (index_t c = 0; c < 8; ++c) {
            float const x = result(0, 0, n, c);
            if (!(x > 2.9999f && x < 3.0001f)) ++wrong;
            std::printf("%a %a\n", static_cast<double>(x), static_cast<double>(result(0, 1, n, c)));
        }
    }
    if (wrong > 0) std::printf("%d are wrong: every output of the first head must be 3\n", wrong);
    return wrong > 0 ? 1 : 0;
}
