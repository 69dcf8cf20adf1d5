// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

using namespace fovea;

// case: document_of_a_volume
// sentence: fovea: the ids of documents are (position) or (batch, position)
void call(view<float const, 3> x, view<int const, 3> of_each_head, view<int const, 2> ids, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | document(of_each_head) | softmax | weighted_sum, x, y);
#else
    attend(dot | document(ids) | softmax | weighted_sum, x, y);
#endif
    static_cast<void>(of_each_head);
    static_cast<void>(ids);
}

// case: neighborhood_in_four_dimensions
// sentence: fovea: a neighborhood lies on a line, a plane or in a volume
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | neighborhood({3, 3, 3, 3}, {4, 4, 4, 4}) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | neighborhood({3, 3, 3}, {4, 4, 16}) | softmax | weighted_sum, x, result);
#endif
}

// case: rank_of_a_bias
// sentence: fovea: a table over pairs is (key), (query, key), (head, query, key) or (batch, head, query, key)
void call(view<float, 2> x, view<float, 2> result, view<float, 5> table) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | bias(table) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | bias(view<float, 4>(table.data, {1, 1, 4, 4})) | softmax | weighted_sum, x, result);
#endif
}

// case: rank_of_a_block_list
// sentence: fovea: a block list is (query block, key block) or (head, query block, key block)
void call(view<float, 2> x, view<float, 2> result, view<std::uint8_t, 1> seen) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | block_list(seen, 16, 16) | softmax | weighted_sum, x, result);
#else
    reference::attend(
        scaled_dot | block_list(view<std::uint8_t, 2>(seen.data, {1, seen.extent(0)}), 16, 16) | softmax | weighted_sum,
        x, result);
#endif
}

// case: rank_of_a_gate
// sentence: fovea: a gate or a rate is (head), (batch, head, position) or (batch, head, position, feature)
void call(view<float, 2> x, view<float, 2> result, view<float, 2> decays) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | causal | unnormalized | running_state | gated(decays), x, result);
#else
    reference::attend(scaled_dot | causal | unnormalized | running_state | gated(view<float, 1>(decays.data, {8})), x,
                      result);
#endif
}

// case: rank_of_a_state
// sentence: fovea: a state is (batch, head, feature of the key, feature of the value), with batch and head left out
// where they are one
void call(view<float, 2> x, view<float, 2> result, view<float, 1> state) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | unnormalized | running_state, x, result, present_state(state));
#else
    reference::attend(scaled_dot | unnormalized | running_state, x, result,
                      present_state(view<float, 2>(state.data, {8, 4})));
#endif
}

// case: rank_of_column_sums
// sentence: fovea: column_sums is (key), (head, key) or (batch, head, key)
void call(view<float, 2> x, view<float, 2> result, view<float, 4> sums) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, column_sums(sums));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result,
                      column_sums(view<float, 1>(sums.data, {x.extent(0)})));
#endif
}

// case: rank_of_lse
// sentence: fovea: an output of one number for each query is (query), (batch, query), (head, query) or (batch, head,
// query)
void call(view<float, 2> x, view<float, 2> result, view<float, 4> sums) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(sums));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(view<float, 1>(sums.data, {x.extent(0)})));
#endif
}

// case: rank_of_operands
// sentence: fovea: queries, keys, values and results are (position, feature), (batch, position, feature) or (batch,
// head, position, feature)
void call(view<float, 1> row, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, row, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, view<float, 2>(row.data, {1, row.extent(0)}), result);
#endif
}

// case: rank_of_weights
// sentence: fovea: an output of one number for each pair is (query, key), (batch, query, key), (head, query, key) or
// (batch, head, query, key)
void call(view<float, 2> x, view<float, 2> result, view<float, 1> row) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, weights(row));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result,
                      weights(view<float, 2>(row.data, {1, row.extent(0)})));
#endif
}

// case: sliding_tiles_on_a_line
// sentence: fovea: sliding tiles cover a plane or a volume
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | sliding_tiles({3}, {4}, {64}) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | sliding_tiles({3, 3}, {4, 4}, {16, 16}) | softmax | weighted_sum, x, result);
#endif
}
