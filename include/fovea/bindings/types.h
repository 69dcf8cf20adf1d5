/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The types that functions of compiled kernels take and give, in C11 and C++. Every header of kernels has it inside. */
#ifndef FOVEA_BINDINGS_TYPES
#define FOVEA_BINDINGS_TYPES 4

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What became of a call. Where it is not FOVEA_OK because of an argument, nothing has been written. */
typedef enum fovea_status {
    FOVEA_OK = 0,
    FOVEA_SHAPE_ERROR = 1, /* an array, table or length does not fit */
    FOVEA_GRAPH_ERROR = 2, /* a graph is no valid list of neighbours */
    FOVEA_NO_MEMORY = 3,
    FOVEA_UNSUPPORTED = 4, /* there is no code for this processor */
    FOVEA_FAILED = 5       /* anything else; the message says what */
} fovea_status;

/* The scratch memory of calls, kept so that repeated calls allocate nothing; one call at a time may use it. */
typedef struct fovea_workspace fovea_workspace;

/* How to call: a null pointer, or zeros, stand for one thread, scratch memory of the call's own and no message. */
typedef struct fovea_call {
    int threads;
    fovea_workspace* workspace;
    char* message; /* gets the sentence of an error, ended by 0 and cut where it is longer */
    size_t message_size;
} fovea_call;

/* Arrays: (batch, head, position, feature). Strides count elements; that of the last axis is 1, and one of 0 repeats.
 */
#define FOVEA_BINDINGS_ARRAYS(type, element)                                                                     \
    typedef struct fovea_input_##type {                                                                          \
        element const* data;                                                                                     \
        int64_t extents[4];                                                                                      \
        int64_t strides[4];                                                                                      \
    } fovea_input_##type;                                                                                        \
    typedef struct fovea_output_##type {                                                                         \
        element* data;                                                                                           \
        int64_t extents[4];                                                                                      \
        int64_t strides[4];                                                                                      \
    } fovea_output_##type;                                                                                       \
    /* Arrays without gaps. */                                                                                   \
    static inline fovea_input_##type fovea_dense_input_##type(element const* data, int64_t batch, int64_t heads, \
                                                              int64_t positions, int64_t features) {             \
        fovea_input_##type a = {data,                                                                            \
                                {batch, heads, positions, features},                                             \
                                {heads * positions * features, positions * features, features, 1}};              \
        return a;                                                                                                \
    }                                                                                                            \
    static inline fovea_output_##type fovea_dense_output_##type(element* data, int64_t batch, int64_t heads,     \
                                                                int64_t positions, int64_t features) {           \
        fovea_output_##type a = {data,                                                                           \
                                 {batch, heads, positions, features},                                            \
                                 {heads * positions * features, positions * features, features, 1}};             \
        return a;                                                                                                \
    }

FOVEA_BINDINGS_ARRAYS(f32, float)
FOVEA_BINDINGS_ARRAYS(f64, double)
typedef uint16_t fovea_bf16; /* the bits of bfloat16 */
typedef uint16_t fovea_f16;  /* the bits of IEEE binary16 */
FOVEA_BINDINGS_ARRAYS(bf16, fovea_bf16)
FOVEA_BINDINGS_ARRAYS(f16, fovea_f16)

/* For each query the keys it sees: keys[offsets[i]] ... keys[offsets[i + 1] - 1]. */
typedef struct fovea_graph {
    int64_t queries;
    int64_t edges;
    int64_t const* offsets; /* (queries + 1) */
    int32_t const* keys;    /* (edges) */
    int64_t const* numbers; /* (edges), what tables of edges are read at; null where that is the place in keys */
} fovea_graph;

/* Kernels that are known at run time only, as for bindings of other languages: what a library lists, and how it is
   called. Operands are query, key, value and result; values stand in the order of `arguments`. */
typedef struct fovea_array {
    void* data;
    int64_t extents[4];
    int64_t strides[4];
} fovea_array;
typedef union fovea_value {
    void const* pointer;
    int64_t integer;
    double real;
} fovea_value;
typedef struct fovea_argument {
    char const* name;
    char const* type;  /* "float", "int32_t", ... of a table; "int64_t" or "double" of a number; "fovea_graph" */
    char const* shape; /* "(heads)" of a table; "" of a number or a graph */
    int has_gradient;  /* 1 for a table of which the kernel has a gradient; 0 otherwise */
} fovea_argument;
typedef struct fovea_kernel {
    char const* name;
    char const* type;          /* "f32", "f64", "bf16", "f16" */
    char const* specification; /* its words; what names it in C++ where they depend on a call */
    char const* comment;       /* the one above the specification in its header; "" where there is none */
    char const* formula;       /* what it computes, a line for each part */
    char const* architecture;  /* the one whose code runs on this processor; null where none does */
    fovea_argument const* arguments;
    size_t argument_count;
    int keeps_shape; /* 1 where the result has the rows of query and the features of value; 0 where the kernel projects
                        operands or changes the result */
    fovea_status (*run)(fovea_call const* call, fovea_array const* operands, fovea_value const* values);
    /* Its gradients; null where it has none. Operands are query, key, value, the gradient of the result, and where
       those of query, key and value go; behind the values stand as many pointers: where the gradient of each argument
       goes. What is null is not computed. */
    fovea_status (*gradient)(fovea_call const* call, fovea_array const* operands, fovea_value const* values);
} fovea_kernel;

#ifdef __cplusplus
}
#endif
#endif
