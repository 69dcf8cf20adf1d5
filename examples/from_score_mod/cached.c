/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Keys and values in blocks from C: held against the same call of numbers that are not rounded. */
#include "cached.h"

#include <math.h>
#include <stdio.h>

enum { batch = 1, heads = 2, queries = 1, positions = 5, features = 64, block = 32 };
enum { query_size = batch * heads * queries * features, size = batch * heads * positions * features };

int main(void) {
    float x[size], result[query_size], exact[query_size];
    for (int i = 0; i < size; ++i) x[i] = (float)(i % 7) / 7;
    char message[200];
    fovea_call const how = {.threads = 2, .message = message, .message_size = sizeof message};
    fovea_input_f32 const query = fovea_dense_input_f32(x, batch, heads, queries, features);
    fovea_output_f32 const out = fovea_dense_output_f32(result, batch, heads, queries, features);
    //! [cached]
    fovea_q8_0 keys[size / block];
    fovea_q4_0 values[size / block];
    if (cached_quantize(&how, "q8_0", x, size, keys) != FOVEA_OK
        || cached_quantize(&how, "q4_0", x, size, values) != FOVEA_OK
        || cached_decode_f32_q8_0_q4_0(&how, query, fovea_dense_input_q8_0(keys, batch, heads, positions, features),
                                       fovea_dense_input_q4_0(values, batch, heads, positions, features), out)
               != FOVEA_OK) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    //! [cached]
    fovea_input_f32 const all = fovea_dense_input_f32(x, batch, heads, positions, features);
    if (cached_decode_f32(&how, query, all, all, fovea_dense_output_f32(exact, batch, heads, queries, features)) != FOVEA_OK)
        return 1;
    for (int i = 0; i < query_size; ++i)
        if (!(fabsf(result[i] - exact[i]) < 0.1f)) return 1;
    printf("as without rounding, nearly\n");
    return 0;
}
