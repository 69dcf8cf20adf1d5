// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include <cstdint>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

// case: element_of_a_view
// sentence: fovea: no number yet: write param(table)[i]
void call(view<float, 2> x, view<float, 2> result, view<float const, 1> slopes) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(score * slopes(head)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(score * param(slopes)(head)) | softmax | weighted_sum, x, result);
#endif
}

// case: index_of_a_container
// sentence: fovea: no number yet: write param(table)[i]
void call(view<float, 2> x, view<float, 2> result, std::vector<float> const& slopes) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(score * slopes[head]) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(score * param(slopes)[head]) | softmax | weighted_sum, x, result);
#endif
}

// case: mask_and_a_table
// sentence: fovea: a mask combines with masks and with conditions such as kv_idx < 5
void call(view<float, 2> x, view<bool const, 2> seen, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | (causal && seen) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | (causal && mask_tensor(seen)) | softmax | weighted_sum, x, result);
#endif
}

// case: rescore_of_a_table
// sentence: fovea: a table that is added to the score is a rescoring by bias(table)
tensor<float, 2> const distances({4, 4}, 1);

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine = rescore(distances);
#else
[[maybe_unused]] auto const mine = bias(distances);
#endif

// case: sum_of_a_matrix
// sentence: fovea: this is a table, not an expression: write param(table), or rename the variable q or k that hides the
// placeholder
auto score_of(view<float, 2> table) {
#ifdef FOVEA_BROKEN
    return compare(sum(table));
#else
    return compare(sum(param(table)[kv_idx] * q));
#endif
}

// case: table_called_with_too_many_indices
// sentence: fovea: this table has fewer axes than indices
void call(view<float, 2> x, view<float, 2> result, view<float const, 1> table) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(score + param(table)(head, kv_idx)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(score + param(table)(kv_idx)) | softmax | weighted_sum, x, result);
#endif
}

// case: table_of_too_many_indices
// sentence: fovea: this table has fewer axes than indices
void call(view<float, 2> x, view<float, 2> result, view<float const, 1> table) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(score + param(table)[q_idx][kv_idx]) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(score + param(table)[kv_idx]) | softmax | weighted_sum, x, result);
#endif
}

// case: table_without_index
// sentence: fovea: a table outside sum() needs an index for each of its axes
void call(view<float, 2> x, view<float, 2> result, view<float, 2> table) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(score + param(table)[head]) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(score + param(table)[head][kv_idx]) | softmax | weighted_sum, x, result);
#endif
}

// case: table_without_param
// sentence: fovea: this is a table, not an expression: write param(table), or rename the variable q or k that hides the
// placeholder
auto score_of(std::vector<float> const& v) {
#ifdef FOVEA_BROKEN
    return compare(sum(v * tanh(q + k)));
#else
    return compare(sum(param(v) * tanh(q + k)));
#endif
}

// case: weigh_by_a_table
// sentence: fovea: weigh needs an expression of score, which may also use head, batch, q_idx and lengths: what depends
// on the key, put into a rescore before it
void call(view<float const, 3> x, view<float const, 2> table, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | weigh(relu(score - param(table)(head, kv_idx))) | weighted_sum, x, y);
#else
    attend(dot | rescore(score - param(table)(head, kv_idx)) | weigh(relu(score)) | weighted_sum, x, y);
#endif
}

// case: averaged_of_a_table_by_scores
// sentence: fovea: weigh needs an expression of score, which may also use head, batch, q_idx and lengths: what depends
// on the key, put into a rescore before it
void call(view<float const, 3> x, view<float const, 1> table, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | averaged(score * param(table)[select(score > 0, 1, 0)]) | weighted_sum, x, y);
#else
    attend(dot | averaged(score * select(score > 0, param(table)[1], param(table)[0])) | weighted_sum, x, y);
#endif
}

// case: weigh_by_a_part_of_a_table
// sentence: fovea: a table outside sum() needs an index for each of its axes
void call(view<float const, 3> x, view<float const, 2> table, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | weigh(relu(score - param(table)[head])) | weighted_sum, x, y);
#else
    attend(dot | weigh(relu(score - param(table)[head][q_idx])) | weighted_sum, x, y);
#endif
}

// case: weigh_by_a_whole_quotient
// sentence: fovea: this integer quotient, which `/` rounds down, would become a real: write real(x) / y, or
// floor_div(x, y) if rounding is meant
void call(view<float const, 3> x, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | weigh(relu(score - head / 2)) | weighted_sum, x, y);
#else
    attend(dot | weigh(relu(score - floor_div(head, 2))) | weighted_sum, x, y);
#endif
}

// case: where_of_a_table
// sentence: fovea: a table of conditions is a mask by mask_tensor(table)
tensor<bool, 2> const visible({4, 4}, true);

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine = where(visible);
#else
[[maybe_unused]] auto const mine = mask_tensor(visible);
#endif

// case: bias_of_raw_bits
// sentence: fovea: std::uint16_t is an integer: where the 16 bits hold a float, cast the pointer:
// reinterpret_cast<bfloat16 const*>(data), or float16
void call(view<float, 2> x, view<float, 2> result, view<std::uint16_t const, 2> bits,
          view<std::uint16_t const, 1> ids) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | bias(bits) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | mask_tensor(bits) | document(ids) | softmax | weighted_sum, x, result);
#endif
}

// case: tensor_in_columns
// sentence: fovea: a view needs row-major storage: store it by rows, or pass m.transpose() where the transpose of a
// matrix is meant
/// As a tensor of Eigen, which is stored by columns unless it says otherwise.
template <int Order>
struct tensor_of_three {
    static constexpr int NumIndices = 3, Layout = Order;
    float const* data() const { return nullptr; }
    index_t dimension(std::size_t) const { return 0; }
};

#ifdef FOVEA_BROKEN
auto score_of(tensor_of_three<0> const& table) { return bias(table); }
#else
auto score_of(tensor_of_three<1> const& table) { return bias(table); }
#endif

// case: bias_of_bits
// sentence: fovea: bits are conditions: give features and biases as numbers
void call(view<float, 2> x, view<float, 2> result, view<bit const, 2> bits) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | bias(bits) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | mask_tensor(bits) | softmax | weighted_sum, x, result);
#endif
}

// case: features_of_bits
// alone: the sentence of bias_of_bits, of the same types
// sentence: fovea: bits are conditions: give features and biases as numbers
void call(view<float, 2> x, view<float, 2> result, view<bit const, 2> bits) {
#ifdef FOVEA_BROKEN
    reference::attend(compare(sum(select(param(bits)[kv_idx], q * k, 0))) | softmax | weighted_sum, x, result);
#else
    reference::attend(compare(sum(select(param(bits)(kv_idx, 0), q * k, 0))) | softmax | weighted_sum, x, result);
#endif
}

// case: operand_of_bits
// sentence: fovea: bits are conditions: give features and biases as numbers
void call(view<float, 2> x, view<float, 2> result, view<bit const, 2> bits) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, bits, result);
#else
    reference::attend(scaled_dot | mask_tensor(bits) | softmax | weighted_sum, x, result);
#endif
}

// case: packed_bits_of_bools
// sentence: fovea: packed_bits takes bytes of eight bits each, such as std::uint8_t
tensor<bool, 2> const unpacked({4, 1});
tensor<std::uint8_t, 2> const packed({4, 1});
#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const mine = mask_tensor(packed_bits(unpacked, 8));
#else
[[maybe_unused]] auto const mine = mask_tensor(packed_bits(packed, 8));
#endif
