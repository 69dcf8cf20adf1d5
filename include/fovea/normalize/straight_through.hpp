// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/function_operations.hpp>
#include <fovea/normalize/hardmax.hpp>
#include <fovea/spec/row.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET {

/// straight_through: the weights of `hardmax` with the gradient of `softmax`, so that hard attention can be trained.
///
///     w_j = 1 for the first j with s_j = max_k s_k, else 0
///     dL/ds_j = p_j (g_j - sum_k p_k g_k),   p = softmax(s),   g = dL/dw
///
/// Cost: streaming: what `hardmax` has is carried. A gradient has the scores of a few queries over all keys.
/// Edge cases: those of `hardmax`. The gradient is an estimate, since weights are steps; values have that of `hardmax`.
/// After `gumbel` a key is drawn, and its gradient is that of the softmax of the same scores.
/// Errors: at compile time, for `lse`.
/// Source: Bengio, Leonard and Courville 2013, section 4; with the gradient of softmax, Jang, Gu and Poole 2017.
struct straight_through_t : hardmax_t {
    static constexpr std::string_view name = "straight_through";

    template <class Row>
    static void gradient(Row&& row) {
        auto&& scores = in_vectors(row);
        auto const highest = scores.sum([](auto const& s, auto const& w, auto const&) {
            using V = std::remove_cvref_t<decltype(s)>;
            return operations::select::apply(operations::greater::apply(w, V(0)), s, V(0));
        });
        auto const share = [highest](auto const& s) {
            using V = std::remove_cvref_t<decltype(s)>;
            return V(operations::exp::apply(V(s - V(highest))));
        };
        auto const total = scores.sum([&](auto const& s, auto const&, auto const&) { return share(s); });
        auto const mean = scores.sum([&](auto const& s, auto const&, auto const& g) { return share(s) * g; }) / total;
        scores.map([&]<class V>(V const& s, V const&, V const& g) { return share(s) / V(total) * (g - V(mean)); });
    }
};
inline constexpr straight_through_t straight_through{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
