// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/keep/keep.hpp>
#include <fovea/testing/selection_laws.hpp>

#include "normalize/rows.hpp"
#include "support/fused.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

/// Rows of many sizes and kinds: `keys(row)` lists the places that stay by the definition.
template <class S, class Keys>
void check_kept_places(S const& s, Keys const& keys) {
    fovea::testing::dice random(11);
    for (int kind = 0; kind < 4; ++kind)
        for (fovea::index_t const size : {1, 2, 9, 40, 300, 1000}) {
            std::vector<double> scores(static_cast<std::size_t>(size));
            for (double& x : scores) {
                x = random.real(-4, 4);
                if (kind == 1) x = std::round(x);
                if (kind == 2) x *= 20;
                if (kind == 3 && random.chance(0.3)) x = fovea::excluded<double>;
            }
            auto const kept = fovea::testing::scores_kept(s, scores);
            std::vector<std::size_t> places;
            for (std::size_t i = 0; i < kept.size(); ++i)
                if (kept[i] != fovea::excluded<double>) places.push_back(i);
            CAPTURE(kind, size);
            CHECK(places == keys(scores));
        }
}

/// The places of a row from the largest score on, the lowest first of equal ones; without those that take no part.
inline std::vector<std::size_t> places_by_score(std::vector<double> const& scores) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (scores[i] != fovea::excluded<double>) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
    return order;
}

/// The first of these places, in their order in the row.
inline std::vector<std::size_t> first_of(std::vector<std::size_t> places, std::size_t count) {
    places.resize(std::min(count, places.size()));
    std::sort(places.begin(), places.end());
    return places;
}

/// The loops make of few and of many keys that stay what the definition does.
template <class S>
void check_kept_fused(S const& s) {
    using namespace fovea;
    check_fused_at_all_widths<float>(scaled_dot | causal | keep(s) | softmax | weighted_sum);
    testing::compare_with_reference<double>(fused,
                                            scaled_dot | keep(s) | weigh(sigmoid(placeholders::score)) | weighted_sum);
}
