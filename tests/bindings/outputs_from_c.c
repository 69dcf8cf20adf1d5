/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Outputs beside the result as a program in C11 asks for them: each alone and all together, against the definition in
   double; what is not asked for, and mistakes, with nothing written. */
#include "bound.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { batch = 2, heads = 3, queries = 7, keys = 13, features = 5, values = 6, count = 6 };
#include "operands.h"
enum { rows = batch * heads * queries, pairs = rows * keys, columns = batch * heads * keys };
static float r[r_size];
static float sums[rows], shares[pairs], products[pairs], spread[rows], received[columns];
static int64_t best[rows];
static float const untouched = 42;
static double const close = 2e-5;

static fovea_output_f32 result(void) { return fovea_dense_output_f32(r, batch, heads, queries, values); }

/* Those of the kernel in its order; bit n of `asked` asks for output n. */
typedef struct outputs {
    fovea_output_f32 lse, weights, scores, entropy, column_sums;
    fovea_output_i64 best_key;
} outputs;
static outputs outputs_of(unsigned asked) {
    outputs o = {.lse = fovea_dense_output_f32(sums, batch, heads, queries, 1),
                 .weights = fovea_dense_output_f32(shares, batch, heads, queries, keys),
                 .scores = fovea_dense_output_f32(products, batch, heads, queries, keys),
                 .entropy = fovea_dense_output_f32(spread, batch, heads, queries, 1),
                 .column_sums = fovea_dense_output_f32(received, batch, heads, keys, 1),
                 .best_key = fovea_dense_output_i64(best, batch, heads, queries, 1)};
    if ((asked & 1u) == 0) o.lse.data = NULL;
    if ((asked & 2u) == 0) o.weights.data = NULL;
    if ((asked & 4u) == 0) o.scores.data = NULL;
    if ((asked & 8u) == 0) o.entropy.data = NULL;
    if ((asked & 16u) == 0) o.best_key.data = NULL;
    if ((asked & 32u) == 0) o.column_sums.data = NULL;
    return o;
}
static fovea_status causal_of(fovea_call const* call, outputs o) {
    return bound_causal_f32_outputs(call, query(), key(), value(), result(), o.lse, o.weights, o.scores, o.entropy,
                                    o.best_key, o.column_sums);
}

static void fill(void) {
    float* const all[] = {q, k, v};
    int const sizes[] = {q_size, k_size, v_size};
    fill_arrays(3, all, sizes, 3);
}
static void forget(void) {
    float* const all[] = {r, sums, shares, products, spread, received};
    int const sizes[] = {r_size, rows, pairs, pairs, rows, columns};
    for (int a = 0; a < 6; ++a)
        for (int i = 0; i < sizes[a]; ++i) all[a][i] = untouched;
    for (int i = 0; i < rows; ++i) best[i] = 42;
}
/* Whether what is not asked for is as it was; of everything, result too, where nothing may be written. */
static bool is_left_alone(unsigned asked, bool with_result) {
    float const* const all[] = {sums, shares, products, spread, NULL, received};
    int const sizes[] = {rows, pairs, pairs, rows, rows, columns};
    bool same = true;
    for (int a = 0; a < count; ++a)
        for (int i = 0; i < sizes[a] && (asked >> a & 1u) == 0; ++i)
            same = same && (a == 4 ? best[i] == 42 : all[a][i] == untouched);
    for (int i = 0; i < r_size && with_result; ++i) same = same && r[i] == untouched;
    return same;
}

/* The definition, in double, of what a call has written; NaN where it has not. */
typedef bool (*seeing)(int i, int j);
static bool causal(int i, int j) { return j <= i; }
static bool first_nine(int i, int j) { return (void)i, j < 9; }
static double expected_sum, expected_shares[keys], expected_scores[keys], expected_spread, expected_result[values];
static int expected_best;
static void define(int bh, int i, seeing sees) {
    double most = -INFINITY, sum = 0;
    expected_best = -1;
    for (int j = 0; j < keys; ++j) {
        double product = 0;
        for (int d = 0; d < features; ++d)
            product += (double)q[(bh * queries + i) * features + d] * (double)k[(bh * keys + j) * features + d];
        double const s = expected_scores[j] = sees(i, j) ? product / sqrt(features) : -INFINITY;
        if (s > most) most = s, expected_best = j;
    }
    for (int j = 0; j < keys; ++j) sum += expected_shares[j] = most == -INFINITY ? 0 : exp(expected_scores[j] - most);
    expected_sum = most + log(sum);
    expected_spread = 0;
    for (int d = 0; d < values; ++d) expected_result[d] = 0;
    for (int j = 0; j < keys; ++j) {
        double const w = expected_shares[j] /= sum > 0 ? sum : 1;
        if (w > 0) expected_spread -= w * log(w);
        for (int d = 0; d < values; ++d) expected_result[d] += w * (double)v[(bh * keys + j) * values + d];
    }
}
static bool is_near(double expected, float got) {
    return expected == (double)got || fabs(expected - (double)got) < close;
}
static bool is_right(unsigned asked) {
    bool right = true;
    for (int bh = 0; bh < batch * heads; ++bh) {
        double columns_of_head[keys] = {0};
        for (int i = 0; i < queries; ++i) {
            int const row = bh * queries + i;
            define(bh, i, causal);
            for (int d = 0; d < values; ++d) right = right && is_near(expected_result[d], r[row * values + d]);
            if ((asked & 1u) != 0) right = right && is_near(expected_sum, sums[row]);
            if ((asked & 8u) != 0) right = right && is_near(expected_spread, spread[row]);
            if ((asked & 16u) != 0) right = right && best[row] == expected_best;
            for (int j = 0; j < keys; ++j) {
                columns_of_head[j] += expected_shares[j];
                if ((asked & 2u) != 0) right = right && is_near(expected_shares[j], shares[row * keys + j]);
                if ((asked & 4u) != 0) right = right && is_near(expected_scores[j], products[row * keys + j]);
            }
        }
        for (int j = 0; j < keys && (asked & 32u) != 0; ++j)
            right = right && is_near(columns_of_head[j], received[bh * keys + j]);
    }
    return right;
}

static void every_choice(void) {
    static float expected[r_size];
    fovea_call call = how();
    CHECK(bound_causal_f32(&call, query(), key(), value(), result()) == FOVEA_OK);
    memcpy(expected, r, sizeof r);
    for (unsigned asked = 0; asked < 1u << count; ++asked) {
        call.threads = 1 + (int)(asked % 3);
        forget();
        CHECK(causal_of(&call, outputs_of(asked)) == FOVEA_OK && message[0] == '\0');
        CHECK(is_right(asked) && is_left_alone(asked, false));
        if (asked <= 1) CHECK(memcmp(expected, r, sizeof r) == 0); /* the log-sum-exp does not change the call */
    }
}

/* Every second key: weights stand at the numbers of the edges, which are those of the list backwards. */
static void weights_of_edges(void) {
    enum { n = 4, most = queries * keys };
    fovea_call const call = how();
    int64_t offsets[queries + 1] = {0}, numbers[most];
    int32_t listed[most];
    static float bias[most], of_edges[batch * heads * most];
    int64_t edges = 0;
    for (int i = 0; i < queries; ++i) {
        for (int j = i % 2; j < keys && i != 3; j += 2) listed[edges++] = j; /* one query sees nothing */
        offsets[i + 1] = edges;
    }
    for (int64_t e = 0; e < edges; ++e) numbers[e] = edges - 1 - e;
    fovea_graph const graph = {queries, edges, offsets, listed, numbers};
    fovea_output_f32 const lse = outputs_of(1).lse;
    fovea_output_f32 to = fovea_dense_output_f32(of_edges, batch, heads, edges, 1);
    CHECK(bound_neighbours_f32_outputs(&call, query(), key(), value(), result(), lse, to, &graph, bias) == FOVEA_OK);
    bool right = true;
    for (int bh = 0; bh < batch * heads; ++bh)
        for (int i = 0; i < queries; ++i) {
            double sum = 0, scores[keys];
            for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
                double product = 0;
                for (int d = 0; d < features; ++d)
                    product += (double)q[(bh * queries + i) * features + d]
                             * (double)k[(bh * keys + listed[e]) * features + d];
                sum += scores[e - offsets[i]] = exp(product / sqrt(features));
            }
            right = right && is_near(log(sum), sums[bh * queries + i]);
            for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
                right = right && is_near(scores[e - offsets[i]] / sum, of_edges[bh * edges + numbers[e]]);
        }
    CHECK(right);
    CHECK(sums[3] == -INFINITY);
    of_edges[0] = r[0] = untouched;
    to.extents[2] = edges - 1;
    CHECK(bound_neighbours_f32_outputs(&call, query(), key(), value(), result(), lse, to, &graph, bias)
          == FOVEA_SHAPE_ERROR);
    CHECK(strstr(message, "weights are (2, 3, ") != NULL && strstr(message, ", (batch, head, edge)") != NULL);
    CHECK(of_edges[0] == untouched && r[0] == untouched);
}

/* The first nine keys, which lie in pages one after another, each page of a sequence behind those of the others. */
static void sums_over_pages(void) {
    enum { slots = 4, each = 4, all = batch * each };
    static float key_pages[all * heads * slots * features], value_pages[all * heads * slots * values];
    int32_t table[all];
    for (int b = 0; b < batch; ++b)
        for (int p = 0; p < each; ++p) {
            table[b * each + p] = p * batch + b;
            for (int h = 0; h < heads; ++h)
                for (int s = 0; s < slots && p * slots + s < keys; ++s)
                    memcpy(key_pages + (((p * batch + b) * heads + h) * slots + s) * features,
                           k + ((b * heads + h) * keys + p * slots + s) * features, features * sizeof(float));
        }
    fovea_call const call = how();
    int32_t const lengths[batch] = {9, 9};
    forget();
    CHECK(bound_decode_f32_outputs(&call, query(), fovea_dense_input_f32(key_pages, all, heads, slots, features),
                                   fovea_dense_input_f32(value_pages, all, heads, slots, values), result(),
                                   outputs_of(1).lse, lengths, table, each)
          == FOVEA_OK);
    bool right = true;
    for (int row = 0; row < rows; ++row) {
        define(row / queries, row % queries, first_nine);
        right = right && is_near(expected_sum, sums[row]);
    }
    CHECK(right);
}

/* The queries of all sequences, one after another; each sequence has as many keys. */
static void sums_of_sequences(void) {
    enum { all = queries };
    fovea_call const call = how();
    int64_t const offsets[] = {0, 3, 3, all};
    float packed_sums[heads * all];
    fovea_input_f32 const x = fovea_dense_input_f32(q, 1, heads, all, features);
    fovea_input_f32 const y = fovea_dense_input_f32(v, 1, heads, all, values);
    fovea_output_f32 const out = fovea_dense_output_f32(r, 1, heads, all, values);
    fovea_output_f32 to = fovea_dense_output_f32(packed_sums, 1, heads, all, 1);
    CHECK(bound_packed_f32_outputs(&call, x, x, y, out, to, offsets, offsets, 3) == FOVEA_OK);
    for (int h = 0; h < heads; ++h)
        for (int first = 0; first < 4; first += 3) { /* the first query of each sequence sees itself only */
            double product = 0;
            for (int d = 0; d < features; ++d)
                product += (double)q[(h * all + first) * features + d] * (double)q[(h * all + first) * features + d];
            CHECK(is_near(product / sqrt(features), packed_sums[h * all + first]));
        }
    r[0] = untouched;
    to.extents[2] = all - 1;
    CHECK(bound_packed_f32_outputs(&call, x, x, y, out, to, offsets, offsets, 3) == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message, "lse is (1, 3, 6), the sequences have 7 queries together") == 0 && r[0] == untouched);
    to.data = NULL;
    CHECK(bound_packed_f32_outputs(&call, x, x, y, out, to, offsets, offsets, 3) == FOVEA_OK);
}

static void mistakes(void) {
    fovea_call const call = how();
    forget();
    outputs o = outputs_of(63);
    o.lse.extents[2] = queries + 1;
    CHECK(causal_of(&call, o) == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message, "lse is (2, 3, 8) and must be (2, 3, 7), (batch, head, query)") == 0);
    o = outputs_of(63);
    o.entropy.extents[3] = 2;
    CHECK(causal_of(&call, o) == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message, "entropy has 2 features, it must have 1: (batch, head, position, 1)") == 0);
    o = outputs_of(63);
    o.weights.extents[3] = keys - 1;
    CHECK(causal_of(&call, o) == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message, "weights are (2, 3, 7, 12) and must be (2, 3, 7, 13), (batch, head, query, key)") == 0);
    o = outputs_of(63);
    o.best_key.extents[0] = -1;
    CHECK(causal_of(&call, o) == FOVEA_SHAPE_ERROR && strstr(message, "best_key is (-1, ") != NULL);
    o = outputs_of(63);
    o.column_sums.extents[2] = queries;
    CHECK(causal_of(&call, o) == FOVEA_SHAPE_ERROR && strstr(message, "column_sums is ") != NULL);
    o = outputs_of(63);
    o.scores.strides[2] = 0;
    CHECK(causal_of(&call, o) == FOVEA_SHAPE_ERROR && strstr(message, "scores has stride 0 along axis 2") != NULL);
    o = outputs_of(63);
    o.lse.strides[2] = 2;
    CHECK(causal_of(&call, o) == FOVEA_SHAPE_ERROR && strstr(message, "contiguous") != NULL);
    o = outputs_of(63);
    o.scores.strides[0] = INT64_MAX;
    CHECK(causal_of(&call, o) == FOVEA_SHAPE_ERROR && message[0] != '\0');
    o = outputs_of(63);
    o.lse.data = q;
    CHECK(causal_of(&call, o) == FOVEA_SHAPE_ERROR && strstr(message, "lse overlaps query in memory") != NULL);
    o.lse.data = r;
    CHECK(causal_of(&call, o) == FOVEA_SHAPE_ERROR && strstr(message, "lse overlaps result in memory") != NULL);
    o.lse.data = spread;
    CHECK(causal_of(&call, o) == FOVEA_SHAPE_ERROR && strstr(message, "entropy overlaps lse in memory") != NULL);
    o = outputs_of(0);
    fovea_output_f32 none = result();
    none.data = NULL;
    CHECK(bound_causal_f32_outputs(&call, query(), key(), value(), none, o.lse, o.weights, o.scores, o.entropy,
                                   o.best_key, o.column_sums)
          == FOVEA_SHAPE_ERROR);
    CHECK(is_left_alone(0, true));
}

/* What the list of kernels says of outputs, and a call by it. */
static void listed(void) {
    char const* const names[] = {"lse", "weights", "scores", "entropy", "best_key", "column_sums"};
    size_t kernels = 0;
    fovea_kernel const* const all = bound_kernels(&kernels);
    for (size_t n = 0; n < kernels; ++n) {
        CHECK((all[n].run_outputs != NULL) == (all[n].output_count > 0));
        CHECK(all[n].takes_forward == (strcmp(all[n].name, "causal") == 0)); /* no list of edges, no pages */
        if (strcmp(all[n].name, "alibi") == 0) CHECK(all[n].output_count == 0 && all[n].outputs == NULL);
        if (strcmp(all[n].name, "neighbours") == 0)
            CHECK(strcmp(all[n].outputs[1].shape, "(batch, heads, edges)") == 0);
        if (strcmp(all[n].name, "decode") == 0) CHECK(all[n].outputs[0].has_gradient == 0);
        if (strcmp(all[n].name, "causal") != 0) continue;
        CHECK(all[n].output_count == count);
        for (int i = 0; i < count; ++i) {
            CHECK(strcmp(all[n].outputs[i].name, names[i]) == 0);
            CHECK(strcmp(all[n].outputs[i].type, i == 4 ? "i64" : "f32") == 0);
            CHECK(all[n].outputs[i].has_gradient == (i == 0));
        }
        CHECK(strcmp(all[n].outputs[1].shape, "(batch, heads, queries, keys)") == 0);
        CHECK(strcmp(all[n].outputs[5].shape, "(batch, heads, keys)") == 0);
        fovea_array operands[4 + count] = {
            {q, {batch, heads, queries, features}, {heads * queries * features, queries * features, features, 1}},
            {k, {batch, heads, keys, features}, {heads * keys * features, keys * features, features, 1}},
            {v, {batch, heads, keys, values}, {heads * keys * values, keys * values, values, 1}},
            {r, {batch, heads, queries, values}, {heads * queries * values, queries * values, values, 1}},
            {sums, {batch, heads, queries, 1}, {heads * queries, queries, 1, 1}}};
        forget();
        CHECK(all[n].run_outputs(NULL, operands, NULL) == FOVEA_OK);
        CHECK(is_right(1) && is_left_alone(1, false));
    }
}

int main(void) {
    fill();
    every_choice();
    weights_of_edges();
    sums_over_pages();
    sums_of_sequences();
    mistakes();
    listed();
    printf("%d checks, %d failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
