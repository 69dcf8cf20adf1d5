// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

using namespace fovea;
using namespace fovea::placeholders;

// case: features_outside_of_sum
// sentence: fovea: features(first, end) is the second argument of sum(), as in sum(q * k, features(0, 64))
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(compare(sum(q * k) * features(0, 64)) | softmax | weighted_sum, x, result);
#else
    reference::attend(compare(sum(q * k, features(0, 64))) | softmax | weighted_sum, x, result);
#endif
}

// case: features_inside_of_a_body
// sentence: fovea: features(first, end) is the second argument of sum(), as in sum(q * k, features(0, 64))
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(compare(sum(q * k * features(0, 64))) | softmax | weighted_sum, x, result);
#else
    reference::attend(compare(sum(q * k, features(0, 64))) | softmax | weighted_sum, x, result);
#endif
}

// case: range_of_one_number
// sentence: fovea: this word takes another number of arguments: its reference page says which
#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine = compare(sum(q * k, features(64)));
#else
[[maybe_unused]] auto const mine = compare(sum(q * k, features(0, 64)));
#endif

// case: range_of_reals
// sentence: fovea: this argument is an integer; a real number was given
#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine = compare(sum(q * k, features(0, 32.5)));
#else
[[maybe_unused]] auto const mine = compare(sum(q * k, features(0, 32)));
#endif

// case: range_of_expressions
// sentence: fovea: this argument is an integer; what was given does not convert to one
#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine = compare(sum(q * k, features(0, dim / 2)));
#else
[[maybe_unused]] auto const mine = compare(sum(q * k, features(0, 32)));
#endif

// case: sum_up_to_a_number
// sentence: fovea: the second argument of sum() is a range of features: sum(q * k, features(0, 64))
#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine = compare(sum(q * k, 64));
#else
[[maybe_unused]] auto const mine = compare(sum(q * k, features(0, 64)));
#endif

// case: range_of_tables
// sentence: fovea: features(first, end) chooses features of q and k, and this sum has neither
auto score_of(view<float const, 2> place) {
#ifdef FOVEA_BROKEN
    return compare(-sum(square(param(place)[q_idx] - param(place)[kv_idx]), features(0, 3)));
#else
    return compare(-sum(square(param(place)[q_idx] - param(place)[kv_idx])));
#endif
}

// case: state_over_a_range
// sentence: fovea: a running state keeps all features of the keys: its score has no range of features, and no table in
// place of q or k
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(compare(sum(q * k, features(0, 64))) | causal | unnormalized | running_state, x, result);
#else
    reference::attend(compare(sum(q * k)) | causal | unnormalized | running_state, x, result);
#endif
}

// case: distance_of_numbers
// sentence: fovea: squared_distance takes two expressions, such as q and k, and may take a range of features
#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine = compare(-squared_distance(q));
#else
[[maybe_unused]] auto const mine = compare(-squared_distance(q, k));
#endif
