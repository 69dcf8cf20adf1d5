// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Saved rows: the statistics of a forward call that its gradient reads.
#pragma once

#include <fovea/core/tensor.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/shapes.hpp>

#include <atomic>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// The rows of a call, or of one sequence of a ragged batch: (batch, head, query), and with features.
template <class T>
struct row_state_views {
    view<T, 3> max, sum;
    view<T, 4> result;

    row_state_views of_sequence(sequence_place const& at) const {
        auto const rows = [&](auto const& all) { return detail::queries_of(all, at.first_query, at.queries); };
        return {rows(max), rows(sum), rows(result)};
    }
};

/// saved_rows: what a forward call knows of its rows, written where it is asked for save(state), read by the gradient
/// of the same call, and used again from step to step.
///
/// The maximum and the sum of the exponentials of each row, and the result before any finish: (batch, head, query) and
/// (batch, head, query, feature), in the type of the arithmetic.
template <class T = float>
class saved_rows {
public:
    using output_tag = void;
    using saved_tag = void;
    using value_type = T;
    static constexpr std::string_view name = "saved_rows";

    /// Whether a call has left all that its gradient needs; without it that computes it again.
    bool complete() const { return missing_ == 0; }
    view<T const, 3> max() const { return max_.view(); }
    view<T const, 3> sum() const { return sum_.view(); }
    view<T const, 4> result() const { return result_.view(); }

    struct bound {
        view<T, 3> target;
    };
    template <class Shapes>
    bound bind(Shapes const&) const {
        static_assert(never<Shapes>, "fovea: saved_rows are written by a call that is asked for save(state)");
        return {};
    }

    /// A call of these shapes is about to write: nothing is allocated for the same ones as before.
    void begin(operand_shapes const& shapes) {
        missing_ = shapes.queries();
        extents_t<4> const needed{shapes.batches(), shapes.heads(), shapes.queries(), shapes.features()};
        if (result_.extents == needed) return;
        max_ = tensor<T, 3>({needed[0], needed[1], needed[2]});
        sum_ = max_;
        result_ = tensor<T, 4>(needed);
    }
    row_state_views<T> rows() { return {max_.view(), sum_.view(), result_.view()}; }
    row_state_views<T const> rows() const { return {max(), sum(), result()}; }
    /// So many queries have all of their rows; calls of several sequences say so at once.
    void complete_queries(index_t count) { std::atomic_ref(missing_).fetch_sub(count, std::memory_order_relaxed); }

private:
    tensor<T, 3> max_{{}}, sum_{{}};
    tensor<T, 4> result_{{}};
    alignas(std::atomic_ref<index_t>::required_alignment) index_t missing_ = -1;  // queries; -1 before any call
};

/// The output of a call that writes them.
template <class T>
struct bound_save {
    view<T, 3> target, sums;
    view<T, 4> results;
    saved_rows<T>* state;

    void row_state(row_place const& at, auto max, auto sum) const {
        target(at.batch, at.head, at.query) = static_cast<T>(max);
        sums(at.batch, at.head, at.query) = static_cast<T>(sum);
    }
    /// The rows of the result have been written to `results`, too.
    void complete() const { state->complete_queries(results.extent(2)); }
};

template <class T>
struct save_output {
    using output_tag = void;
    static constexpr std::string_view name = "save";
    saved_rows<T>* state;

    bound_save<T> bind(operand_shapes const& shapes) const {
        state->begin(shapes);
        return of(state->rows());
    }

    /// The rows of one sequence of a ragged batch, once `begin_sequences` has been told the shapes of all.
    struct of_one_sequence {
        using output_tag = void;
        static constexpr std::string_view name = "save";
        saved_rows<T>* state;
        sequence_place at;
        bound_save<T> bind(operand_shapes const&) const { return save_output{state}.of(state->rows().of_sequence(at)); }
    };
    of_one_sequence of_sequence(sequence_place const& at) const { return {state, at}; }
    void begin_sequences(operand_shapes const& shapes) const { state->begin(shapes); }

private:
    bound_save<T> of(row_state_views<T> const& rows) const { return {rows.max, rows.sum, rows.result, state}; }
};

}  // namespace fovea::FOVEA_SET
