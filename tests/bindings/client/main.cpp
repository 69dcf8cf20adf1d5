// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The first query of one sees itself only; to the second kernel one value is the result whatever the weights.
#include "client.h"

#include <cstdio>

int main() {
    float const x[] = {1, 2, 3, 4};
    float result[] = {0, 0, 0, 0};
    auto const rows = fovea_dense_input_f32(x, 1, 1, 2, 2);
    auto const out = fovea_dense_output_f32(result, 1, 1, 2, 2);
    bool const ran = client_one_f32(nullptr, rows, rows, rows, out) == FOVEA_OK && result[0] == 1 && result[1] == 2;
    auto const one = fovea_dense_input_f32(x, 1, 1, 1, 2);
    bool const ran_too = client_two_f32(nullptr, rows, one, one, out) == FOVEA_OK && result[2] == 1 && result[3] == 2;
    std::printf("%d %d\n", ran, ran_too);
    return ran && ran_too ? 0 : 1;
}
