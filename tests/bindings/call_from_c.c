/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels as a program in C11 calls them: right results, and a sentence for every mistake with nothing written. */
#include "bound.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { batch = 2, heads = 3, queries = 7, keys = 13, features = 5, values = 6 };
#include "operands.h"
static float r[r_size];
static float const untouched = 42;

static fovea_output_f32 result(void) { return fovea_dense_output_f32(r, batch, heads, queries, values); }

static void fill(void) {
    float* const all[] = {q, k, v};
    int const sizes[] = {q_size, k_size, v_size};
    fill_arrays(1, all, sizes, 3);
}

/* The definition, in double: softmax over the pairs that `score` does not answer with -INFINITY. */
typedef double (*scoring)(double product, int head, int i, int j);
static double greatest_difference(scoring score) {
    double worst = 0;
    for (int bh = 0; bh < batch * heads; ++bh)
        for (int i = 0; i < queries; ++i) {
            double s[keys], most = -INFINITY, sum = 0;
            for (int j = 0; j < keys; ++j) {
                double product = 0;
                for (int d = 0; d < features; ++d)
                    product += (double)q[(bh * queries + i) * features + d] * (double)k[(bh * keys + j) * features + d];
                s[j] = score(product / sqrt(features), bh % heads, i, j);
                most = s[j] > most ? s[j] : most;
            }
            for (int j = 0; j < keys; ++j) sum += s[j] = most == -INFINITY ? 0 : exp(s[j] - most);
            for (int d = 0; d < values; ++d) {
                double expected = 0;
                for (int j = 0; j < keys && sum > 0; ++j)
                    expected += s[j] / sum * (double)v[(bh * keys + j) * values + d];
                double const off = fabs(expected - (double)r[(bh * queries + i) * values + d]);
                worst = off > worst ? off : worst;
            }
        }
    return worst;
}

static float const slopes[heads] = {0.5f, 0.25f, 0.125f};
static float const steps[heads * 4] = {0.1f, 0.7f, -0.3f, 0.2f, 1, -1, 0.5f, 0, 0.3f, 0.3f, -0.2f, 0.9f};
static double causal(double s, int h, int i, int j) { return (void)h, j <= i ? s : -INFINITY; }
static double alibi(double s, int h, int i, int j) { return j <= i ? s + (double)slopes[h] * (j - i) : -INFINITY; }
static double capped(double s, int h, int i, int j) { return (void)h, (void)i, (void)j, 0.25 * tanh(s / 0.25); }
static double window(double s, int h, int i, int j) { return (void)h, i - j <= 2 && j - i <= 1 ? s : -INFINITY; }
static double stepped(double s, int h, int i, int j) { return s + (double)steps[h * 4 + (i + j) % 4]; }
static double bias_of(int i, int j) { return 0.1 * ((3 * i + j) % 5); }
static double even(double s, int h, int i, int j) { return (void)h, (i + j) % 2 == 0 ? s + bias_of(i, j) : -INFINITY; }
static double first_nine(double s, int h, int i, int j) { return (void)h, (void)i, j < 9 ? s : -INFINITY; }

static bool is_listed(int i, int j) { return i != 2 && (3 * i + j * j) % 4 < 2; }
static double listed(double s, int h, int i, int j) { return (void)h, is_listed(i, j) ? s : -INFINITY; }

static double const close = 2e-6;

static void right_results(void) {
    fovea_call const call = how();
    CHECK(bound_causal_f32(&call, query(), key(), value(), result()) == FOVEA_OK);
    CHECK(strcmp(message, "") == 0);
    CHECK(greatest_difference(causal) < close);
    CHECK(bound_alibi_f32(&call, query(), key(), value(), result(), slopes) == FOVEA_OK);
    CHECK(greatest_difference(alibi) < close);
    CHECK(bound_capped_f32(&call, query(), key(), value(), result(), 0.25) == FOVEA_OK);
    CHECK(greatest_difference(capped) < close);
    CHECK(bound_window_f32(&call, query(), key(), value(), result(), 2, 1) == FOVEA_OK);
    CHECK(greatest_difference(window) < close);
    CHECK(bound_stepped_f32(&call, query(), key(), value(), result(), steps, 4) == FOVEA_OK);
    CHECK(greatest_difference(stepped) < close);
}

/* Every second key: queries and keys of one parity are neighbours. */
static void graphs(void) {
    fovea_call const call = how();
    int64_t offsets[queries + 1] = {0};
    int32_t listed[queries * keys];
    float bias[queries * keys];
    int64_t edges = 0;
    for (int i = 0; i < queries; ++i) {
        for (int j = i % 2; j < keys; j += 2) {
            bias[edges] = (float)bias_of(i, j);
            listed[edges++] = j;
        }
        offsets[i + 1] = edges;
    }
    fovea_graph graph = {queries, edges, offsets, listed, NULL};
    CHECK(bound_neighbours_f32(&call, query(), key(), value(), result(), &graph, bias) == FOVEA_OK);
    CHECK(greatest_difference(even) < close);

    r[0] = untouched;
    listed[3] = keys;
    CHECK(bound_neighbours_f32(&call, query(), key(), value(), result(), &graph, bias) == FOVEA_GRAPH_ERROR);
    CHECK(strstr(message, "leads to key 13, there are 13 keys") != NULL);
    listed[3] = 0;
    CHECK(bound_neighbours_f32(&call, query(), key(), value(), result(), &graph, NULL) == FOVEA_SHAPE_ERROR);
    graph.queries = -1;
    CHECK(bound_neighbours_f32(&call, query(), key(), value(), result(), &graph, bias) == FOVEA_GRAPH_ERROR);
    graph.queries = queries - 1;
    CHECK(bound_neighbours_f32(&call, query(), key(), value(), result(), &graph, bias) == FOVEA_GRAPH_ERROR);
    graph.queries = queries;
    graph.offsets = NULL;
    CHECK(bound_neighbours_f32(&call, query(), key(), value(), result(), &graph, bias) == FOVEA_GRAPH_ERROR);
    CHECK(strcmp(message, "edges has no offsets: the pointer is null") == 0);
    CHECK(bound_neighbours_f32(&call, query(), key(), value(), result(), NULL, bias) == FOVEA_GRAPH_ERROR);
    CHECK(strcmp(message, "edges is null, it must be a graph") == 0);
    CHECK(r[0] == untouched);
}

/* Pages of four keys, in another order than the keys. */
static void pages(void) {
    enum { slots = 4, each = 4, count = batch * each };
    static float key_pages[count * heads * slots * features], value_pages[count * heads * slots * values];
    int32_t table[count];
    for (int b = 0; b < batch; ++b)
        for (int p = 0; p < each; ++p) {
            int const page = table[b * each + p] = (b * each + p) * 3 % count;
            for (int h = 0; h < heads; ++h)
                for (int s = 0; s < slots && p * slots + s < keys; ++s) {
                    int const row = (b * heads + h) * keys + p * slots + s, to = (page * heads + h) * slots + s;
                    memcpy(key_pages + to * features, k + row * features, features * sizeof(float));
                    memcpy(value_pages + to * values, v + row * values, values * sizeof(float));
                }
        }
    fovea_call const call = how();
    int32_t const lengths[batch] = {9, 9};
    fovea_input_f32 const paged_keys = fovea_dense_input_f32(key_pages, count, heads, slots, features);
    fovea_input_f32 const paged_values = fovea_dense_input_f32(value_pages, count, heads, slots, values);
    CHECK(bound_decode_f32(&call, query(), paged_keys, paged_values, result(), lengths, table, each) == FOVEA_OK);
    CHECK(greatest_difference(first_nine) < close);
    r[0] = untouched;
    table[1] = count;
    CHECK(bound_decode_f32(&call, query(), paged_keys, paged_values, result(), lengths, table, each)
          == FOVEA_SHAPE_ERROR);
    CHECK(strstr(message, "asks for page 8") != NULL);
    CHECK(bound_decode_f32(&call, query(), paged_keys, paged_values, result(), lengths, NULL, each)
          == FOVEA_SHAPE_ERROR);
    CHECK(bound_decode_f32(&call, query(), paged_keys, paged_values, result(), lengths, table, -1)
          == FOVEA_SHAPE_ERROR);
    CHECK(bound_decode_f32(&call, query(), paged_keys, paged_values, result(), lengths, table, INT64_MAX)
          == FOVEA_SHAPE_ERROR);
    CHECK(r[0] == untouched);
}

/* Each batch element as one sequence: (1, heads, batch * positions, features) by strides. */
static void sequences(void) {
    enum { n = queries, all = batch * n };
    static float packed_q[heads * all * features], packed_v[heads * all * values], packed_r[heads * all * values];
    for (int h = 0; h < heads; ++h)
        for (int i = 0; i < all; ++i) {
            memcpy(packed_q + (h * all + i) * features, q + (h * all + i) * features, features * sizeof(float));
            memcpy(packed_v + (h * all + i) * values, v + (h * all + i) * values, values * sizeof(float));
        }
    fovea_call const call = how();
    int64_t offsets[] = {0, n, all};
    fovea_input_f32 const x = fovea_dense_input_f32(packed_q, 1, heads, all, features);
    fovea_input_f32 const y = fovea_dense_input_f32(packed_v, 1, heads, all, values);
    fovea_output_f32 const out = fovea_dense_output_f32(packed_r, 1, heads, all, values);
    CHECK(bound_packed_f32(&call, x, x, y, out, offsets, offsets, 2) == FOVEA_OK);
    for (int h = 0; h < heads; ++h) /* the first query of each sequence sees itself only */
        for (int s = 0; s < batch; ++s)
            for (int d = 0; d < values; ++d) {
                int const at = (h * all + s * n) * values + d;
                CHECK(fabsf(packed_r[at] - packed_v[at]) < 1e-6f);
            }
    packed_r[0] = untouched;
    offsets[1] = all + 1;
    CHECK(bound_packed_f32(&call, x, x, y, out, offsets, offsets, 2) == FOVEA_SHAPE_ERROR);
    CHECK(bound_packed_f32(&call, x, x, y, out, offsets, offsets, -1) == FOVEA_SHAPE_ERROR);
    CHECK(bound_packed_f32(&call, x, x, y, out, offsets, offsets, INT64_MAX) == FOVEA_SHAPE_ERROR);
    CHECK(bound_packed_f32(&call, x, x, y, out, NULL, NULL, 2) == FOVEA_SHAPE_ERROR);
    CHECK(packed_r[0] == untouched);
}

/* Conditions in bits, each row of which begins in a byte, give the bits of those in bytes; other bits may be anything.
 */
static void bits(void) {
    enum { row = (keys + 7) / 8 };
    fovea_bits all_bits[queries * row], some_bits[queries * row];
    bool all_bytes[queries * keys], some_bytes[queries * keys];
    memset(all_bits, 0xff, sizeof all_bits);
    memset(some_bits, 0, sizeof some_bits);
    for (int i = 0; i < queries; ++i) {
        for (int j = 0; j < keys; ++j) {
            all_bytes[i * keys + j] = true;
            some_bytes[i * keys + j] = is_listed(i, j);
            if (is_listed(i, j)) some_bits[i * row + j / 8] |= (fovea_bits)(1u << j % 8);
        }
        some_bits[i * row + row - 1] |= (fovea_bits)(0xffu << keys % 8);
    }
    static float expected[r_size];
    fovea_call const call = how();
    CHECK(bound_listed_f32(&call, query(), key(), value(), result(), all_bits, some_bytes) == FOVEA_OK);
    CHECK(greatest_difference(listed) < close);
    memcpy(expected, r, sizeof r);
    memset(r, 0, sizeof r);
    CHECK(bound_listed_f32(&call, query(), key(), value(), result(), some_bits, all_bytes) == FOVEA_OK);
    CHECK(memcmp(expected, r, sizeof r) == 0);
    CHECK(bound_listed_f32(&call, query(), key(), value(), result(), NULL, all_bytes) == FOVEA_SHAPE_ERROR);
    CHECK(strstr(message, "its data is a null pointer") != NULL);
    r[0] = untouched; /* which lies in the bits */
    CHECK(bound_listed_f32(&call, query(), key(), value(), result(), (fovea_bits*)(r + 1), all_bytes)
          == FOVEA_SHAPE_ERROR);
    CHECK(r[0] == untouched);
}

static fovea_status causal_of(fovea_input_f32 a, fovea_input_f32 b, fovea_input_f32 c, fovea_output_f32 out) {
    fovea_call const call = how();
    message[0] = '\0';
    return bound_causal_f32(&call, a, b, c, out);
}

static void mistakes(void) {
    for (int i = 0; i < r_size; ++i) r[i] = untouched;
    fovea_input_f32 x = query();
    x.data = NULL;
    CHECK(causal_of(x, key(), value(), result()) == FOVEA_SHAPE_ERROR && strstr(message, "query") != NULL);
    x = key();
    x.extents[3] = features - 1;
    CHECK(causal_of(query(), x, value(), result()) == FOVEA_SHAPE_ERROR && strstr(message, "key has 4") != NULL);
    x = key();
    x.extents[2] = -1;
    CHECK(causal_of(query(), x, value(), result()) == FOVEA_SHAPE_ERROR && message[0] != '\0');
    x = value();
    x.extents[2] = keys - 1;
    CHECK(causal_of(query(), key(), x, result()) == FOVEA_SHAPE_ERROR && strstr(message, "value") != NULL);
    x = value();
    x.strides[3] = 2;
    CHECK(causal_of(query(), key(), x, result()) == FOVEA_SHAPE_ERROR && strstr(message, "contiguous") != NULL);
    x = value();
    x.strides[0] = INT64_MAX;
    CHECK(causal_of(query(), key(), x, result()) == FOVEA_SHAPE_ERROR && message[0] != '\0');
    fovea_output_f32 out = result();
    out.data = NULL;
    CHECK(causal_of(query(), key(), value(), out) == FOVEA_SHAPE_ERROR && strstr(message, "result") != NULL);
    out = result();
    out.extents[3] = values + 1;
    CHECK(causal_of(query(), key(), value(), out) == FOVEA_SHAPE_ERROR && strstr(message, "result") != NULL);
    out = result();
    out.strides[2] = 0;
    CHECK(causal_of(query(), key(), value(), out) == FOVEA_SHAPE_ERROR && strstr(message, "result") != NULL);
    out = fovea_dense_output_f32(v, batch, heads, queries, values);
    CHECK(causal_of(query(), key(), value(), out) == FOVEA_SHAPE_ERROR && strstr(message, "value") != NULL);

    fovea_call call = how();
    CHECK(bound_alibi_f32(&call, query(), key(), value(), result(), NULL) == FOVEA_SHAPE_ERROR);
    CHECK(bound_stepped_f32(&call, query(), key(), value(), result(), steps, -4) == FOVEA_SHAPE_ERROR);
    CHECK(bound_window_f32(&call, query(), key(), value(), result(), INT64_C(1) << 40, 0) == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message, "left is 1099511627776, it must be from -2147483648 to 2147483647") == 0);
    for (int i = 0; i < r_size; ++i) CHECK(r[i] == untouched);

    char cut[8] = "#######"; /* no more is written than there is room for */
    call.message = cut;
    call.message_size = 5;
    x = query();
    x.data = NULL;
    CHECK(bound_causal_f32(&call, x, key(), value(), result()) == FOVEA_SHAPE_ERROR);
    CHECK(strlen(cut) == 4 && cut[5] == '#');
    call.message_size = 0;
    CHECK(bound_causal_f32(&call, x, key(), value(), result()) == FOVEA_SHAPE_ERROR && strlen(cut) == 4);
    CHECK(bound_causal_f32(NULL, x, key(), value(), result()) == FOVEA_SHAPE_ERROR);
}

/* Scratch memory and threads change nothing, bit by bit; so does the call by a table of kernels. */
static void ways_to_call(void) {
    static float expected[r_size];
    fovea_call call = how();
    CHECK(bound_alibi_f32(&call, query(), key(), value(), result(), slopes) == FOVEA_OK);
    memcpy(expected, r, sizeof r);
    fovea_workspace* const scratch = bound_workspace_create();
    CHECK(scratch != NULL);
    call.workspace = scratch;
    for (int threads = -1; threads < 5; ++threads) {
        call.threads = threads;
        memset(r, 0, sizeof r);
        CHECK(bound_alibi_f32(&call, query(), key(), value(), result(), slopes) == FOVEA_OK);
        CHECK(memcmp(expected, r, sizeof r) == 0);
    }
    CHECK(bound_bindings_version() == FOVEA_BINDINGS_TYPES);
    size_t count = 0;
    fovea_kernel const* const all = bound_kernels(&count);
    CHECK(count == 9);
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(all[i].name, "alibi") != 0) continue;
        CHECK(all[i].argument_count == 1 && strcmp(all[i].arguments[0].name, "slopes") == 0);
        CHECK(strcmp(all[i].arguments[0].type, "float") == 0 && strcmp(all[i].arguments[0].shape, "(heads)") == 0);
        CHECK(strstr(all[i].formula, "slopes[head] * (kv_idx - q_idx)") != NULL);
        fovea_array operands[4];
        fovea_input_f32 const inputs[] = {query(), key(), value()};
        fovea_output_f32 const out = result();
        for (int o = 0; o < 4; ++o)
            for (int axis = 0; axis < 4; ++axis) {
                operands[o].extents[axis] = o < 3 ? inputs[o].extents[axis] : out.extents[axis];
                operands[o].strides[axis] = o < 3 ? inputs[o].strides[axis] : out.strides[axis];
            }
        operands[0].data = q;
        operands[1].data = k;
        operands[2].data = v;
        operands[3].data = r;
        fovea_value argument;
        argument.pointer = slopes;
        memset(r, 0, sizeof r);
        CHECK(all[i].run(&call, operands, &argument) == FOVEA_OK);
        CHECK(memcmp(expected, r, sizeof r) == 0);
    }
    bound_workspace_destroy(scratch);
    bound_workspace_destroy(NULL);
}

int main(int argument_count, char** arguments) {
    size_t count = 0;
    fovea_kernel const* const all = bound_kernels(&count);
    char const* const architecture = all[0].architecture;
    printf("%s\n", architecture == NULL ? "none" : architecture);
    if (argument_count > 1) CHECK(architecture != NULL && strcmp(architecture, arguments[1]) == 0);
    fill();
    if (architecture == NULL) {
        CHECK(causal_of(query(), key(), value(), result()) == FOVEA_UNSUPPORTED);
        CHECK(strstr(message, "FOVEA_ARCHITECTURE is ") != NULL);
    } else {
        right_results();
        graphs();
        pages();
        sequences();
        bits();
        mistakes();
        ways_to_call();
    }
    printf("%d checks, %d failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
