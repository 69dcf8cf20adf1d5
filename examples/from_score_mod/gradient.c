/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Gradients of a kernel from C: of the slopes, held against a difference of two calls. */
#include "attention.h"

#include <math.h>
#include <stdio.h>

enum { batch = 1, heads = 2, positions = 5, features = 4, size = batch * heads * positions * features };

/* The sum of the result's elements. */
static double loss(fovea_input_f32 in, float const* slopes) {
    float result[size];
    fovea_output_f32 const out = fovea_dense_output_f32(result, batch, heads, positions, features);
    attention_capped_alibi_f32(NULL, in, in, in, out, slopes, 50, 3);
    double sum = 0;
    for (int i = 0; i < size; ++i) sum += (double)result[i];
    return sum;
}

int main(void) {
    float x[size], ones[size], d_x[size];
    for (int i = 0; i < size; ++i) x[i] = (float)(i % 7) / 7, ones[i] = 1;
    float slopes[heads] = {0.5f, 0.25f}, d_slopes[heads];
    char message[200];
    fovea_call const how = {.threads = 2, .message = message, .message_size = sizeof message};
    fovea_input_f32 const in = fovea_dense_input_f32(x, batch, heads, positions, features);
    //! [gradient]
    fovea_input_f32 const d_result = fovea_dense_input_f32(ones, batch, heads, positions, features);
    fovea_output_f32 const d_query = fovea_dense_output_f32(d_x, batch, heads, positions, features);
    fovea_output_f32 const none = {.data = NULL};  // not asked for
    fovea_input_f32 const nothing = {.data = NULL};
    if (attention_capped_alibi_f32_gradient(&how, in, in, in, d_result, d_query, none, none, nothing, nothing, nothing,
                                            slopes, 50, 3, d_slopes)
        != FOVEA_OK) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    //! [gradient]
    for (int h = 0; h < heads; ++h) {
        float const at = slopes[h];
        slopes[h] = at + 0.0625f;
        double const above = loss(in, slopes);
        slopes[h] = at - 0.0625f;
        double const difference = (above - loss(in, slopes)) / 0.125;
        slopes[h] = at;
        printf("%.3f %.3f\n", (double)d_slopes[h], difference);
        if (!(fabs((double)d_slopes[h] - difference) < 0.01)) return 1;
    }
    return 0;
}
