/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Gradients of kernels as a program in C11 calls them, against differences of the definition in double; what is not
   asked for, and mistakes, with nothing written. */
#include "bound.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { batch = 2, heads = 2, queries = 5, keys = 6, features = 4, values = 3, most_edges = queries * keys };
#include "operands.h"
enum { l_size = batch * heads * queries };
static float table[most_edges], d_r[r_size], d_l[l_size];
static float d_q[q_size], d_k[k_size], d_v[v_size], d_table[most_edges];
static float const untouched = 42;
static double const close = 1e-5;

static fovea_input_f32 d_result(void) { return fovea_dense_input_f32(d_r, batch, heads, queries, values); }
static fovea_output_f32 d_query(void) { return fovea_dense_output_f32(d_q, batch, heads, queries, features); }
static fovea_output_f32 d_key(void) { return fovea_dense_output_f32(d_k, batch, heads, keys, features); }
static fovea_output_f32 d_value(void) { return fovea_dense_output_f32(d_v, batch, heads, keys, values); }
static fovea_output_f32 const not_asked_for; /* zeros */
static fovea_input_f32 const not_given;
static fovea_input_f32 d_lse(void) { return fovea_dense_input_f32(d_l, batch, heads, queries, 1); }

static void fill(void) {
    float* const all[] = {q, k, v, table, d_r, d_l};
    int const sizes[] = {q_size, k_size, v_size, most_edges, r_size, l_size};
    fill_arrays(7, all, sizes, 6);
}
static void forget(void) {
    float* const all[] = {d_q, d_k, d_v, d_table};
    int const sizes[] = {q_size, k_size, v_size, most_edges};
    for (int a = 0; a < 4; ++a)
        for (int i = 0; i < sizes[a]; ++i) all[a][i] = untouched;
}
static bool nothing_is_written(void) {
    bool same = true;
    float const* const all[] = {d_q, d_k, d_v, d_table};
    int const sizes[] = {q_size, k_size, v_size, most_edges};
    for (int a = 0; a < 4; ++a)
        for (int i = 0; i < sizes[a]; ++i) same = same && all[a][i] == untouched;
    return same;
}

/* What a kernel adds to a scaled product, -INFINITY where a pair takes no part. */
typedef double (*adding)(double const* of_table, int head, int i, int j);
static double causal(double const* t, int h, int i, int j) { return (void)t, (void)h, j <= i ? 0 : -INFINITY; }
static double alibi(double const* t, int h, int i, int j) { return j <= i ? t[h] * (j - i) : -INFINITY; }
static double stepped(double const* t, int h, int i, int j) { return t[h * 4 + (i + j) % 4]; }
static double even(double const* t, int h, int i, int j) {
    return (void)h, (i + j) % 2 == 0 ? t[i * keys / 2 + j / 2] : -INFINITY;
}

/* The sum of d_r times the result, and of d_l times the log-sum-exp where the loss reads that, in double. */
static bool reads_lse;
static double xq[q_size], xk[k_size], xv[v_size], xt[most_edges];
static double loss(adding add) {
    double total = 0;
    for (int bh = 0; bh < batch * heads; ++bh)
        for (int i = 0; i < queries; ++i) {
            double w[keys], sum = 0;
            for (int j = 0; j < keys; ++j) {
                double product = 0;
                for (int d = 0; d < features; ++d)
                    product += xq[(bh * queries + i) * features + d] * xk[(bh * keys + j) * features + d];
                sum += w[j] = exp(product / sqrt(features) + add(xt, bh % heads, i, j));
            }
            if (reads_lse) total += (double)d_l[bh * queries + i] * log(sum);
            for (int j = 0; j < keys && sum > 0; ++j)
                for (int d = 0; d < values; ++d)
                    total +=
                        w[j] / sum * xv[(bh * keys + j) * values + d] * (double)d_r[(bh * queries + i) * values + d];
        }
    return total;
}
/* As isnan, whose macro in MinGW-w64 converts to float, which warnings are about. */
static bool is_nan(double x) { return x != x; }
static double worst_of(adding add, double* x, float const* gradient, int size) {
    double const h = 1e-5;
    double worst = 0;
    for (int i = 0; i < size; ++i) {
        double const at = x[i];
        x[i] = at + h;
        double const above = loss(add);
        x[i] = at - h;
        double const below = loss(add);
        x[i] = at;
        double const off = fabs((above - below) / (2 * h) - (double)gradient[i]);
        worst = off > worst || is_nan(off) ? off : worst;
    }
    return worst;
}
static double greatest_difference(adding add, int table_size) {
    for (int i = 0; i < q_size; ++i) xq[i] = (double)q[i];
    for (int i = 0; i < k_size; ++i) xk[i] = (double)k[i];
    for (int i = 0; i < v_size; ++i) xv[i] = (double)v[i];
    for (int i = 0; i < most_edges; ++i) xt[i] = (double)table[i];
    double const all[] = {worst_of(add, xq, d_q, q_size), worst_of(add, xk, d_k, k_size),
                          worst_of(add, xv, d_v, v_size), worst_of(add, xt, d_table, table_size)};
    double worst = 0;
    for (int i = 0; i < 4; ++i) worst = all[i] > worst || is_nan(all[i]) ? all[i] : worst;
    return worst;
}

static fovea_status alibi_of(fovea_call const* call, fovea_output_f32 to_key, float* d_slopes) {
    return bound_alibi_f32_gradient(call, query(), key(), value(), d_result(), d_query(), to_key, d_value(), table,
                                    d_slopes);
}

static void right_gradients(void) {
    fovea_call const call = how();
    forget();
    CHECK(bound_causal_f32_gradient(&call, query(), key(), value(), d_result(), d_query(), d_key(), d_value(),
                                    not_given, not_given, not_given)
          == FOVEA_OK);
    CHECK(message[0] == '\0');
    CHECK(greatest_difference(causal, 0) < close);
    forget();
    CHECK(alibi_of(&call, d_key(), d_table) == FOVEA_OK);
    CHECK(greatest_difference(alibi, heads) < close);
    CHECK(d_table[heads] == untouched);
    CHECK(bound_stepped_f32_gradient(&call, query(), key(), value(), d_result(), d_query(), d_key(), d_value(), table,
                                     4, d_table)
          == FOVEA_OK);
    CHECK(greatest_difference(stepped, heads * 4) < close);
}

static void gradients_of_graphs(void) {
    fovea_call const call = how();
    int64_t offsets[queries + 1] = {0};
    int32_t listed[most_edges];
    int64_t edges = 0;
    for (int i = 0; i < queries; ++i) {
        for (int j = i % 2; j < keys; j += 2) listed[edges++] = j;
        offsets[i + 1] = edges;
    }
    fovea_graph const graph = {queries, edges, offsets, listed, NULL};
    forget();
    CHECK(bound_neighbours_f32_gradient(&call, query(), key(), value(), d_result(), d_query(), d_key(), d_value(),
                                        not_given, &graph, table, d_table)
          == FOVEA_OK);
    CHECK(greatest_difference(even, (int)edges) < close);
    CHECK(d_table[edges] == untouched);
    reads_lse = true;
    CHECK(bound_neighbours_f32_gradient(&call, query(), key(), value(), d_result(), d_query(), d_key(), d_value(),
                                        d_lse(), &graph, table, d_table)
          == FOVEA_OK);
    CHECK(greatest_difference(even, (int)edges) < close);
    reads_lse = false;
    forget();
    listed[3] = keys;
    CHECK(bound_neighbours_f32_gradient(&call, query(), key(), value(), d_result(), d_query(), d_key(), d_value(),
                                        not_given, &graph, table, d_table)
          == FOVEA_GRAPH_ERROR);
    CHECK(nothing_is_written());
}

static fovea_status causal_after(fovea_input_f32 gradient_of_lse, fovea_input_f32 result, fovea_input_f32 lse) {
    fovea_call const call = how();
    return bound_causal_f32_gradient(&call, query(), key(), value(), d_result(), d_query(), d_key(), d_value(),
                                     gradient_of_lse, result, lse);
}
static fovea_status causal_with(fovea_input_f32 gradient_of_lse) {
    return causal_after(gradient_of_lse, not_given, not_given);
}

/* The result and the log-sum-exp of the forward call are not computed again. */
static void after_a_forward_call(void) {
    static float r[r_size], l[l_size];
    fovea_call const call = how();
    fovea_output_f32 const none = {.data = NULL};
    fovea_output_i64 const no_keys = {.data = NULL};
    CHECK(bound_causal_f32_outputs(&call, query(), key(), value(),
                                   fovea_dense_output_f32(r, batch, heads, queries, values),
                                   fovea_dense_output_f32(l, batch, heads, queries, 1), none, none, none, no_keys, none)
          == FOVEA_OK);
    fovea_input_f32 const result = fovea_dense_input_f32(r, batch, heads, queries, values);
    fovea_input_f32 lse = fovea_dense_input_f32(l, batch, heads, queries, 1);
    CHECK(causal_after(not_given, result, lse) == FOVEA_OK);
    CHECK(greatest_difference(causal, 0) < close);
    reads_lse = true;
    CHECK(causal_after(d_lse(), result, lse) == FOVEA_OK);
    CHECK(greatest_difference(causal, 0) < close);
    reads_lse = false;
    forget();
    CHECK(causal_after(not_given, result, not_given) == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message, "lse is null, it must be that of the forward call, as result is") == 0);
    CHECK(causal_after(not_given, not_given, lse) == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message, "result is null, it must be that of the forward call, as lse is") == 0);
    lse.extents[1] = 1;
    CHECK(causal_after(not_given, result, lse) == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message, "lse is (2, 1, 5) and must be (2, 2, 5), (batch, head, query)") == 0);
    lse.extents[1] = heads;
    CHECK(causal_after(not_given, fovea_dense_input_f32(r, batch, heads, queries, values - 1), lse)
          == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message, "the saved rows are those of a result (2, 2, 5, 2), this call has (2, 2, 5, 3)") == 0);
    CHECK(causal_after(not_given, fovea_dense_input_f32(d_v, batch, heads, queries, values), lse) == FOVEA_SHAPE_ERROR);
    CHECK(strstr(message, "d_value overlaps result in memory") != NULL);
    lse.strides[0] = INT64_MAX;
    CHECK(causal_after(not_given, result, lse) == FOVEA_SHAPE_ERROR && message[0] != '\0');
    CHECK(nothing_is_written());
}

/* The loss reads the log-sum-exp too. */
static void gradient_of_an_output(void) {
    reads_lse = true;
    CHECK(causal_with(d_lse()) == FOVEA_OK);
    CHECK(greatest_difference(causal, 0) < close);
    reads_lse = false;

    forget();
    fovea_input_f32 d = d_lse();
    d.extents[2] = queries - 1;
    CHECK(causal_with(d) == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message, "d_lse is (2, 2, 4) and must be (2, 2, 5), (batch, head, query)") == 0);
    d = d_lse();
    d.extents[3] = 2;
    CHECK(causal_with(d) == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message, "d_lse has 2 features, it must have 1: (batch, head, position, 1)") == 0);
    d = d_lse();
    d.strides[0] = INT64_MAX;
    CHECK(causal_with(d) == FOVEA_SHAPE_ERROR && strstr(message, "d_lse") != NULL);
    d = d_lse();
    d.strides[2] = 2;
    CHECK(causal_with(d) == FOVEA_SHAPE_ERROR && strstr(message, "contiguous") != NULL);
    d = fovea_dense_input_f32(d_k, batch, heads, queries, 1);
    CHECK(causal_with(d) == FOVEA_SHAPE_ERROR);
    CHECK(strstr(message, "d_key overlaps d_lse in memory") != NULL);
    CHECK(nothing_is_written());
}

/* Of an array that is query, key and value, each gets its own gradient. */
static void one_array_for_all(void) {
    enum { size = batch * heads * queries * features };
    static float x[3][size], to[3][size], expected[3][size];
    fovea_call const call = how();
    for (int i = 0; i < size; ++i) x[0][i] = x[1][i] = x[2][i] = q[i];
    fovea_input_f32 in[3];
    fovea_output_f32 out[3];
    for (int a = 0; a < 3; ++a) {
        in[a] = fovea_dense_input_f32(x[a], batch, heads, queries, features);
        out[a] = fovea_dense_output_f32(to[a], batch, heads, queries, features);
    }
    fovea_input_f32 const d = fovea_dense_input_f32(k, batch, heads, queries, features);
    CHECK(bound_causal_f32_gradient(&call, in[0], in[1], in[2], d, out[0], out[1], out[2], not_given, not_given,
                                    not_given)
          == FOVEA_OK);
    memcpy(expected, to, sizeof to);
    memset(to, 0, sizeof to);
    CHECK(bound_causal_f32_gradient(&call, in[0], in[0], in[0], d, out[0], out[1], out[2], not_given, not_given,
                                    not_given)
          == FOVEA_OK);
    CHECK(memcmp(expected, to, sizeof to) == 0);
    CHECK(memcmp(to[0], to[1], sizeof to[0]) != 0);
}

static void not_asked(void) {
    static float expected[q_size], expected_slopes[heads];
    fovea_call const call = how();
    CHECK(alibi_of(&call, d_key(), d_table) == FOVEA_OK);
    memcpy(expected, d_q, sizeof d_q);
    memcpy(expected_slopes, d_table, sizeof expected_slopes);
    forget();
    CHECK(alibi_of(&call, not_asked_for, NULL) == FOVEA_OK);
    CHECK(memcmp(expected, d_q, sizeof d_q) == 0);
    CHECK(d_k[0] == untouched && d_table[0] == untouched);
    forget();
    CHECK(bound_alibi_f32_gradient(&call, query(), key(), value(), d_result(), not_asked_for, not_asked_for,
                                   not_asked_for, table, d_table)
          == FOVEA_OK);
    CHECK(memcmp(expected_slopes, d_table, sizeof expected_slopes) == 0);
    CHECK(d_q[0] == untouched && d_k[0] == untouched && d_v[0] == untouched);
}

static void mistakes(void) {
    fovea_call const call = how();
    forget();
    fovea_output_f32 to = d_key();
    to.extents[2] = keys - 1;
    CHECK(alibi_of(&call, to, d_table) == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message, "d_key is (2, 2, 5, 4), its array is (2, 2, 6, 4)") == 0);
    to = d_key();
    to.strides[2] = 0;
    CHECK(alibi_of(&call, to, d_table) == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message, "d_key has stride 0 along axis 2: its elements would be written twice") == 0);
    to = fovea_dense_output_f32(k, batch, heads, keys, features);
    CHECK(alibi_of(&call, to, d_table) == FOVEA_SHAPE_ERROR);
    CHECK(strstr(message, "d_key overlaps key in memory") != NULL);
    CHECK(alibi_of(&call, d_key(), d_q) == FOVEA_SHAPE_ERROR);
    CHECK(strstr(message, "d_slopes overlaps d_query in memory") != NULL);
    CHECK(alibi_of(&call, d_key(), table) == FOVEA_SHAPE_ERROR);
    CHECK(strstr(message, "d_slopes overlaps a table of the score in memory") != NULL);
    fovea_input_f32 d = d_result();
    d.extents[3] = values - 1;
    CHECK(bound_causal_f32_gradient(&call, query(), key(), value(), d, d_query(), d_key(), d_value(), not_given,
                                    not_given, not_given)
          == FOVEA_SHAPE_ERROR);
    CHECK(strcmp(message,
                 "the gradient of the result is (2, 2, 5, 2) and must be (2, 2, 5, 3), "
                 "(batch, head, position, feature)")
          == 0);
    d.data = NULL;
    CHECK(bound_causal_f32_gradient(&call, query(), key(), value(), d, d_query(), d_key(), d_value(), not_given,
                                    not_given, not_given)
          == FOVEA_SHAPE_ERROR);
    fovea_input_f32 x = key();
    x.extents[3] = features - 1;
    CHECK(bound_causal_f32_gradient(&call, query(), x, value(), d_result(), d_query(), d_key(), d_value(), not_given,
                                    not_given, not_given)
          == FOVEA_SHAPE_ERROR);
    CHECK(bound_stepped_f32_gradient(&call, query(), key(), value(), d_result(), d_query(), d_key(), d_value(), NULL, 4,
                                     d_table)
          == FOVEA_SHAPE_ERROR);
    CHECK(nothing_is_written());
}

/* Scratch memory and threads change nothing, bit by bit; so does the call by a table of kernels. */
static void ways_to_call(void) {
    static float expected[4][k_size];
    fovea_call call = how();
    fovea_workspace* const scratch = bound_workspace_create();
    call.workspace = scratch;
    forget();
    for (int threads = 1; threads < 5; ++threads) {
        call.threads = threads;
        CHECK(alibi_of(&call, d_key(), d_table) == FOVEA_OK);
        if (threads == 1) {
            memcpy(expected[0], d_q, sizeof d_q);
            memcpy(expected[1], d_k, sizeof d_k);
            memcpy(expected[2], d_v, sizeof d_v);
            memcpy(expected[3], d_table, heads * sizeof(float));
        }
        CHECK(memcmp(expected[0], d_q, sizeof d_q) == 0 && memcmp(expected[1], d_k, sizeof d_k) == 0);
        CHECK(memcmp(expected[2], d_v, sizeof d_v) == 0 && memcmp(expected[3], d_table, heads * sizeof(float)) == 0);
    }
    bound_workspace_destroy(scratch);

    size_t count = 0;
    fovea_kernel const* const all = bound_kernels(&count);
    for (size_t n = 0; n < count; ++n) {
        bool const has = strcmp(all[n].name, "causal") == 0 || strcmp(all[n].name, "alibi") == 0
                      || strcmp(all[n].name, "stepped") == 0 || strcmp(all[n].name, "neighbours") == 0;
        CHECK((all[n].gradient != NULL) == has);
        if (strcmp(all[n].name, "alibi") != 0) continue;
        CHECK(all[n].arguments[0].has_gradient == 1);
        float* const data[] = {q, k, v, d_r, d_q, d_k, d_v};
        int64_t const extents[7][2] = {{queries, features}, {keys, features}, {keys, values}, {queries, values},
                                       {queries, features}, {keys, features}, {keys, values}};
        fovea_array operands[7];
        for (int o = 0; o < 7; ++o) {
            fovea_output_f32 const dense = fovea_dense_output_f32(data[o], batch, heads, extents[o][0], extents[o][1]);
            operands[o].data = dense.data;
            memcpy(operands[o].extents, dense.extents, sizeof dense.extents);
            memcpy(operands[o].strides, dense.strides, sizeof dense.strides);
        }
        fovea_value of[2];
        of[0].pointer = table;
        of[1].pointer = d_table;
        forget();
        CHECK(all[n].gradient(NULL, operands, of) == FOVEA_OK);
        CHECK(memcmp(expected[0], d_q, sizeof d_q) == 0 && memcmp(expected[3], d_table, heads * sizeof(float)) == 0);
    }
}

int main(void) {
    fill();
    right_gradients();
    gradients_of_graphs();
    gradient_of_an_output();
    after_a_forward_call();
    one_array_for_all();
    not_asked();
    mistakes();
    ways_to_call();
    printf("%d checks, %d failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
