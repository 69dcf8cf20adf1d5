/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Many threads call the kernels of one library at once: the first calls too, in which an architecture is chosen. */
#include "bound.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { callers = 6, calls = 5, heads = 4, rows = 60, features = 8, size = heads * rows * features };
static float x[size], expected[size];
static float const slopes[heads] = {0.5f, 0.25f, 0.125f, 0.0625f};

static fovea_status call(fovea_call const* how, float* r) {
    fovea_input_f32 const in = fovea_dense_input_f32(x, 1, heads, rows, features);
    return bound_alibi_f32(how, in, in, in, fovea_dense_output_f32(r, 1, heads, rows, features), slopes);
}

struct caller {
    int number, wrong;
    float results[calls][size];
    char message[100];
};

static void* run(void* argument) {
    struct caller* const me = argument;
    fovea_workspace* const scratch = bound_workspace_create();
    for (int i = 0; i < calls; ++i) {
        fovea_call const how = {1 + (me->number + i) % 4, scratch, me->message, sizeof me->message};
        me->wrong += call(&how, me->results[i]) != FOVEA_OK;
        me->wrong += bound_causal_f32(&how, fovea_dense_input_f32(x, 1, 1, 1, 1), fovea_dense_input_f32(x, 1, 1, 1, 2),
                                      fovea_dense_input_f32(x, 1, 1, 1, 1), fovea_dense_output_f32(NULL, 1, 1, 1, 1))
                  == FOVEA_OK;
        me->wrong += strlen(me->message) == 0;
    }
    bound_workspace_destroy(scratch);
    return NULL;
}

int main(void) {
    for (int i = 0; i < size; ++i) x[i] = (float)(i * 37 % 101) / 50 - 1;
    static struct caller all[callers];
    pthread_t threads[callers];
    for (int c = 0; c < callers; ++c) {
        all[c].number = c;
        if (pthread_create(threads + c, NULL, run, all + c) != 0) return 1;
    }
    for (int c = 0; c < callers; ++c) pthread_join(threads[c], NULL);
    int wrong = call(NULL, expected) != FOVEA_OK;
    for (int c = 0; c < callers; ++c) {
        wrong += all[c].wrong;
        for (int i = 0; i < calls; ++i) wrong += memcmp(all[c].results[i], expected, sizeof expected) != 0;
    }
    printf("%d callers with %d calls each, %d wrong\n", callers, calls, wrong);
    return wrong == 0 ? 0 : 1;
}
