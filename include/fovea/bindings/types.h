/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The types that functions of compiled kernels take and give, in C11 and C++. Every header of kernels has it inside. */
#ifndef FOVEA_BINDINGS_TYPES
#define FOVEA_BINDINGS_TYPES 6

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

/* Arrays: (batch, head, position, feature). Extents and strides count numbers, also of those that lie in blocks; the
   stride of the last axis is 1, and one of 0 repeats. */
#define FOVEA_BINDINGS_ARRAY(kind, type, pointer)                                                               \
    typedef struct fovea_##kind##_##type {                                                                      \
        pointer data;                                                                                           \
        int64_t extents[4];                                                                                     \
        int64_t strides[4];                                                                                     \
    } fovea_##kind##_##type;                                                                                    \
    /* An array without gaps. */                                                                                \
    static inline fovea_##kind##_##type fovea_dense_##kind##_##type(pointer data, int64_t batch, int64_t heads, \
                                                                    int64_t positions, int64_t features) {      \
        fovea_##kind##_##type a = {data,                                                                        \
                                   {batch, heads, positions, features},                                         \
                                   {heads * positions * features, positions * features, features, 1}};          \
        return a;                                                                                               \
    }
#define FOVEA_BINDINGS_INPUT(type, element) FOVEA_BINDINGS_ARRAY(input, type, element const*)
#define FOVEA_BINDINGS_ARRAYS(type, element) \
    FOVEA_BINDINGS_INPUT(type, element)      \
    FOVEA_BINDINGS_ARRAY(output, type, element*)

FOVEA_BINDINGS_ARRAYS(f32, float)
FOVEA_BINDINGS_ARRAYS(f64, double)
typedef uint16_t fovea_bf16; /* the bits of bfloat16 */
typedef uint16_t fovea_f16;  /* the bits of IEEE binary16 */
FOVEA_BINDINGS_ARRAYS(bf16, fovea_bf16)
FOVEA_BINDINGS_ARRAYS(f16, fovea_f16)

/* Of positions that a call finds. */
FOVEA_BINDINGS_ARRAY(output, i64, int64_t*)

/* Of keys and values alone. */
typedef uint8_t fovea_fp8_e4m3; /* the bits: a sign, 4 of exponent, 3 of fraction, no infinity */
typedef uint8_t fovea_fp8_e5m2; /* the bits: a sign, 5 of exponent, 2 of fraction */
FOVEA_BINDINGS_INPUT(i8, int8_t)
FOVEA_BINDINGS_INPUT(fp8_e4m3, fovea_fp8_e4m3)
FOVEA_BINDINGS_INPUT(fp8_e5m2, fovea_fp8_e5m2)

/* Blocks of 32 numbers, as ggml has them; features are a multiple of 32. Numbers 0 to 15 of a block of 4 bits are the
   lower halves of its bytes, 16 to 31 the upper ones. */
typedef struct fovea_q8_0 {
    fovea_f16 scale; /* scale * integer */
    int8_t integers[32];
} fovea_q8_0;
typedef struct fovea_q4_0 {
    fovea_f16 scale; /* scale * (half - 8) */
    uint8_t pairs[16];
} fovea_q4_0;
typedef struct fovea_q4_1 {
    fovea_f16 scale, least; /* least + scale * half */
    uint8_t pairs[16];
} fovea_q4_1;
FOVEA_BINDINGS_INPUT(q8_0, fovea_q8_0)
FOVEA_BINDINGS_INPUT(q4_0, fovea_q4_0)
FOVEA_BINDINGS_INPUT(q4_1, fovea_q4_1)

/* Of tables of conditions: eight of them, the first one least. Each row of the last axis begins in one of these, so
   that it has (n + 7) / 8 of them for n conditions; what is left of the last one may be anything. */
typedef uint8_t fovea_bits;

/* For each query the keys it sees: keys[offsets[i]] ... keys[offsets[i + 1] - 1]. */
typedef struct fovea_graph {
    int64_t queries;
    int64_t edges;
    int64_t const* offsets; /* (queries + 1) */
    int32_t const* keys;    /* (edges) */
    int64_t const* numbers; /* (edges), what tables of edges are read at; null where that is the place in keys */
} fovea_graph;

/* Keys and values of sequences in pages, which sequences that begin alike share; for one thread at a time. */
typedef struct fovea_cache fovea_cache;
typedef struct fovea_cache_sizes {
    int64_t layers, heads, key_features, value_features;
    int64_t pages, page_size;          /* how many each layer has, and the positions of each */
    char const *key_type, *value_type; /* "f32", "bf16", "f16", "fp8_e4m3", "fp8_e5m2", "q8_0", "q4_0" or "q4_1" */
} fovea_cache_sizes;

/* Memory of the caller's for the pages of a layer, which may hold anything and stays there as long as the cache. */
typedef struct fovea_cache_memory {
    void *keys, *values; /* aligned as elements of the types are */
    int64_t key_bytes, value_bytes;
} fovea_cache_memory;

/* Keys are rotated at the positions that they get, as by `rotary` in C++; zeros stand for what that has by default. */
typedef struct fovea_rotary {
    int64_t features;                      /* the first ones of a head, which are rotated; 0: all */
    int interleaved;                       /* pairs are (2 i, 2 i + 1); 0: (i, i + features / 2) */
    double base, interpolated, ntk_scaled; /* 0: 10000, 1 and 1 */
    float const* frequencies;              /* (features / 2), angles at position 1; null: those of base */
    int64_t const* positions;              /* of the new keys; null: those that they have in the sequence */
} fovea_rotary;

/* Some sequences of a layer as the batch of a kernel over pages, until the cache changes or makes another one. */
typedef struct fovea_cache_batch {
    void const *keys, *values; /* all pages of the layer without gaps: pages of the cache, heads, page_size, features */
    int32_t const* page_table; /* (batch, pages), -1 behind the last page of a sequence */
    int64_t const* lengths;    /* (batch), the positions of each sequence */
    int64_t const* positions;  /* (batch, pages * page_size), that of each slot, -1 where it has none */
    int64_t pages;             /* of the sequence that has most */
} fovea_cache_batch;

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
    char const* type;  /* "float", "int32_t", "fovea_bits", ... of a table; "int64_t" or "double" of a number;
                          "fovea_graph" */
    char const* shape; /* "(heads)" of a table, which counts bits where it has them; "" of a number or a graph */
    int has_gradient;  /* 1 for a table of which the kernel has a gradient; 0 otherwise */
} fovea_argument;
typedef struct fovea_kernel_output {
    char const* name;  /* "lse", "weights", ... */
    char const* type;  /* of its elements: that of the arithmetic, "f32" or "f64"; "i64" of positions */
    char const* shape; /* "(batch, heads, queries)"; arrays of C that have less than 4 axes have one feature more */
    int has_gradient;  /* 1 where the kernel's gradients take that of this output; 0 otherwise */
} fovea_kernel_output;
typedef struct fovea_kernel {
    char const* name;
    char const* type;          /* "f32", "f64", "bf16", "f16", or those of query, key and value: "f32_q8_0_q4_0" */
    char const* types[4];      /* of query, key, value and result */
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
    /* What it can give beside its result, and the call that gives it: behind the operands of `run` stand as many
       arrays. Those of `gradient` are followed by the gradient of each output that has one. What is null is not
       computed. */
    fovea_kernel_output const* outputs;
    size_t output_count;
    fovea_status (*run_outputs)(fovea_call const* call, fovea_array const* operands, fovea_value const* values);
    int takes_forward; /* 1 where the operands of `gradient` end in the result and the log-sum-exp of the forward call,
                          both or null, which are then not computed again; 0 otherwise */
} fovea_kernel;

#ifdef __cplusplus
}
#endif
#endif
