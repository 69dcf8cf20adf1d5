// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of a composition in passes, on calls that are drawn, against the definition.
#pragma once

#include <fovea/gradient.hpp>

#include "support/compositions.hpp"
#include "support/layer_gradients.hpp"
#include "support/seeds.hpp"

#include <array>
#include <tuple>

namespace compositions {

/// True where the weights of a composition have a gradient: hardmax has none.
template <std::size_t Number>
inline constexpr bool has_gradient_of =
    has_row_gradient<std::remove_cvref_t<decltype(normalizer_of(composed_weights<Number>().normalize))>>;

/// Queries, keys and values of one call, in double: where weights have a threshold, both sides keep the same keys.
template <std::size_t Number>
void check_gradients_of_a_call(testing::dice& random) {
    auto const spec = composed_weights<Number>() | weighted_sum;
    // Of one feature all cosines are 1 or -1: which of them are the greatest is anyone's choice.
    constexpr bool selects = is_kept<std::remove_cvref_t<decltype(normalizer_of(spec.normalize))>>;
    index_t const group = random.between(1, 3), key_heads = random.between(1, 2), batches = random.between(1, 2),
                  features = random.between(selects ? 2 : 1, 20);
    std::array<index_t, 4> const queries{batches, key_heads * group, random.between(1, 40), features},
        keys{batches, key_heads, random.between(1, 70), features},
        values{batches, key_heads, keys[2], random.between(1, 20)};
    auto const q = testing::random_tensor<double>(random, queries), k = testing::random_tensor<double>(random, keys),
               v = testing::random_tensor<double>(random, values);
    auto const d =
        testing::random_tensor<double>(random, std::array<index_t, 4>{queries[0], queries[1], queries[2], values[3]});
    auto const workers = static_cast<int>(random.between(1, 3));
    CAPTURE(text(spec), queries, keys, values, workers);
    auto const off = layer_gradients::worst<double>(threads(workers), spec,
                                                    std::tuple(q.view(), k.view(), v.view(), d.view()), q, k, v);
    CHECK(off < 1e-9);
}

template <std::size_t Number>
void check_gradients() {
    if constexpr (has_gradient_of<Number>) {
        INFO(seeds::how_to_repeat());
        auto random = seeds::dice_for("gradients of compositions", Number);
        for (int call = 0; call < 12; ++call) check_gradients_of_a_call<Number>(random);
    }
}

}  // namespace compositions
