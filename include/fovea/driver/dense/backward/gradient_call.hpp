// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call of a gradient pass over tiles: its scores, the products dO V^T, and where gradients go.
#pragma once

#include <fovea/driver/dense/backward/gradient_blocks.hpp>
#include <fovea/driver/dense/key_lanes_scores.hpp>
#include <fovea/driver/dense/query_lanes_scores.hpp>
#include <fovea/plan/backward/score_gradient.hpp>
#include <fovea/plan/traversal.hpp>
#include <fovea/spec/call/saved_rows.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Saved statistics of the rows of softmax: the maximum m and the sum l of the exponentials, and
/// D = sum_c dO O, or the result O that it is computed of; (batch, head, query) and (batch, head, query, feature).
template <class T>
struct saved_statistics {
    view<T const, 3> max{}, sum{}, delta{};
    view<T const, 4> result{};
    view<T const, 3> d_lse{};  // the gradient of m + log l, if it is given

    saved_statistics() = default;
    explicit saved_statistics(row_state_views<T const> const& saved)
        : max(saved.max), sum(saved.sum), result(saved.result) {}
    saved_statistics(view<T const, 3> const& m, view<T const, 3> const& l, view<T const, 3> const& d)
        : max(m), sum(l), delta(d) {}
    bool any() const { return max.data != nullptr; }
    T of_lse(index_t batch, index_t head, index_t query) const {
        return d_lse.data != nullptr ? d_lse(batch, head, query) : T{0};
    }
};

/// The gradients that are wanted of a pass: of queries, and of tables through pairs and queries; those of keys and
/// values, and of tables through keys; those of a normalizer that differs from row to row, which the rows of one call
/// give.
struct wanted_gradients {
    bool of_queries = true, of_keys = true, of_rows = true;
    bool adds = false;  // to what queries, keys and values have; otherwise they are written
};

/// The backward operands of an attention beside its queries and keys, and the targets of its gradients: all
/// (batch, head, position, feature). A matrix unit rounds weights to `Weight_parts` numbers, as targets need.
template <class T, class ValueRows, class D = T, int Weight_parts = plan::weight_parts<T>>
struct gradient_operands {
    using d_element = D;
    static constexpr int weight_parts = Weight_parts;
    ValueRows value;
    view<D const, 4> d_result;
    view<T, 4> d_query, d_key, d_value;
    saved_statistics<T> rows{};
    wanted_gradients wanted{};

    /// A gradient that is complete to its place.
    void leave(T const* from, index_t count, T* to) const {
        if (!wanted.adds) std::copy_n(from, count, to);
        else
            for (index_t i = 0; i < count; ++i) to[i] += from[i];
    }
};

/// D of a row: dO is in whole vectors, O as it is.
template <class T, class Arch>
T delta_of_row(T const* result, T const* d_result, index_t features) {
    using vector = kernel::pack<T, Arch>;
    vector delta(T{0});
    for (index_t c = 0; c < features; c += vector::lanes)
        delta = fma(kernel::load_as<T, Arch>(result + c, features - c), vector::load(d_result + c), delta);
    return kernel::lanes_of<T, Arch>::sum(delta);
}

/// A call of a gradient pass: a call of scores beside which that of dO V^T stands.
template <class Call, class Backward, class Blocking, class Tables>
struct gradient_call : context_of<Call, Blocking> {
    using d_element = typename Backward::d_element;
    using of_values = values_of_gradient<Call, decltype(Backward::value), d_element>;
    using value_call = typename of_values::call;
    using score_type = score_gradient<Call, Blocking, Tables>;
    using tables_type = Tables;

    Backward const& backward;
    Tables const& tables;
    typename of_values::product product{};
    typename of_values::operands value_operands;
    plan::call_plan plan_of_values;
    context_of<value_call, Blocking> values;  // dO V^T

    gradient_call(plan::call_plan const& plan, typename Call::spec const& of, typename Call::operands const& on,
                  Backward const& others, Tables const& sums)
        : context_of<Call, Blocking>(plan, of, on),
          backward(others),
          tables(sums),
          value_operands{others.d_result, others.value},
          plan_of_values(plan::make_value_plan<value_call, Blocking>(plan, value_operands.sizes())),
          values(plan_of_values, product, value_operands) {}

    /// The key heads of all batch elements, into how many tasks each is split, and the blocks of rows of each of them.
    index_t all_key_heads() const { return this->batches * key_heads(); }
    index_t query_splits() const {
        return std::max<index_t>(tables.tasks() / std::max<index_t>(all_key_heads(), 1), 1);
    }
    index_range row_blocks(index_t split) const {
        index_t const blocks = ceil_div(this->rows, Blocking::block_rows), splits = query_splits();
        return {split * blocks / splits, (split + 1) * blocks / splits};
    }
    /// The task of some rows, that of a key head with its last rows being the first of them.
    index_t task_of(head_group heads, index_t row) const {
        index_t const blocks = ceil_div(this->rows, Blocking::block_rows), splits = query_splits(),
                      split = ((row / Blocking::block_rows + 1) * splits - 1) / blocks;
        return (heads.batch * key_heads() + this->key_head(heads)) * splits + splits - 1 - split;
    }

private:
    index_t key_heads() const { return this->head_groups / this->per_key_head; }
};

}  // namespace fovea::FOVEA_SET::driver
