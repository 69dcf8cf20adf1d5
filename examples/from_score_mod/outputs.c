/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Outputs of a kernel beside its result from C: the weights of a query are held against its log-sum-exp. */
#include "attention.h"

#include <math.h>
#include <stdio.h>

enum { batch = 1, heads = 2, positions = 5, features = 4, size = batch * heads * positions * features };

int main(void) {
    float x[size], result[size], sums[heads * positions], shares[heads * positions * positions];
    for (int i = 0; i < size; ++i) x[i] = (float)(i % 7) / 7;
    char message[200];
    fovea_call const how = {.threads = 2, .message = message, .message_size = sizeof message};
    fovea_input_f32 const in = fovea_dense_input_f32(x, batch, heads, positions, features);
    fovea_output_f32 const out = fovea_dense_output_f32(result, batch, heads, positions, features);
    //! [outputs]
    fovea_output_f32 const lse = fovea_dense_output_f32(sums, batch, heads, positions, 1);
    fovea_output_f32 const weights = fovea_dense_output_f32(shares, batch, heads, positions, positions);
    if (attention_causal_f32_outputs(&how, in, in, in, out, lse, weights) != FOVEA_OK) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    //! [outputs]
    for (int row = 0; row < heads * positions; ++row) {
        int const first = row / positions * positions;  // the key that every query of the head sees
        double score = 0;
        for (int d = 0; d < features; ++d) score += (double)x[row * features + d] * (double)x[first * features + d];
        double const share = exp(score / sqrt(features) - (double)sums[row]);
        if (!(fabs(share - (double)shares[row * positions]) < 1e-6)) return 1;
    }
    printf("as exp(score - lse)\n");
    return 0;
}
