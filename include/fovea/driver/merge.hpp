// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Partial results over disjoint keys, merged into the result over all of them.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/as_view.hpp>
#include <fovea/core/ieee.hpp>
#include <fovea/core/subnormals.hpp>
#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/run/executor.hpp>
#include <fovea/kernel/lookup.hpp>
#include <fovea/spec/call/check_call.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <tuple>
#include <utility>

namespace fovea::FOVEA_SET {

namespace driver {

/// One partial result: (batch, head, query, feature), and the log-sum-exp of its rows: (batch, head, query).
template <class T, class L>
struct partial_result {
    using element = T;
    view<T, 4> result;
    view<L, 3> lse;
};

/// One row of the merged result. The row of a part that saw no key is not read.
template <class T, class Arch, class... Parts, class Out, class Lse>
void merge_row(std::tuple<Parts...> const& parts, partial_result<Out, Lse> const& to, index_t b, index_t h, index_t n) {
    using vector = kernel::pack<T, Arch>;
    using lane_operations = kernel::lanes_of<T, Arch>;
    constexpr T none = -ieee::infinity<T>;
    std::array<T, sizeof...(Parts)> factors;
    auto const for_each = [&](auto const& f) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (f(std::get<I>(parts), factors[I]), ...);
        }(std::index_sequence_for<Parts...>{});
    };
    T maximum = none, sum = 0;
    for_each([&](auto const& from, T& factor) {
        factor = static_cast<T>(from.lse(b, h, n));
        if (!(factor <= maximum)) maximum = factor;
    });
    for_each([&](auto const&, T& factor) {
        factor = factor == none ? T(0) : std::exp(factor - maximum);
        sum += factor;
    });
    Out* const row = to.result.place(b, h, n, index_t{0});
    index_t const features = to.result.extent(3);
    for (index_t c = 0; c < features; c += vector::lanes) {
        vector total(T{0});
        for_each([&](auto const& from, T factor) {
            if (factor == 0) return;
            auto const x = kernel::load_as<T, Arch>(from.result.place(b, h, n, c), features - c);
            total = fma(x, vector(factor / sum), total);
        });
        if constexpr (std::is_same_v<Out, T>) {
            lane_operations::store(total, row + c, features - c);
        } else {
            auto const elements = lane_operations::to_array(total);
            for (index_t i = 0; i < std::min(features - c, vector::lanes); ++i)
                row[c + i] = rounded_to<Out>(elements[static_cast<std::size_t>(i)]);
        }
    }
    if (to.lse.data) to.lse(b, h, n) = rounded_to<Lse>(sum == 0 ? none : maximum + std::log(sum));
}

/// Errors: shape_error where an array cannot be, or one that is written shares an element with another, unless the
/// result is one of the parts or its lse that of one.
template <bool HasLse, class... Parts, class Out, class Lse, std::size_t... I>
void check_merged_memory(std::tuple<Parts...> const& parts, partial_result<Out, Lse> const& to,
                         std::index_sequence<I...>) {
    using detail::memory_region;
    constexpr int result_twin = 1, lse_twin = 2;
    auto const with_twin = [](memory_region region, int twin) {
        region.twin = twin;
        return region;
    };
    std::array<memory_region, HasLse ? 2 : 1> written{with_twin(detail::region_of(to.result, "result"), result_twin)};
    if constexpr (HasLse) written[1] = with_twin(detail::region_of(to.lse, "lse"), lse_twin);
    std::array<std::array<char, 12>, sizeof...(I)> numbers{};
    (static_cast<void>(std::snprintf(numbers[I].data(), numbers[I].size(), "%d", static_cast<int>(I + 1))), ...);
    std::array<memory_region, 2 * sizeof...(I)> const read{
        with_twin(detail::region_of(std::get<I>(parts).result, "part ", numbers[I].data()), result_twin)...,
        with_twin(detail::region_of(std::get<I>(parts).lse, "lse of part ", numbers[I].data()), lse_twin)...};
    if constexpr (HasLse) detail::require_sound(written[1]);
    for (auto const& region : read) detail::require_sound(region);
    detail::check_written(written, [&](auto const& visit) { std::for_each(read.begin(), read.end(), visit); });
}

/// (result, lse, result, lse, ..., result, lse), the last pair the one that is written; its lse may be left out.
template <class Arch, class Executor, class... Views, std::size_t... I>
void merge(Executor const& executor, std::tuple<Views...> const& views, std::index_sequence<I...>) {
    constexpr std::size_t parts = sizeof...(I);
    constexpr bool has_lse = sizeof...(Views) == 2 * parts + 2;
    auto const out = as_heads(std::get<2 * parts>(views));
    using out_element = std::remove_pointer_t<decltype(out.data)>;
    static_assert(!std::is_const_v<out_element>, "fovea: the result is a view of const elements and cannot be written");
    detail::require_sound(detail::region_of(out, "result"));
    operand_shapes shapes;
    shapes.query = shapes.key = shapes.value = out.extents;
    auto const to = [&] {
        if constexpr (has_lse) {
            auto const lse = rows_of_call("lse is", std::get<2 * parts + 1>(views), shapes);
            using element = std::remove_pointer_t<decltype(lse.data)>;
            static_assert(!std::is_const_v<element>, "fovea: lse is a view of const elements and cannot be written");
            return partial_result<out_element, element>{out, lse};
        } else {
            return partial_result<out_element, float>{out, {}};
        }
    }();
    auto const all = std::tuple([&] {
        auto const result = as_heads(std::get<2 * I>(views));
        if (result.extents != out.extents)
            raise_error(shape_error("part ", I + 1, " is ", result.extents, ", the result is ", out.extents));
        auto const subject = [] {
            std::array<char, 40> text{};
            std::snprintf(text.data(), text.size(), "lse of part %d is", static_cast<int>(I + 1));
            return text;
        };
        auto const lse = rows_of_call(subject().data(), std::get<2 * I + 1>(views), shapes);
        return partial_result<std::remove_pointer_t<decltype(result.data)>, std::remove_pointer_t<decltype(lse.data)>>{
            result, lse};
    }()...);
    check_merged_memory<has_lse>(all, to, std::index_sequence<I...>{});
    using T =
        compute_type<out_element, typename std::tuple_element_t<I, std::remove_const_t<decltype(all)>>::element...>;
    constexpr bool writable =
        !std::is_const_v<out_element> && !std::is_const_v<std::remove_pointer_t<decltype(to.lse.data)>>;
    if (out.empty() && to.lse.empty()) return;
    subnormals_as_zero const mode;
    if constexpr (writable)
        executor.run(out.extent(0) * out.extent(1), [&](index_t task, index_t) {
            for (index_t n = 0; n < out.extent(2); ++n)
                merge_row<T, Arch>(all, to, task / out.extent(1), task % out.extent(1), n);
        });
}

}  // namespace driver

namespace detail {
/// The sentence for the first argument of merge that gives no view.
template <class First, class... Rest>
constexpr bool are_views() {
    constexpr bool sound = [] {
        if constexpr (executor<std::remove_cvref_t<First>>) return true;
        else return gives_view<First>();
    }();
    if constexpr (sound && sizeof...(Rest) > 0) return are_views<Rest...>();
    else return sound;
}
/// The sentence for a result or an lse that is written and ends with the statement.
template <class... Views>
constexpr bool writes_what_stays() {
    constexpr bool temporary = [] {
        constexpr bool owners[] = {is_temporary_owner<Views>...};
        bool any = false;
        for (std::size_t i = (sizeof...(Views) - 1) / 2 * 2; i < sizeof...(Views); ++i) any = any || owners[i];
        return any;
    }();
    static_assert(!temporary,
                  "fovea: the result is a temporary, destroyed at the end of the statement: give it a name");
    return !temporary;
}
}  // namespace detail

/// merge: merges results over disjoint sets of keys into the result over all of them.
///
///     out = sum_p out_p exp(lse_p) / sum_p exp(lse_p),   lse = log sum_p exp(lse_p)
///     merge(out_1, lse_1, out_2, lse_2, ..., out, lse)    merge(threads(4), out_1, lse_1, ..., out)
///
/// Shapes: results are (batch, head, query, feature), log-sum-exps (batch, head, query), leading axes omitted as for
/// attend.
/// Cost: each part is read once; nothing is allocated.
/// Edge cases: a part whose lse is -inf saw no key and is not read; where none did, the result is 0 and the lse -inf. A
/// NaN in an lse makes the row NaN. The result may be one of the parts.
/// Errors: shape_error where a part does not fit the result, or overlaps it without being it; nothing is written then.
/// Source: Milakov and Gimelshein 2018, section 3; Dao et al. 2022, algorithm 1.
template <executor Executor, viewable... Views>
void merge(Executor const& executor, Views&&... views) {
    static_assert(sizeof...(Views) >= 3, "fovea: merge takes pairs of a result and its lse, then the view to write");
    if constexpr (detail::writes_what_stays<Views...>())
        driver::merge<arch::best>(driver::runner_of(executor), std::tuple(as_view(views)...),
                                  std::make_index_sequence<(sizeof...(Views) - 1) / 2>{});
}
template <viewable First, viewable... Views>
void merge(First&& first, Views&&... views) {
    merge(serial, std::forward<First>(first), std::forward<Views>(views)...);
}

/// A sentence for an argument that is no view; nothing is merged.
template <class... Arguments>
    requires(sizeof...(Arguments) > 0 && !((executor<std::remove_cvref_t<Arguments>> || viewable<Arguments>) && ...))
void merge(Arguments&&...) {
    [[maybe_unused]] constexpr bool said = detail::are_views<Arguments...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
