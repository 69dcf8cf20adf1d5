// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

using namespace fovea;
using namespace fovea::placeholders;

// case: bits_of_an_index
// sentence: fovea: there are no bitwise operators: combine conditions and masks by &&, || and !
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | where((kv_idx & 1) == 0) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | where(kv_idx % 2 == 0) | softmax | weighted_sum, x, result);
#endif
}

// case: compare_of_a_function
// sentence: fovea: compare takes an expression of q and k, such as sum(q * k)
#ifdef FOVEA_BROKEN
auto made = compare([](auto a, auto b) { return sum(a * b); });
#else
auto made = compare(sum(q * k));
#endif

// case: compare_of_a_score
// sentence: fovea: compare makes the score and cannot use it: for a change of it, use rescore
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(compare(tanh(score)) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(tanh(score)) | softmax | weighted_sum, x, result);
#endif
}

// case: feature_map_of_keys
// sentence: fovea: the first map of feature_map is an expression of q
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(feature_map(relu(k), relu(k)) | causal | unnormalized | running_state, x, result);
#else
    reference::attend(feature_map(relu(q), relu(k)) | causal | unnormalized | running_state, x, result);
#endif
}

// case: feature_map_without_k
// sentence: fovea: the second map of feature_map is an expression of k
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(feature_map(elu(q) + 1, elu(q) + 1) | softmax | weighted_sum, x, result);
#else
    reference::attend(feature_map(elu(q) + 1, elu(k) + 1) | softmax | weighted_sum, x, result);
#endif
}

// case: features_outside_sum
// sentence: fovea: q and k have features: in a score they stand inside sum()
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(compare(q * k) | softmax | weighted_sum, x, result);
#else
    reference::attend(compare(sum(q * k)) | softmax | weighted_sum, x, result);
#endif
}

// case: index_of_a_feature
// sentence: fovea: the index of a table is the same for all features: it cannot use q or k
void call(view<float, 2> x, view<float, 2> result, view<float const, 1> table) {
    auto const read = param(table);
#ifdef FOVEA_BROKEN
    attend(compare(sum(q * k * read[select(k > 0.f, 1, 0)])) | softmax | weighted_sum, x, result);
#else
    attend(compare(sum(q * k * select(k > 0.f, read[1], read[0]))) | softmax | weighted_sum, x, result);
#endif
}

// case: map_of_a_number
// sentence: fovea: map takes an expression of out, such as elu(out)
#ifdef FOVEA_BROKEN
auto made = map(2.f);
#else
auto made = map(2.f * out);
#endif

// case: map_of_a_position
// sentence: fovea: map may use out, batch, q_idx, q_len and tables only
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum | map(out * kv_idx), x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum | map(out * q_idx), x, result);
#endif
}

// case: map_without_out
// sentence: fovea: map needs an expression of out, such as map(elu(out))
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum | map(elu(score)), x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum | map(elu(out)), x, result);
#endif
}

// case: mask_of_a_number
// sentence: fovea: where needs a condition, such as kv_idx <= q_idx; this is a number
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | where(q_idx - kv_idx) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | where(q_idx - kv_idx >= 0) | softmax | weighted_sum, x, result);
#endif
}

// case: mask_of_a_score
// sentence: fovea: a mask may use indices and tables only; it uses score. For a threshold on scores, use rescore
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | where(score > 0) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(select(score > 0, score, -1e30f)) | softmax | weighted_sum, x, result);
#endif
}

// case: mask_of_features
// sentence: fovea: a mask may use indices and tables only; it uses features of query or key
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | where(sum(q * k) > 0) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | where(q_idx > kv_idx) | softmax | weighted_sum, x, result);
#endif
}

// case: out_in_a_score
// sentence: fovea: a score may not use weight or out: use reweight for weights, map for the result
void call(view<float const, 3> x, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | rescore(score + out) | softmax | weighted_sum, x, y);
#else
    attend(dot | rescore(score + 1) | softmax | weighted_sum, x, y);
#endif
}

// case: rescore_of_no_score
// sentence: fovea: rescore needs an expression of score; to make a score, use compare
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(kv_idx - q_idx) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(score + kv_idx - q_idx) | softmax | weighted_sum, x, result);
#endif
}

// case: reweight_of_a_number
// sentence: fovea: reweight takes an expression of weight, such as weight * param(gate)[head]
#ifdef FOVEA_BROKEN
auto made = reweight(0.5f);
#else
auto made = reweight(weight * 0.5f);
#endif

// case: reweight_of_a_score
// sentence: fovea: reweight may use weight, indices and tables only
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | reweight(weight * score) | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(tanh(score)) | softmax | reweight(weight / (1 + kv_idx)) | weighted_sum, x,
                      result);
#endif
}

// case: reweight_of_no_weight
// sentence: fovea: reweight needs an expression of weight, such as weight * param(gate)[head]
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | reweight(1 / (1 + kv_idx)) | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | reweight(weight / (1 + kv_idx)) | weighted_sum, x, result);
#endif
}

// case: sum_in_a_mask
// sentence: fovea: a mask may use indices and tables only; it uses features of query or key
void call(view<float const, 3> x, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | where(sum(q_idx) < 3) | softmax | weighted_sum, x, y);
#else
    attend(dot | where(q_idx < 3) | softmax | weighted_sum, x, y);
#endif
}

// case: sum_in_a_sum
// sentence: fovea: sum() adds over the features of q and k: it contains no other sum, and no score
#ifdef FOVEA_BROKEN
[[maybe_unused]] constexpr auto mine = compare(sum(q * sum(k)));
#else
[[maybe_unused]] constexpr auto mine = compare(sum(q) * sum(k));
#endif

// case: two_free_axes
// sentence: fovea: a table has at most one axis without an index, the one of the features
void call(view<float, 2> x, view<float, 2> result, view<float, 2> table) {
#ifdef FOVEA_BROKEN
    reference::attend(compare(sum(param(table) * q * k)) | softmax | weighted_sum, x, result);
#else
    reference::attend(compare(sum(param(table)[head] * q * k)) | softmax | weighted_sum, x, result);
#endif
}

// case: weigh_by_an_index
// sentence: fovea: weigh needs an expression of score, which may also use head, batch, q_idx and lengths: what depends
// on the key, put into a rescore before it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | weigh(exp(score - kv_idx)) | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(score - kv_idx) | weigh(exp(score)) | weighted_sum, x, result);
#endif
}

// case: weigh_of_a_function
// sentence: fovea: weigh takes an expression of score, such as sigmoid(score)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | weigh([](auto s) { return sigmoid(s); }) | weighted_sum, x, result);
#else
    attend(scaled_dot | weigh(sigmoid(score)) | weighted_sum, x, result);
#endif
}

// case: weight_in_a_score
// sentence: fovea: a score may not use weight or out: use reweight for weights, map for the result
void call(view<float const, 3> x, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(compare(sum(q * k) * weight) | softmax | weighted_sum, x, y);
#else
    attend(compare(sum(q * k) * 2) | softmax | weighted_sum, x, y);
#endif
}
