// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a forward call leaves of its rows for its gradient.
#pragma once

#include <fovea/core/tensor.hpp>
#include <fovea/spec/outputs.hpp>

#include <algorithm>
#include <type_traits>

namespace fovea::FOVEA_SET {

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
    bool complete() const { return complete_; }
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
        complete_ = false;
        extents_t<4> const needed{shapes.batches(), shapes.heads(), shapes.queries(), shapes.features()};
        if (result_.extents == needed) return;
        max_ = tensor<T, 3>({needed[0], needed[1], needed[2]});
        sum_ = max_;
        result_ = tensor<T, 4>(needed);
    }
    view<T, 3> maxima() { return max_.view(); }
    view<T, 3> sums() { return sum_.view(); }
    template <class Out>
    void finish(view<Out, 4> const& result) {
        if constexpr (std::is_same_v<Out, T>) {
            T* to = result_.data();
            auto const& n = result.extents;
            for (index_t b = 0; b < n[0]; ++b)
                for (index_t h = 0; h < n[1]; ++h)
                    for (index_t q = 0; q < n[2]; ++q, to += n[3]) std::copy_n(result.place(b, h, q, 0), n[3], to);
            complete_ = true;
        }
    }

private:
    tensor<T, 3> max_{{}}, sum_{{}};
    tensor<T, 4> result_{{}};
    bool complete_ = false;
};

/// What a call is asked for that writes them.
template <class T>
struct bound_save {
    view<T, 3> target, sums;
    saved_rows<T>* state;

    void row_state(row_place const& at, auto max, auto sum) const {
        target(at.batch, at.head, at.query) = static_cast<T>(max);
        sums(at.batch, at.head, at.query) = static_cast<T>(sum);
    }
    template <class Out>
    void finish(view<Out, 4> const& result) const {
        state->finish(result);
    }
};

template <class T>
struct save_output {
    using output_tag = void;
    static constexpr std::string_view name = "save";
    saved_rows<T>* state;

    bound_save<T> bind(operand_shapes const& shapes) const {
        state->begin(shapes);
        return {state->maxima(), state->sums(), state};
    }
};

}  // namespace fovea::FOVEA_SET
