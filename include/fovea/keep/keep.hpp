// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// keep: of the keys that a query sees, only those of a selection are normalized; all others have weight 0.
///
///     causal | keep(top_k(32)) | weigh(sigmoid(score))    keep(top_k(50)) | keep(top_p(0.9)) | softmax
///
/// Shapes: selections are `top_k(k)`, `top_p(p)`, `min_p(p)`, `threshold(t)` and those of one's own; any normalizer
/// follows. One keep after another chooses among the keys that the one before it has left.
/// Cost: the scores of a few queries over all keys are kept, and up to 256 that stay are normalized as a row of their
/// own. `threshold` costs one comparison for each pair instead, if the normalizer goes from key to key.
/// Edge cases: `lse`, where the normalizer has one, is that of the keys that stay. A score that is NaN stays.
/// Errors: at compile time, for what is no selection, and with `running_state`.
template <selection Selection>
constexpr auto keep(Selection const& s) {
    constexpr bool plain = plain_selection<Selection> || row_dependent_selection<Selection>;
    static_assert(plain, "fovea: this is not a selection: give it least(), least(row), or for_row(at)");
    if constexpr (plain) return keep_t<Selection>(s);
    else return ill_formed{};
}

/// A sentence for an argument that is no selection.
template <class Other>
    requires(!selection<Other>)
constexpr ill_formed keep(Other const&) {
    static_assert(is_ill_formed<Other>,
                  "fovea: keep takes a selection: top_k(k), top_p(p), min_p(p), threshold(t), or one of your own");
    return {};
}
constexpr ill_formed keep(ill_formed (&)()) { return {}; }
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed keep(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
