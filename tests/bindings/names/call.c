/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Calls each kernel of the library, in C and in C++, behind headers that define macros. */
#ifndef __cplusplus
#include <complex.h>
#include <iso646.h>
#include <stdalign.h>
#endif
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

int main(void) {
    size_t count = 0;
    size_t called = 0;
    fovea_kernel const* kernels = names_kernels(&count);
    float const x[2] = {1, 2};
    for (size_t k = 0; k < count; ++k) {
        size_t const n = kernels[k].argument_count;
        size_t seen = n;
        float result[2] = {0, 0};
        fovea_value* const values = (fovea_value*)calloc(n, sizeof(fovea_value));
        fovea_array const in = {(void*)x, {1, 1, 2, 1}, {2, 2, 1, 1}};
        fovea_array operands[4];
        if (values == NULL) return 1;
        operands[0] = operands[1] = operands[2] = operands[3] = in;
        operands[3].data = result;
        for (size_t i = 0; i < n; ++i)
            if (strcmp(kernels[k].arguments[i].name, "seen") == 0) seen = i;
        if (seen < n) values[seen].integer = 1; /* the first key alone */
        if (kernels[k].run(NULL, operands, values) == FOVEA_OK && result[0] == 1 && result[1] == 1) ++called;
        free(values);
    }
    printf("%d of %d\n", (int)called, (int)count);
    return called == count && count > 2 ? 0 : 1;
}
