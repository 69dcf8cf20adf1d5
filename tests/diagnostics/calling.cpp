// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include <cstdint>
#include <vector>

using namespace fovea;

// case: bulk_that_is_mutable
// sentence: fovea: bulk_executor(workers, function) calls function(n, f), which is not mutable, with an f of any
// type: write auto const& f
void call(view<float, 2> x, view<float, 2> result) {
    index_t calls = 0;
#ifdef FOVEA_BROKEN
    bulk_executor const counting(2, [calls](index_t n, auto const& f) mutable {
#else
    bulk_executor const counting(2, [&calls](index_t n, auto const& f) {
#endif
        for (index_t i = 0; i < n; ++i) f(i);
        ++calls;
    });
    attend(counting, scaled_dot | softmax | weighted_sum, x, result);
}

// case: call_of_one_part
// sentence: fovea: this is one part of an attention: join it with others by `|`, at least a score, a normalizer and
// an aggregator
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: call_of_operands_alone
// sentence: fovea: this call has no specification: attend(specification, query, key, value, result)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(x, x, x, result);
#else
    attend(scaled_dot | softmax | weighted_sum, x, x, x, result);
#endif
}

// case: call_with_a_mask
// sentence: fovea: a call has query, key, value and result; masks and biases are parts of the specification: |
// mask_tensor(m), | bias(b)
void call(view<float, 2> x, view<float, 2> result, view<bool, 2> visible) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, x, x, visible, result);
#else
    reference::attend(scaled_dot | mask_tensor(visible) | softmax | weighted_sum, x, x, x, result);
#endif
}

// case: call_without_aggregator
// sentence: fovea: this specification has no aggregator: write `| weighted_sum` at its end
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: call_without_normalizer
// sentence: fovea: this specification has no normalizer: write `| softmax`, or `| unnormalized` if the scores are the
// weights
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: call_without_result
// sentence: fovea: an operand or the result is missing: attend(specification, query, key, value, result),
// attend(specification, x, result) or attend(specification, queries(x), memory(m), result)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, x, x);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, x, x, result);
#endif
}

// case: call_without_score
// sentence: fovea: this specification has no score function: begin it with one, such as scaled_dot
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: call_without_specification
// sentence: fovea: this call has no specification: attend(specification, query, key, value, result)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(threads(2), x, result);
#else
    attend(threads(2), scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: executor_without_workers
// sentence: fovea: an executor has bulk(n, f) const and workers() const: write bulk_executor(workers, function)
/// Somebody's threads.
struct pool {
    void bulk(index_t n, auto const& f) {
        for (index_t i = 0; i < n; ++i) f(i);
    }
};

void call(pool& threads_of_mine, view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(threads_of_mine, scaled_dot | softmax | weighted_sum, x, result);
#else
    attend(bulk_executor(4, [&](index_t n, auto const& f) { threads_of_mine.bulk(n, f); }),
           scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: features_of_different_types
// sentence: fovea: the score compares query and key feature by feature, and their types have different numbers of
// features
/// As std::mdspan with extents (dynamic, Features).
template <index_t Features>
struct rows_of {
    float* data;
    index_t rows;

    static constexpr int rank() { return 2; }
    static constexpr index_t static_extent(int axis) { return axis == 0 ? -1 : Features; }
    float* data_handle() const { return data; }
    index_t extent(std::size_t axis) const { return axis == 0 ? rows : Features; }
    index_t stride(std::size_t axis) const { return axis == 0 ? Features : 1; }
};

#ifdef FOVEA_BROKEN
using key_rows = rows_of<64>;
#else
using key_rows = rows_of<128>;
#endif

void call(rows_of<128> query, key_rows key, rows_of<32> value, view<float, 2> result) {
    reference::attend(scaled_dot | softmax | weighted_sum, query, key, value, result);
}

// case: pages_of_another_shape
// sentence: fovea: pages are (page, head, slot, feature), their table (batch, page) of std::int32_t
void call(view<float, 2> x, view<float, 2> result, view<float, 4> pages, std::vector<std::int32_t>& table) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, paged(pages, table), paged(pages, table), result);
#else
    auto const rows = view(table, {1, table.size()});
    reference::attend(scaled_dot | softmax | weighted_sum, x, paged(pages, rows), paged(pages, rows), result);
#endif
}

// case: block_scaled_reals
// sentence: fovea: block_scaled takes integers, and then the reals that scale them
void call(view<float, 2> x, view<float, 2> result, view<std::int8_t, 2> integers, view<float, 2> scales) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, block_scaled(scales, integers), x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, block_scaled(integers, scales), x, result);
#endif
}

// case: quantized_numbers
// sentence: fovea: quantized takes rows of blocks, such as q8_0 or q4_0: give it a view or pages of them
void call(view<float, 2> x, view<float, 2> result, view<std::int8_t const, 2> integers, view<q8_0 const, 2> blocks) {
#ifdef FOVEA_BROKEN
    static_cast<void>(blocks);
    reference::attend(scaled_dot | softmax | weighted_sum, x, quantized(integers), x, result);
#else
    static_cast<void>(integers);
    reference::attend(scaled_dot | softmax | weighted_sum, x, quantized(blocks), x, result);
#endif
}

// case: parts_side_by_side
// sentence: fovea: the specification comes first: attend(specification, query, key, value, result), with its parts
// joined by `|`
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax, weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: queries_in_pages
// sentence: fovea: only keys and values may be paged or scaled by blocks: pass queries and the result as views
void call(view<float, 2> x, view<float, 2> result, view<float, 4> pages, view<std::int32_t, 2> table) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, paged(pages, table), x, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, paged(pages, table), paged(pages, table), result);
#endif
}

// case: projected_pages
// sentence: fovea: keys and values in pages or blocks are projected as_is, and have heads: project(as_is | rotary,
// as_is, as_is)
void call(view<float, 2> x, view<float, 2> result, view<float, 4> pages, view<std::int32_t, 2> table) {
#ifdef FOVEA_BROKEN
    auto const turned = project(as_is | rotary, as_is | rotary, as_is);
#else
    auto const turned = project(as_is | rotary, as_is, as_is);
#endif
    reference::attend(turned | scaled_dot | softmax | weighted_sum, x, paged(pages, table), paged(pages, table),
                      result);
}

// case: ragged_before_threads
// sentence: fovea: before the specification come threads(n), a named workspace and ragged(...), in this order
void call(view<float, 2> x, view<float, 2> result, view<int const, 1> offsets) {
#ifdef FOVEA_BROKEN
    attend(ragged(offsets), threads(2), scaled_dot | softmax | weighted_sum, x, result);
#else
    attend(threads(2), ragged(offsets), scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: self_attention_without_result
// sentence: fovea: an operand or the result is missing: attend(specification, query, key, value, result),
// attend(specification, x, result) or attend(specification, queries(x), memory(m), result)
void call(view<float, 2> x, view<float, 2> result, view<float, 1> sums) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, lse(sums));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(sums));
#endif
}

// case: specification_last
// sentence: fovea: the specification comes first: attend(specification, query, key, value, result), with its parts
// joined by `|`
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(x, x, x, result, scaled_dot | softmax | weighted_sum);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, x, x, result);
#endif
}

// case: tensor_of_another_rank
// sentence: fovea: the rank and the number of extents differ: give one extent for each axis
void call(view<float, 4> result) {
#ifdef FOVEA_BROKEN
    tensor<float, 4> const x({1, 6, 8});
#else
    tensor<float, 4> const x({1, 1, 6, 8});
#endif
    attend(scaled_dot | softmax | weighted_sum, x, result);
}

// case: threads_behind_the_specification
// sentence: fovea: pass threads(n), a workspace and ragged(...) before the specification
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum, threads(2), x, result);
#else
    attend(threads(2), scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: workspace_before_threads
// sentence: fovea: before the specification come threads(n), a named workspace and ragged(...), in this order
void call(view<float, 2> x, view<float, 2> result, workspace& scratch) {
#ifdef FOVEA_BROKEN
    attend(scratch, threads(2), scaled_dot | softmax | weighted_sum, x, result);
#else
    attend(threads(2), scratch, scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: workspace_without_a_name
// sentence: fovea: before the specification come threads(n), a named workspace and ragged(...), in this order
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(workspace(), scaled_dot | softmax | weighted_sum, x, result);
#else
    workspace scratch;
    attend(scratch, scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: operand_without_rows
// sentence: fovea: a container of numbers does not say how many features a row has: write view(elements, {rows,
// features})
void call(std::vector<float> const& x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, view(x, {x.size() / 8, 8}), result);
#endif
}

// case: part_of_a_call_with_projections
// sentence: fovea: no part(i, n) waits for another, as it would in gradients, projections, finishes, relative_values,
// column_sums, save and calls over ranks: pass an executor for these, such as bulk_executor(workers, function)
void call(view<float, 3> x, view<float const, 2> w, view<float, 3> result) {
    auto const projected = project(w, w, w, heads<2>) | scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    attend(part(0, 2), projected, x, result);
#else
    attend(threads(2), projected, x, result);
#endif
}

// case: size_for_threads
// sentence: fovea: workspace_size takes what follows part(i, n) in the call: workspace_size(specification, query, key,
// value, result)
std::size_t size(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    return workspace_size(threads(2), scaled_dot | softmax | weighted_sum, x, result);
#else
    return workspace_size(scaled_dot | softmax | weighted_sum, x, result);
#endif
}
