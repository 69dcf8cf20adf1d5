/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Queries, keys and values of the programs in C, which say their extents before: batch, heads, queries, keys, features,
   values. */
#ifndef FOVEA_TESTS_OPERANDS_H
#define FOVEA_TESTS_OPERANDS_H

#include "bound.h"

#include <stddef.h>

enum { q_size = batch * heads * queries * features, k_size = batch * heads * keys * features };
enum { v_size = batch * heads * keys * values, r_size = batch * heads * queries * values };
static float q[q_size], k[k_size], v[v_size];
static char message[256];

static fovea_call how(void) {
    fovea_call const call = {1, NULL, message, sizeof message};
    return call;
}
static fovea_input_f32 query(void) { return fovea_dense_input_f32(q, batch, heads, queries, features); }
static fovea_input_f32 key(void) { return fovea_dense_input_f32(k, batch, heads, keys, features); }
static fovea_input_f32 value(void) { return fovea_dense_input_f32(v, batch, heads, keys, values); }

/* Numbers from -1 to 1, which begin with a seed. */
static void fill_arrays(unsigned x, float* const* all, int const* sizes, int arrays) {
    for (int a = 0; a < arrays; ++a)
        for (int i = 0; i < sizes[a]; ++i) {
            x = x * 1664525u + 1013904223u;
            all[a][i] = (float)(x >> 8) / (float)(1 << 23) - 1;
        }
}

#endif
