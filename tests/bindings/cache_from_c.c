/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Caches as a program in C11 keeps them: what was appended is there, and a kernel over pages computes with it. */
#include "bound.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char message[256];
static fovea_call const how = {1, NULL, message, sizeof message};

static void must(fovea_status status) { CHECK(status == FOVEA_OK && message[0] == '\0'); }

static unsigned state = 1;
static int between(int least, int most) {
    state = state * 1664525u + 1013904223u;
    return least + (int)((state >> 8) % (unsigned)(most - least + 1));
}
static float real(void) { return (float)between(-1000, 1000) / 1000; }

enum { layers = 2, heads = 2, query_heads = 4, features = 64, values = 32 };
enum { pages = 16, slots = 4, most = 2 * pages * slots, prompt = 6, length = prompt + 1 };

static fovea_cache_sizes sizes_of(char const* key_type, char const* value_type) {
    fovea_cache_sizes const sizes = {layers, heads, features, values, pages, slots, key_type, value_type};
    return sizes;
}
static fovea_cache* cache_of(char const* key_type, char const* value_type) {
    fovea_cache_sizes const sizes = sizes_of(key_type, value_type);
    fovea_cache* cache = NULL;
    CHECK(bound_cache_create(&how, &sizes, NULL, &cache) == FOVEA_OK && cache != NULL);
    return cache;
}

/* Rows in memory that has those of each position side by side. */
static fovea_input_f32 rows(float const* from, int64_t count, int64_t each) {
    fovea_input_f32 const all = {from, {1, heads, count, each}, {0, each, heads * each, 1}};
    return all;
}

/* Some sequences of a cache, and beside it what each layer of them should hold, position after position. */
enum { sequences = 5 };
typedef struct layer_model {
    int length;
    bool there[most];
    float keys[most][heads * features], values[most][heads * values];
} layer_model;
typedef struct sequence_model {
    bool used;
    layer_model layers[layers];
} sequence_model;
static sequence_model expected[sequences];

static int shortest(int s) {
    int least = expected[s].layers[0].length;
    for (int layer = 1; layer < layers; ++layer)
        if (expected[s].layers[layer].length < least) least = expected[s].layers[layer].length;
    return least;
}

/* Whether each slot holds what it should, no position is missing, and pages of no sequence are free. */
static bool holds(fovea_cache* cache) {
    bool right = true;
    for (int layer = 0; layer < layers; ++layer) {
        bool owned[pages] = {false};
        int64_t free_pages = -1;
        int taken = 0;
        for (int64_t s = 0; s < sequences; ++s) {
            layer_model const* const own = &expected[s].layers[layer];
            fovea_cache_batch batch;
            fovea_status const status = bound_cache_batch(&how, cache, layer, &s, 1, &batch);
            if (!expected[s].used) {
                right &= status == FOVEA_SHAPE_ERROR && strstr(message, "there is no sequence") != NULL;
                continue;
            }
            right &= status == FOVEA_OK && batch.lengths[0] == own->length;
            int next = 0;
            for (int64_t at = 0; at < batch.pages * slots; ++at) {
                int const page = batch.page_table[at / slots];
                owned[page] = true;
                if (batch.positions[at] < 0) continue;
                while (next < own->length && !own->there[next]) ++next;
                right &= next < own->length && batch.positions[at] == next && at % slots == next % slots;
                for (int h = 0; right && h < heads; ++h) {
                    int64_t const row = (page * heads + h) * slots + at % slots;
                    right &= memcmp((float const*)batch.keys + row * features, own->keys[next] + h * features,
                                    features * sizeof(float))
                          == 0;
                    right &= memcmp((float const*)batch.values + row * values, own->values[next] + h * values,
                                    values * sizeof(float))
                          == 0;
                }
                ++next;
            }
            while (next < own->length && !own->there[next]) ++next;
            right &= next == own->length;
        }
        for (int page = 0; page < pages; ++page) taken += owned[page];
        right &= bound_cache_free_pages(&how, cache, layer, &free_pages) == FOVEA_OK && free_pages == pages - taken;
    }
    return right;
}

/* The number that a sequence gets next; -1 where the test has room for no more. */
static int next_number(void) {
    for (int s = 0; s < sequences; ++s)
        if (!expected[s].used) return s;
    return -1;
}
static bool add(fovea_cache* cache) {
    int const s = next_number();
    int64_t number = -1;
    if (s < 0) return true;
    memset(&expected[s], 0, sizeof expected[s]);
    expected[s].used = true;
    return bound_cache_add(&how, cache, &number) == FOVEA_OK && number == s;
}
static bool fork_of(fovea_cache* cache, int of, bool used) {
    int const s = next_number();
    int64_t number = -1;
    if (s < 0) return true;
    fovea_status const status = bound_cache_fork(&how, cache, of, &number);
    if (!used) return status == FOVEA_SHAPE_ERROR && number == -1;
    expected[s] = expected[of];
    return status == FOVEA_OK && number == s;
}

static bool append(fovea_cache* cache, int s, bool used) {
    static float keys[most][heads * features], added[most][heads * values];
    int const layer = between(0, layers - 1), count = between(0, 9);
    if (used && expected[s].layers[layer].length + count > most) return true;
    for (int n = 0; n < count; ++n) {
        for (int i = 0; i < heads * features; ++i) keys[n][i] = real();
        for (int i = 0; i < heads * values; ++i) added[n][i] = real();
    }
    int64_t free_pages = 0;
    bound_cache_free_pages(&how, cache, layer, &free_pages);
    fovea_status const status =
        bound_cache_append(&how, cache, layer, s, rows(keys[0], count, features), rows(added[0], count, values), NULL);
    if (!used) return status == FOVEA_SHAPE_ERROR;
    if (status != FOVEA_OK) return status == FOVEA_SHAPE_ERROR && free_pages < count / slots + 2;
    layer_model* const own = &expected[s].layers[layer];
    for (int n = 0; n < count; ++n, ++own->length) {
        own->there[own->length] = true;
        memcpy(own->keys[own->length], keys[n], sizeof keys[n]);
        memcpy(own->values[own->length], added[n], sizeof added[n]);
    }
    return true;
}

/* Positions first to last - 1 of all layers, of the length that all of them have. */
static bool evict(fovea_cache* cache, int s, int first, int last) {
    fovea_status const status = bound_cache_evict(&how, cache, s, first, last);
    if (!expected[s].used || first < 0 || last > shortest(s)) return status == FOVEA_SHAPE_ERROR;
    for (int layer = 0; layer < layers; ++layer)
        for (int n = first; n < last; ++n) expected[s].layers[layer].there[n] = false;
    return status == FOVEA_OK;
}
static bool truncate_to(fovea_cache* cache, int s, int count) {
    fovea_status const status = bound_cache_truncate(&how, cache, s, count);
    if (!expected[s].used || count < 0 || count > shortest(s)) return status == FOVEA_SHAPE_ERROR;
    for (int layer = 0; layer < layers; ++layer) expected[s].layers[layer].length = count;
    return status == FOVEA_OK;
}
static bool give_back(fovea_cache* cache, int s) {
    fovea_status const status = bound_cache_remove(&how, cache, s);
    if (!expected[s].used) return status == FOVEA_SHAPE_ERROR;
    expected[s].used = false;
    return status == FOVEA_OK;
}

/* One step drawn at random, many of them wrong: refused where it has to be. */
static bool step(fovea_cache* cache) {
    int const s = between(0, sequences - 1), what = between(0, 11);
    bool const used = expected[s].used;
    int const end = used ? shortest(s) : 0, first = between(-1, end + 1), last = between(-1, end + 1);
    if (what == 0) return add(cache);
    if (what == 1) return fork_of(cache, s, used);
    if (what == 2) return give_back(cache, s);
    if (what == 3) return truncate_to(cache, s, first);
    if (what <= 5) return evict(cache, s, first, last);
    return append(cache, s, used);
}

static void random_steps(void) {
    for (int round = 0; round < 4; ++round) {
        fovea_cache* const cache = cache_of("f32", "f32");
        memset(expected, 0, sizeof expected);
        for (int n = 0; n < 400; ++n) {
            CHECK(step(cache));
            CHECK(holds(cache));
        }
        bound_cache_destroy(cache);
    }
}

/* Elements of each type are those that rows are rounded to. */
static void types(void) {
    char const* const names[] = {"f32", "bf16", "f16", "fp8_e4m3", "fp8_e5m2", "q8_0", "q4_0", "q4_1"};
    int64_t const bytes[] = {4, 2, 2, 1, 1, 34, 18, 20}, numbers[] = {1, 1, 1, 1, 1, 32, 32, 32};
    float keys[slots + 2][heads * features], added[slots + 2][heads * values];
    for (int n = 0; n < slots + 2; ++n) {
        for (int i = 0; i < heads * features; ++i) keys[n][i] = real();
        for (int i = 0; i < heads * values; ++i) added[n][i] = real();
    }
    for (int type = 0; type < 8; ++type) {
        int const other = (type + 3) % 8;
        fovea_cache* const cache = cache_of(names[type], names[other]);
        int64_t s;
        fovea_cache_batch batch;
        CHECK(bound_cache_add(&how, cache, &s) == FOVEA_OK);
        CHECK(bound_cache_append(&how, cache, 1, s, rows(keys[0], slots + 2, features),
                                 rows(added[0], slots + 2, values), NULL)
              == FOVEA_OK);
        CHECK(bound_cache_batch(&how, cache, 1, &s, 1, &batch) == FOVEA_OK && batch.pages == 2);
        for (int n = 0; n < slots + 2; ++n)
            for (int h = 0; h < heads; ++h) {
                int64_t const row = (batch.page_table[n / slots] * heads + h) * slots + n % slots,
                              of_key = features / numbers[type] * bytes[type],
                              of_value = values / numbers[other] * bytes[other];
                unsigned char key[features * 4], value[values * 4];
                memcpy(key, keys[n] + h * features, (size_t)of_key); /* what it is where nothing is rounded */
                memcpy(value, added[n] + h * values, (size_t)of_value);
                if (type > 0) bound_quantize(&how, names[type], keys[n] + h * features, features, key);
                if (other > 0) bound_quantize(&how, names[other], added[n] + h * values, values, value);
                CHECK(memcmp((char const*)batch.keys + row * of_key, key, (size_t)of_key) == 0);
                CHECK(memcmp((char const*)batch.values + row * of_value, value, (size_t)of_value) == 0);
            }
        bound_cache_destroy(cache);
    }
}

/* Two sequences that begin alike, in each layer: their results are those of plain loops over rows that nothing shares.
 */
static float keys_of[layers][2][length][heads * features], values_of[layers][2][length][heads * values];
static float queries[2 * query_heads * features], results[2 * query_heads * values];

static double greatest_difference(int layer) {
    double worst = 0;
    for (int b = 0; b < 2; ++b)
        for (int h = 0; h < query_heads; ++h) {
            int const shared = h / (query_heads / heads);
            double weights[length], sum = 0;
            for (int n = 0; n < length; ++n) {
                double product = 0;
                for (int c = 0; c < features; ++c)
                    product += (double)queries[(b * query_heads + h) * features + c]
                             * (double)keys_of[layer][b][n][shared * features + c];
                sum += weights[n] = exp(product / sqrt(features));
            }
            for (int c = 0; c < values; ++c) {
                double off = -(double)results[(b * query_heads + h) * values + c];
                for (int n = 0; n < length; ++n)
                    off += weights[n] / sum * (double)values_of[layer][b][n][shared * values + c];
                worst = fmax(worst, fabs(off));
            }
        }
    return worst;
}

static fovea_input_f32 keys_at(int layer, int64_t b, int first, int count) {
    return rows(keys_of[layer][b][first], count, features);
}
static fovea_input_f32 values_at(int layer, int64_t b, int first, int count) {
    return rows(values_of[layer][b][first], count, values);
}

static void decoding(void) {
    for (int i = 0; i < 2 * query_heads * features; ++i) queries[i] = real();
    for (int layer = 0; layer < layers; ++layer)
        for (int b = 0; b < 2; ++b)
            for (int n = 0; n < length; ++n) {
                for (int i = 0; i < heads * features; ++i) keys_of[layer][b][n][i] = real();
                for (int i = 0; i < heads * values; ++i) values_of[layer][b][n][i] = real();
            }
    for (int layer = 0; layer < layers; ++layer) {
        memcpy(keys_of[layer][1], keys_of[layer][0], prompt * sizeof keys_of[0][0][0]);
        memcpy(values_of[layer][1], values_of[layer][0], prompt * sizeof values_of[0][0][0]);
    }
    fovea_input_f32 const query = fovea_dense_input_f32(queries, 2, query_heads, 1, features);
    fovea_output_f32 const result = fovea_dense_output_f32(results, 2, query_heads, 1, values);
    //! [prompt]
    fovea_cache_sizes const sizes = {.layers = layers,
                                     .heads = heads,
                                     .key_features = features,
                                     .value_features = values,
                                     .pages = 16,
                                     .page_size = 4,
                                     .key_type = "f32",
                                     .value_type = "f32"};
    fovea_cache* cache = NULL;
    must(bound_cache_create(&how, &sizes, NULL, &cache));
    int64_t both[2];
    must(bound_cache_add(&how, cache, &both[0]));
    for (int layer = 0; layer < layers; ++layer)
        must(bound_cache_append(&how, cache, layer, both[0], keys_at(layer, 0, 0, prompt),
                                values_at(layer, 0, 0, prompt), NULL));
    must(bound_cache_fork(&how, cache, both[0], &both[1]));  // the pages of the prompt are shared
    //! [prompt]
    for (int layer = 0; layer < layers; ++layer) {
        //! [step]
        for (int b = 0; b < 2; ++b)
            must(bound_cache_append(&how, cache, layer, both[b], keys_at(layer, b, prompt, 1),
                                    values_at(layer, b, prompt, 1), NULL));
        fovea_cache_batch batch;
        must(bound_cache_batch(&how, cache, layer, both, 2, &batch));
        int32_t const lengths[] = {(int32_t)batch.lengths[0], (int32_t)batch.lengths[1]};
        must(bound_decode_f32(&how, query,
                              fovea_dense_input_f32(batch.keys, sizes.pages, heads, sizes.page_size, features),
                              fovea_dense_input_f32(batch.values, sizes.pages, heads, sizes.page_size, values), result,
                              lengths, batch.page_table, batch.pages));
        //! [step]
        CHECK(greatest_difference(layer) < 1e-5);
        int64_t free_pages = 0, positions = 0;
        must(bound_cache_free_pages(&how, cache, layer, &free_pages));
        CHECK(free_pages == 13); /* of two pages one is shared */
        must(bound_cache_length(&how, cache, layer, both[1], &positions));
        CHECK(positions == length);
    }
    bound_cache_destroy(cache);
}

static bool refused(fovea_status status, char const* sentence) {
    return status != FOVEA_OK && strstr(message, sentence) != NULL;
}

/* Keys are rotated at the positions that they get, or at those that are said, as the formula of rotary has it; a fork
   that is appended to leaves the other sequence as it was. */
static void check_rotated(fovea_rotary const* how_rotated, int turned, double base, double stretch) {
    int64_t const positions[] = {7, 7, 3};
    fovea_cache* const cache = cache_of("f32", "f32");
    int64_t first, second;
    must(bound_cache_add(&how, cache, &first));
    must(bound_cache_append(&how, cache, 1, first, keys_at(0, 0, 0, slots + 1), values_at(0, 0, 0, slots + 1),
                            how_rotated));
    must(bound_cache_fork(&how, cache, first, &second));
    fovea_rotary there = *how_rotated;
    there.positions = positions;
    must(bound_cache_append(&how, cache, 1, second, keys_at(1, 1, 0, 3), values_at(1, 1, 0, 3), &there));
    must(bound_cache_append(&how, cache, 1, first, keys_at(0, 0, slots + 1, 1), values_at(0, 0, slots + 1, 1),
                            how_rotated));
    for (int b = 0; b < 2; ++b) {
        fovea_cache_batch batch;
        must(bound_cache_batch(&how, cache, 1, b == 0 ? &first : &second, 1, &batch));
        for (int n = 0; n < slots + (b == 0 ? 2 : 4); ++n)
            for (int i = 0; i < heads * features; ++i) {
                bool const is_new = b == 1 && n > slots;
                float const* const row =
                    (is_new ? keys_of[1][1][n - slots - 1] : keys_of[0][0][n]) + i / features * features;
                int const c = i % features, half = turned / 2;
                int const pair = how_rotated->interleaved ? c / 2 : c % half;
                bool const is_second = how_rotated->interleaved ? c % 2 == 1 : c >= half;
                int const other = how_rotated->interleaved ? c ^ 1 : is_second ? c - half : c + half;
                double const p = (double)(is_new ? positions[n - slots - 1] : n) / stretch;
                double const frequency = how_rotated->frequencies != NULL ? (double)how_rotated->frequencies[pair]
                                                                          : pow(base, -2.0 * pair / turned);
                double const angle = p * frequency, sign = is_second ? 1 : -1;
                double const wanted =
                    c >= turned ? (double)row[c] : (double)row[c] * cos(angle) + sign * (double)row[other] * sin(angle);
                int64_t const at = (batch.page_table[n / slots] * heads + i / features) * slots + n % slots;
                CHECK(fabs((double)((float const*)batch.keys)[at * features + c] - wanted) < 1e-6);
            }
        for (int n = 0; n < slots + 2; ++n)
            for (int i = 0; i < heads * values; ++i) {
                float const* const own = b == 1 && n > slots ? values_of[1][1][n - slots - 1] : values_of[0][0][n];
                int64_t const at = (batch.page_table[n / slots] * heads + i / values) * slots + n % slots;
                CHECK(((float const*)batch.values)[at * values + i % values] == own[i]);
            }
    }
    bound_cache_destroy(cache);
}
static void rotation(void) {
    float frequencies[3] = {0.5f, -2, 0};
    fovea_rotary how_rotated = {0};
    check_rotated(&how_rotated, features, 10000, 1);
    how_rotated.interleaved = 1;
    how_rotated.features = 40;
    how_rotated.base = 500;
    how_rotated.interpolated = 4;
    check_rotated(&how_rotated, 40, 500, 4);
    how_rotated.ntk_scaled = 8;
    check_rotated(&how_rotated, 40, 500 * pow(8, 40.0 / 38), 4);
    how_rotated = (fovea_rotary){.features = 6, .frequencies = frequencies};
    check_rotated(&how_rotated, 6, 0, 1);

    fovea_cache* const cache = cache_of("q8_0", "f16");
    int64_t s, length_now = -1;
    must(bound_cache_add(&how, cache, &s));
    struct {
        fovea_rotary what;
        char const* sentence;
    } const wrong[] = {{{.features = 5}, "rotary on keys: 5 features cannot be rotated in pairs, a head has 64"},
                       {{.features = 66}, "rotary on keys: 66 features cannot be rotated"},
                       {{.features = -2, .frequencies = frequencies}, "rotary on keys: -2 features cannot be rotated"},
                       {{.features = INT64_MIN, .frequencies = frequencies}, "features cannot be rotated in pairs"},
                       {{.base = -1}, "rotary: a base or factor is -1, it must be above 0"},
                       {{.interpolated = (double)NAN}, "rotary: a base or factor"},
                       {{.ntk_scaled = -0.5}, "rotary: a base or factor is -0.5"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        CHECK(refused(bound_cache_append(&how, cache, 0, s, keys_at(0, 0, 0, 2), values_at(0, 0, 0, 2), &wrong[i].what),
                      wrong[i].sentence));
    must(bound_cache_length(&how, cache, 0, s, &length_now));
    CHECK(length_now == 0);
    how_rotated = (fovea_rotary){0};
    must(bound_cache_append(&how, cache, 0, s, keys_at(0, 0, 0, 0), values_at(0, 0, 0, 0), &how_rotated));
    bound_cache_destroy(cache);
}

/* A cache in memory of the caller's writes there alone, and where the pages are. */
static void given_memory(void) {
    fovea_cache_sizes sizes = sizes_of("f32", "q4_0");
    int64_t of_keys = 0, of_values = 0;
    must(bound_cache_bytes(&how, &sizes, &of_keys, &of_values));
    CHECK(of_keys == pages * heads * slots * features * 4);
    CHECK(of_values == pages * heads * slots * values / 32 * 18);
    enum { guard = 64 };
    int64_t const both = of_keys + of_values, all = layers * both + 2 * guard;
    unsigned char* const memory = malloc((size_t)all);
    CHECK(memory != NULL);
    if (memory == NULL) return;
    memset(memory, 0xff, (size_t)all); /* NaN */
    fovea_cache_memory given[layers];
    for (int layer = 0; layer < layers; ++layer)
        given[layer] = (fovea_cache_memory){memory + guard + layer * both, memory + guard + layer * both + of_keys,
                                            of_keys, of_values};
    fovea_cache* cache = NULL;
    must(bound_cache_create(&how, &sizes, given, &cache));
    int64_t s;
    must(bound_cache_add(&how, cache, &s));
    must(bound_cache_append(&how, cache, 1, s, keys_at(1, 0, 0, length), values_at(1, 0, 0, length), NULL));
    fovea_cache_batch batch;
    must(bound_cache_batch(&how, cache, 1, &s, 1, &batch));
    CHECK(batch.keys == given[1].keys && batch.values == given[1].values);
    for (int n = 0; n < length; ++n) {
        int64_t const at = batch.page_table[n / slots] * heads * slots + n % slots;
        float const* const row = (float const*)given[1].keys + at * features;
        CHECK(memcmp(row, keys_of[1][0][n], features * sizeof(float)) == 0);
    }
    int64_t untouched = 0;
    for (int64_t i = 0; i < all; ++i) untouched += memory[i] == 0xff && (i < guard + both || i >= all - guard);
    CHECK(untouched == both + 2 * guard);
    bound_cache_destroy(cache);

    cache = NULL;
    given[1].key_bytes = of_keys - 1;
    CHECK(refused(bound_cache_create(&how, &sizes, given, &cache),
                  "kv_cache: the memory of keys of layer 1 has 32767 bytes, and the pages need 32768"));
    given[1].key_bytes = -1;
    CHECK(refused(bound_cache_create(&how, &sizes, given, &cache), "the memory of keys of layer 1 has -1 bytes"));
    given[1].key_bytes = INT64_MAX; /* of which the pages take what they need */
    must(bound_cache_create(&how, &sizes, given, &cache));
    bound_cache_destroy(cache);
    cache = NULL;
    given[0].values = NULL;
    CHECK(refused(bound_cache_create(&how, &sizes, given, &cache), "the memory of values of layer 0 is null, and the"));
    given[0].values = (char*)given[1].keys - of_values + 2;
    CHECK(refused(bound_cache_create(&how, &sizes, given, &cache),
                  "the memory of values of layer 0 overlaps that of keys of layer 1"));
    given[0].values = (char*)given[1].values + 2;
    CHECK(refused(bound_cache_create(&how, &sizes, given, &cache),
                  "the memory of values of layer 1 overlaps that of values of layer 0"));
    given[0].values = memory + guard + of_keys;
    given[0].keys = memory + guard - 2;
    CHECK(refused(bound_cache_create(&how, &sizes, given, &cache),
                  "the memory of keys of layer 0 must be aligned to 4 bytes"));
    given[0].keys = memory + guard;
    sizes.value_type = "q5_0";
    CHECK(refused(bound_cache_create(&how, &sizes, given, &cache), "value_type is 'q5_0'"));
    CHECK(refused(bound_cache_bytes(&how, &sizes, &of_keys, &of_values), "value_type is 'q5_0'"));
    sizes.value_type = "f32";
    CHECK(refused(bound_cache_bytes(&how, &sizes, NULL, &of_values), "key_bytes is null"));
    of_keys = -5;
    CHECK(refused(bound_cache_bytes(&how, &sizes, &of_keys, NULL), "value_bytes is null") && of_keys == -5);
    CHECK(refused(bound_cache_bytes(&how, NULL, &of_keys, &of_values), "sizes is null"));
    sizes.layers = 0;
    CHECK(refused(bound_cache_create(&how, &sizes, given, &cache), "layers is 0"));
    CHECK(cache == NULL);
    sizes = (fovea_cache_sizes){1, 1, 1, 1, 0, 1, "f32", "f32"}; /* no page takes no memory */
    given[0] = (fovea_cache_memory){NULL, NULL, 0, 0};
    must(bound_cache_create(&how, &sizes, given, &cache));
    bound_cache_destroy(cache);
    free(memory);
}

static void mistakes(void) {
    fovea_cache* cache = NULL;
    int64_t const huge = INT64_MAX;
    fovea_cache_sizes sizes = sizes_of("f64", "f32");
    CHECK(refused(bound_cache_create(&how, &sizes, NULL, &cache), "key_type is 'f64', it must be one of f32, bf16"));
    sizes = sizes_of("f32", NULL);
    CHECK(refused(bound_cache_create(&how, &sizes, NULL, &cache), "value_type is '', it must be one of f32, bf16"));
    sizes = sizes_of("q8_0", "q8_0");
    sizes.value_features = 40;
    CHECK(refused(bound_cache_create(&how, &sizes, NULL, &cache), "features are whole blocks"));
    sizes = sizes_of("f32", "f32");
    for (int layer = 0; layer < 3; ++layer) {
        sizes.layers = layer == 2 ? huge : -layer;
        CHECK(refused(bound_cache_create(&how, &sizes, NULL, &cache), "it must be from 1 to 2147483647"));
    }
    sizes = sizes_of("f32", "f32");
    sizes.page_size = huge;
    CHECK(refused(bound_cache_create(&how, &sizes, NULL, &cache), "are more than can be counted"));
    CHECK(refused(bound_cache_create(&how, NULL, NULL, &cache), "sizes is null, it must be an address"));
    CHECK(cache == NULL);
    CHECK(refused(bound_cache_create(&how, &sizes, NULL, NULL), "cache is null, it must be an address"));
    CHECK(refused(bound_cache_remove(&how, NULL, 0), "cache is null, it must be an address"));
    bound_cache_destroy(NULL);

    cache = cache_of("f32", "f32");
    int64_t s = -1;
    CHECK(refused(bound_cache_add(&how, cache, NULL), "sequence is null"));
    must(bound_cache_add(&how, cache, &s));
    CHECK(s == 0); /* what was refused has begun none */
    CHECK(refused(bound_cache_fork(&how, cache, s, NULL), "forked is null"));
    CHECK(refused(bound_cache_append(&how, cache, layers, s, keys_at(0, 0, 0, 1), values_at(0, 0, 0, 1), NULL),
                  "layer is 2, it must be from 0 to 1"));
    CHECK(refused(bound_cache_append(&how, cache, 0, s, keys_at(0, 0, 0, 2), values_at(0, 0, 0, 1), NULL),
                  "keys are (1, 2, 2, 64) and values (1, 2, 1, 32), and must be"));
    fovea_input_f32 wrong = keys_at(0, 0, 0, 1);
    wrong.data = NULL;
    CHECK(refused(bound_cache_append(&how, cache, 0, s, wrong, values_at(0, 0, 0, 1), NULL),
                  "keys is (1, 2, 1, 64) and its data"));
    wrong = values_at(0, 0, 0, 1);
    wrong.strides[3] = 2;
    CHECK(refused(bound_cache_append(&how, cache, 0, s, keys_at(0, 0, 0, 1), wrong, NULL),
                  "the last axis must be contiguous"));
    wrong.strides[3] = 1;
    wrong.strides[1] = huge;
    CHECK(refused(bound_cache_append(&how, cache, 0, s, keys_at(0, 0, 0, 1), wrong, NULL),
                  "values is (1, 2, 1, 32) with strides"));
    wrong = keys_at(0, 0, 0, -1);
    CHECK(refused(bound_cache_append(&how, cache, 0, s, wrong, rows(values_of[0][0][0], -1, values), NULL),
                  "it must be 0 or more"));
    for (int layer = 0; layer < layers; ++layer)
        CHECK(bound_cache_length(&how, cache, layer, s, &s) == FOVEA_OK && s == 0);
    CHECK(refused(bound_cache_length(&how, cache, 0, 1, &s), "there is no sequence 1"));
    CHECK(refused(bound_cache_free_pages(&how, cache, -1, &s), "layer is -1, it must be from 0 to 1"));

    fovea_cache_batch batch;
    CHECK(refused(bound_cache_batch(&how, cache, 0, NULL, 1, &batch), "sequences is null"));
    CHECK(refused(bound_cache_batch(&how, cache, 0, &s, -1, &batch), "count is -1, it must be 0 or more"));
    CHECK(refused(bound_cache_batch(&how, cache, 0, &s, 1, NULL), "batch is null"));
    must(bound_cache_batch(&how, cache, 0, NULL, 0, &batch));
    CHECK(batch.pages == 0);
    must(bound_cache_batch(&how, cache, 0, &s, 1, &batch)); /* of a sequence without positions */
    CHECK(batch.pages == 0 && batch.lengths[0] == 0);
    bound_cache_destroy(cache);

    fovea_cache_sizes const small = {1, 1, 1, 1, 4, 4, "f32", "f32"};
    must(bound_cache_create(&how, &small, NULL, &cache));
    must(bound_cache_add(&how, cache, &s));
    float const x = 1;
    fovea_input_f32 row = {&x, {1, 1, 3, 1}, {0, 0, 0, 1}};
    must(bound_cache_append(&how, cache, 0, s, row, row, NULL));
    row.extents[2] = huge; /* a row as often as can be counted */
    CHECK(refused(bound_cache_append(&how, cache, 0, s, row, row, NULL), "pages, and 3 are free"));
    row.extents[2] = 13;
    must(bound_cache_append(&how, cache, 0, s, row, row, NULL));
    bound_cache_destroy(cache);

    fovea_cache_sizes const none = {1, 1, 1, 1, 0, huge, "f32", "f32"}; /* no page of the longest that can be */
    must(bound_cache_create(&how, &none, NULL, &cache));
    must(bound_cache_add(&how, cache, &s));
    CHECK(refused(bound_cache_append(&how, cache, 0, s, row, row, NULL), "need 1 page, and 0 are free"));
    row.extents[2] = 0;
    must(bound_cache_append(&how, cache, 0, s, row, row, NULL));
    must(bound_cache_batch(&how, cache, 0, &s, 1, &batch));
    bound_cache_destroy(cache);
}

int main(void) {
    random_steps();
    types();
    decoding();
    rotation();
    given_memory();
    mistakes();
    printf("%d checks, %d failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
