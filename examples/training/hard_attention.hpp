// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hard attention that learns: the weights of hardmax, and as their gradient that of softmax of the same scores (the
// straight-through estimator: Bengio, Leonard and Courville 2013, section 4).
#pragma once

#include <fovea/normalize/hardmax.hpp>

#include <algorithm>
#include <cmath>

namespace training {

//! [straight_through]
/// hardmax, which has no gradient of its own, with a rule: ds_j = p_j (g_j - sum_k p_k g_k), p = softmax(s).
struct straight_through_t : fovea::hardmax_t {
    static constexpr std::string_view name = "straight_through";

    template <class Row>
    static void gradient(Row&& row) {
        auto highest = std::numeric_limits<typename std::remove_cvref_t<Row>::value_type>::lowest();
        row.sum([&](auto const& s, auto const&, auto const&) { return highest = std::max(highest, s); });
        auto const share = [&](auto const& s) { return std::exp(s - highest); };
        auto const total = row.sum([&](auto const& s, auto const&, auto const&) { return share(s); });
        auto const mean = row.sum([&](auto const& s, auto const&, auto const& g) { return share(s) / total * g; });
        row.map([&](auto const& s, auto const&, auto const& g) { return share(s) / total * (g - mean); });
    }
};
inline constexpr straight_through_t straight_through{};
//! [straight_through]

}  // namespace training
