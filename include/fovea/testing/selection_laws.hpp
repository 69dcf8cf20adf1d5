// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/reference/row.hpp>
#include <fovea/spec/selection.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::testing {

/// The scores of a row, in which those that do not stay are excluded.
template <plain_selection S, class T>
std::vector<T> scores_kept(S const& s, std::vector<T> scores) {
    std::vector<index_t> keys(scores.size());
    std::iota(keys.begin(), keys.end(), index_t{0});
    reference::row<T> const row{scores, keys};
    if constexpr (fixed_selection<S>) row.exclude_below(static_cast<T>(s.least()));
    else row.exclude_below(static_cast<T>(s.least(row)));
    return scores;
}

namespace detail {
template <class T>
std::vector<T> without_excluded(std::vector<T> scores) {
    std::erase(scores, excluded<T>);
    std::sort(scores.begin(), scores.end());
    return scores;
}

template <class T, class S>
void check_selected_rows(S const& s, unsigned seed) {
    dice random(seed);
    for (int trial = 0; trial < 120; ++trial) {
        auto scores = random_scores<T>(random, trial);
        auto const text = [&] { return row_text(scores); };
        auto const kept = scores_kept(s, scores);
        T least = ieee::infinity<T>, left = excluded<T>;
        for (std::size_t i = 0; i < scores.size(); ++i) {
            law(kept[i] == scores[i] || kept[i] == excluded<T>, "a score stays as it is, or is excluded", text);
            if (kept[i] != excluded<T>) least = std::min(least, scores[i]);
            else left = std::max(left, scores[i]);
        }
        law(!(left > least), "no key leaves whose score is larger than one that stays", text);

        auto moved = scores;
        for (std::size_t i = 1; i < moved.size(); ++i)
            std::swap(moved[i], moved[static_cast<std::size_t>(random.between(0, static_cast<index_t>(i)))]);
        law(without_excluded(scores_kept(s, moved)) == without_excluded(kept),
            "the order of the keys changes no score that stays", text);
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (kept[i] == excluded<T>) continue;
            auto raised = scores;
            raised[i] += 1;
            law(scores_kept(s, raised)[i] == raised[i], "a key that stays does so with a larger score", text);
        }
        if constexpr (requires { requires S::idempotent; })
            law(scores_kept(s, kept) == kept, "all keys that stay do so again", text);
        if constexpr (requires { requires S::keeps_greatest; })
            law(without_excluded(kept).empty() == without_excluded(scores).empty(), "the largest score stays", text);
        if constexpr (requires { s.at_most(); })
            law(std::ssize(without_excluded(kept)) <= s.at_most(), "no more keys stay than are said to", text);
        if (!scores.empty() && scores[0] != excluded<T>) {
            scores[0] = std::numeric_limits<T>::quiet_NaN();
            law(std::isnan(scores_kept(s, scores)[0]), "a score that is no number stays", text);
        }
    }
}
}  // namespace detail

/// check_selection_laws: what has to hold for every selection, in float and in double.
///
///     a score stays as it is, or is excluded; one that is no number stays
///     no key leaves whose score is larger than one that stays
///     the order of the keys changes no score that stays
///     a key that stays does so with a larger score
///     all keys that stay do so again, where `idempotent` is declared
///     the largest score stays, where `keeps_greatest` is declared
///     no more keys stay than at_most(), if there is one
///
/// Errors: law_broken naming the law and the row.
template <plain_selection S>
void check_selection_laws(S const& s, unsigned seed = 1) {
    detail::check_selected_rows<float>(s, seed);
    detail::check_selected_rows<double>(s, seed);
}

}  // namespace fovea::FOVEA_SET::testing
