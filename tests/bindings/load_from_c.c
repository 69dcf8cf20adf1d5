/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A library that a running program loads by its path, finds functions in by their names, and leaves, as Python's ctypes
   does: its threads outlive that, and the end of the program waits for none of them. */
#include "bound.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
typedef HMODULE library;
typedef FARPROC function;
static library load(char const* path) {
    char full[4096];
    DWORD const size = GetFullPathNameA(path, sizeof full, full, NULL);
    if (size == 0 || size >= sizeof full) return NULL;
    return LoadLibraryExA(full, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR);
}
static function find(library all, char const* name) { return GetProcAddress(all, name); }
static int leave(library all) { return FreeLibrary(all) != 0; }
#else
#include <dlfcn.h>
typedef void* library;
typedef void* function;
static library load(char const* path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }
static function find(library all, char const* name) { return dlsym(all, name); }
static int leave(library all) { return dlclose(all) == 0; }
#endif

enum { batch = 1, heads = 2, queries = 33, keys = 33, features = 8, values = 8 };
#include "operands.h"
static float r[r_size], again[r_size];

/* ISO C converts no object pointer to one of a function: it copies. */
static int find_into(library all, char const* name, void* pointer) {
    function const found = find(all, name);
    memcpy(pointer, &found, sizeof found);
    return found != 0;
}

int main(int count, char** arguments) {
    if (count != 2) return 2;
    library const all = load(arguments[1]);
    CHECK(all != NULL);
    if (all == NULL) return 1;

    int (*version)(void);
    fovea_kernel const* (*kernels)(size_t*);
    fovea_status (*causal)(fovea_call const*, fovea_input_f32, fovea_input_f32, fovea_input_f32, fovea_output_f32);
    CHECK(find_into(all, "bound_bindings_version", &version) && version() == FOVEA_BINDINGS_TYPES);
    CHECK(find_into(all, "bound_kernels", &kernels));
    CHECK(find_into(all, "bound_causal_f32", &causal));
    CHECK(find(all, "bound_causal_f32_sse2") == 0);
    if (failures > 0) return 1;

    size_t kernel_count = 0;
    fovea_kernel const* const list = kernels(&kernel_count);
    CHECK(kernel_count > 0 && strcmp(list[0].name, "causal") == 0 && list[0].architecture != NULL);

    fill_arrays(7, (float* const[]){q, k, v}, (int const[]){q_size, k_size, v_size}, 3);
    fovea_call call = how();
    fovea_output_f32 const out = fovea_dense_output_f32(r, batch, heads, queries, values);
    CHECK(causal(&call, query(), key(), value(), out) == FOVEA_OK);
    for (int h = 0; h < heads; ++h) /* the first query sees the first key alone */
        for (int d = 0; d < values; ++d) CHECK(fabsf(r[h * queries * values + d] - v[h * keys * values + d]) < 1e-6f);
    memcpy(again, r, sizeof r);
    memset(r, 0, sizeof r);
    call.threads = 4;
    CHECK(causal(&call, query(), key(), value(), out) == FOVEA_OK);
    CHECK(memcmp(again, r, sizeof r) == 0);
    fovea_input_f32 nothing = query();
    nothing.data = NULL;
    CHECK(causal(&call, nothing, key(), value(), out) == FOVEA_SHAPE_ERROR && strstr(message, "query") != NULL);
    CHECK(leave(all));
    printf("%d checks, %d failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
