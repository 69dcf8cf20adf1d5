/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Calls a kernel of the library from C. */
//! [call]
#include "attention.h"

#include <stdio.h>

enum { batch = 1, heads = 2, positions = 5, features = 4 };

int main(void) {
    float x[batch * heads * positions * features], result[sizeof x / sizeof *x];
    for (size_t i = 0; i < sizeof x / sizeof *x; ++i) x[i] = (float)(i % 7) / 7;
    float const slopes[heads] = {0.5f, 0.25f};

    char message[200];
    fovea_call const how = {.threads = 2, .message = message, .message_size = sizeof message};
    fovea_input_f32 const in = fovea_dense_input_f32(x, batch, heads, positions, features);
    fovea_output_f32 const out = fovea_dense_output_f32(result, batch, heads, positions, features);
    if (attention_capped_alibi_f32(&how, in, in, in, out, slopes, 50, 3) != FOVEA_OK) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    printf("%.4f %.4f %.4f %.4f\n", result[0], result[1], result[2], result[3]);
    return 0;
}
//! [call]
