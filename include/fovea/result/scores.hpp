// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/outputs.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// The score after a stage: as it was compared, after all rescorings, or also masked, as the normalizer reads it.
enum class score_stage { raw, rescored, masked };

namespace detail {
/// The score that a comparison made, without the rescorings after it.
template <class Score>
constexpr auto compared(Score const& score) {
    return score;
}
template <class Score, class Rescore>
constexpr auto compared(rescored<Score, Rescore> const& score) {
    return compared(score.first);
}
}  // namespace detail

template <class T>
struct bound_scores {
    view<T, 4> target;

    /// A pair that takes no part is -inf.
    template <class Row>
    void scores(row_place const& at, Row const& row) const {
        T* const to = target.place(at.batch, at.head, at.query, index_t{0});
        for (index_t j = 0; j < target.extent(3); ++j) to[j] = rounded_to<T>(excluded<float>);
        for (index_t i = 0; i < row.size(); ++i)
            if (index_t const j = row.key(i); row[i] != excluded<typename Row::value_type>)
                to[j] = rounded_to<T>(row[i]);
    }
};

/// Where scores go that no mask has touched: they are computed by themselves.
template <class T, score_stage Stage>
struct bound_all_scores {
    view<T, 4> target;

    /// The score that is asked for.
    template <attention_spec A>
    auto score_of(A const& a) const {
        if constexpr (Stage == score_stage::raw) return detail::compared(a.score);
        else return a.score;
    }
    template <class Real>
    void scores_of_run(row_place const& at, index_t first_key, Real const* scores, index_t count) const {
        T* const to = target.place(at.batch, at.head, at.query, first_key);
        for (index_t i = 0; i < count; ++i) to[i] = rounded_to<T>(scores[i]);
    }
};

template <class T, int Rank, score_stage Stage>
struct scores_output {
    using output_tag = void;
    static constexpr std::string_view name = "scores";
    view<T, Rank> target;
    auto bind(operand_shapes const& shapes) const {
        auto const pairs = pairs_of_call("scores are", target, shapes);
        if constexpr (Stage == score_stage::masked) return bound_scores<T>{pairs};
        else return bound_all_scores<T, Stage>{pairs};
    }
};

/// scores: asks for the scores of each query over all keys after a stage: raw, rescored or masked.
///
///     attend(spec, q, k, v, out, scores(view))    as the normalizer reads them
///     attend(spec, q, k, v, out, scores<score_stage::raw>(view))    before rescorings and mask
///
/// Shapes: the target is (batch, head, query, key); batch and head may be omitted if they are one.
/// Cost: masked, the scores of a few queries over all keys are kept; raw and rescored, a second pass over queries and
/// keys, because masked pairs have such scores too.
/// Edge cases: masked, an excluded pair has score -inf, including pairs that a graph does not list.
/// Errors: shape_error where the target does not fit the call; nothing is written then.
/// Source: the operator Attention of ONNX, output qk_matmul_output.
template <score_stage Stage = score_stage::masked, class Target>
constexpr auto scores(Target&& target) {
    auto const v = detail::target_of(std::forward<Target>(target));
    return scores_output<std::remove_pointer_t<decltype(v.data)>, decltype(v)::rank, Stage>{v};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed scores(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
