// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: what a call reads or writes has at most 8 axes
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

#ifdef FOVEA_BROKEN
constexpr int axes = 9;
#else
constexpr int axes = 8;
#endif

template <std::size_t... I>
auto element(view<int const, axes> table, std::index_sequence<I...>) {
    return param(table)(kv_idx, (static_cast<void>(I), head)...);
}

void call(view<int const, axes> table, view<float, 2> x, view<float, 2> result) {
    auto const seen = where(element(table, std::make_index_sequence<axes - 1>{}) != 0);
    reference::attend(dot | seen | softmax | weighted_sum, x, result);
}
