// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include <vector>

using namespace fovea;

// case: offsets_in_a_table
// sentence: fovea: the offsets of ragged are one list of integers
auto sequences_of(view<int const, 2> table, view<int const, 1> offsets) {
#ifdef FOVEA_BROKEN
    static_cast<void>(offsets);
    return ragged(table);
#else
    static_cast<void>(table);
    return ragged(offsets);
#endif
}

// case: offsets_of_two_types
// sentence: fovea: the offsets of ragged are integers of one type
void call(view<float, 2> x, view<float, 2> result, std::vector<index_t> const& offsets,
          std::vector<int> const& short_offsets) {
#ifdef FOVEA_BROKEN
    reference::attend(ragged(offsets, short_offsets), scaled_dot | softmax | weighted_sum, x, x, x, result);
#else
    reference::attend(ragged(short_offsets), scaled_dot | softmax | weighted_sum, x, result);
    reference::attend(ragged(offsets), scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: ragged_with_a_list_of_keys
// sentence: fovea: a mask that lists keys cannot be used in a ragged call
void call(view<float, 2> x, view<float, 2> result, std::vector<index_t> const& offsets,
          [[maybe_unused]] graph_view graph) {
#ifdef FOVEA_BROKEN
    reference::attend(ragged(offsets), scaled_dot | neighbors(graph) | softmax | weighted_sum, x, result);
#else
    reference::attend(ragged(offsets), scaled_dot | causal | softmax | weighted_sum, x, result);
#endif
}

// case: ragged_with_weights
// sentence: fovea: beside the result, ragged has lse, save, past_state and present_state; ask for others by sequence
void call(view<float, 2> x, view<float, 2> result, std::vector<index_t> const& offsets) {
#ifdef FOVEA_BROKEN
    reference::attend(ragged(offsets), scaled_dot | softmax | weighted_sum, x, result, weights(x));
#else
    reference::attend(ragged(offsets), scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: states_of_a_ragged_batch
// sentence: fovea: states of a ragged batch are (sequence, head, feature, feature)
void call(view<float, 2> x, view<float, 2> result, std::vector<index_t> const& offsets, view<float, 2> state) {
    [[maybe_unused]] view<float, 4> const states(state.data, {2, 1, 4, 4});
#ifdef FOVEA_BROKEN
    reference::attend(ragged(offsets), dot | unnormalized | running_state, x, result, present_state(state));
#else
    reference::attend(ragged(offsets), dot | unnormalized | running_state, x, result, present_state(states));
#endif
}

// case: ragged_pages
// sentence: fovea: ragged keys and values lie one after another: pages, and sources of your own, are those of one
// sequence
void call(view<index_t const, 1> offsets, view<float, 2> x, view<float, 2> result, view<float const, 4> pages,
          view<std::int32_t const, 2> table) {
#ifdef FOVEA_BROKEN
    reference::attend(ragged(offsets), scaled_dot | softmax | weighted_sum, x, paged(pages, table), x, result);
#else
    static_cast<void>(pages);
    static_cast<void>(table);
    reference::attend(ragged(offsets), scaled_dot | softmax | weighted_sum, x, x, x, result);
#endif
}
