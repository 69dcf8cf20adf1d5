// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The least and the greatest elements of the tables of a mask, tile by tile, so that it is bounded over blocks of pairs
// without another look at every element.
#pragma once

#include <fovea/core/memory.hpp>
#include <fovea/driver/run/part.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/expr/bound.hpp>

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>

namespace fovea::FOVEA_SET::driver {

/// The extremes of the elements of a table over tiles of its last two axes, found once for a call.
///
/// Memory: two numbers for each 512 elements; of axes that repeat one element, once.
template <class T, int Rank>
class table_extremes {
    static constexpr std::size_t rank = Rank, row_axis = rank - 2, key_axis = rank - 1;
    static constexpr index_t rows = 16, keys = 32;
    using number = typename decltype(fovea::detail::any_element<T>())::value_type;
    using ranges = std::array<interval<index_t>, rank>;

public:
    /// A box of fewer elements is looked at itself.
    static constexpr index_t least_elements = rows * keys;

    table_extremes() = default;
    template <class Executor>
    table_extremes(Executor const& executor, arena& memory, view<T const, Rank> const& of)
        : table_(fovea::detail::once(of)) {
        index_t strips = 1;
        for (std::size_t axis = 0; axis < rank; ++axis) {
            tiles_[axis] = ceil_div(table_.extents[axis], size_of_tile(axis));
            if (axis != key_axis) strips *= tiles_[axis];
        }
        extremes_ = memory.take<interval<number>>(strips * tiles_[key_axis]);
        if (!memory.measures()) whole(executor).run(strips, [&](index_t strip, index_t) { look_at(strip); });
    }

    /// True for the table of which it has the extremes.
    bool is_of(view<T const, Rank> const& table) const {
        return extremes_ != nullptr && fovea::detail::same_elements(table_, fovea::detail::once(table));
    }

    /// The interval of the elements over ranges of the indices, and of those that share tiles with them.
    interval<number> range(ranges at) const {
        for (std::size_t axis = 0; axis < rank; ++axis) {
            index_t const last = table_.extents[axis] - 1, size = size_of_tile(axis);
            at[axis] = {std::clamp<index_t>(at[axis].lo, 0, last) / size,
                        std::clamp<index_t>(at[axis].hi, 0, last) / size};
        }
        interval<number> all{std::numeric_limits<number>::max(), std::numeric_limits<number>::lowest()};
        if constexpr (std::floating_point<number>) all = {ieee::infinity<number>, -ieee::infinity<number>};
        join(at, 0, 0, all);
        return all;
    }

private:
    static constexpr index_t size_of_tile(std::size_t axis) {
        return axis == row_axis ? rows : axis == key_axis ? keys : 1;
    }

    void join(ranges const& at, std::size_t axis, index_t first, interval<number>& all) const {
        for (index_t i = at[axis].lo; i <= at[axis].hi; ++i) {
            index_t const place = first * tiles_[axis] + i;
            if (axis < key_axis) join(at, axis + 1, place, all);
            else all = {std::min(all.lo, extremes_[place].lo), std::max(all.hi, extremes_[place].hi)};
        }
    }

    /// All tiles of some rows.
    void look_at(index_t strip) const {
        ranges at;
        index_t left = strip;
        for (std::size_t axis = key_axis; axis-- > 0;) {
            index_t const first = left % tiles_[axis] * size_of_tile(axis);
            at[axis] = {first, std::min(first + size_of_tile(axis), table_.extents[axis]) - 1};
            left /= tiles_[axis];
        }
        for (index_t t = 0; t < tiles_[key_axis]; ++t) {
            at[key_axis] = {t * keys, std::min((t + 1) * keys, table_.extents[key_axis]) - 1};
            extremes_[strip * tiles_[key_axis] + t] = fovea::detail::range_of(table_, at, least_elements);
        }
    }

    view<T const, Rank> table_{};
    extents_t<Rank> tiles_{};
    interval<number>* extremes_ = nullptr;  // (tiles)
};

/// The tables that a condition reads for each pair of positions.
template <class E>
constexpr auto tables_of_pairs(E const& e) {
    if constexpr (is_node_of<at_operation, E>) {
        using table = std::remove_cvref_t<decltype(get<0>(e).table)>;
        if constexpr (uses<E, q_idx_t> && uses<E, kv_idx_t> && table::rank >= 2)
            return std::make_tuple(get<0>(e).table);
        else return std::tuple<>();
    } else if constexpr (is_node<E>) {
        return with_children(e, [](auto const&... child) { return std::tuple_cat(tables_of_pairs(child)...); });
    } else {
        return std::tuple<>();
    }
}
template <class... Views>
struct extremes_of;
template <class... T, int... Rank>
struct extremes_of<std::tuple<view<T const, Rank>...>> {
    using type = std::tuple<table_extremes<T, Rank>...>;
};

/// The extremes of all tables that a condition reads for each pair: of those that are larger than a box of which every
/// element is looked at, in calls of enough queries to share them.
template <class Predicate>
class known_extremes {
    using all = typename extremes_of<decltype(tables_of_pairs(std::declval<Predicate const&>()))>::type;
    static constexpr index_t least_queries = 16;

public:
    static constexpr bool any = std::tuple_size_v<all> > 0;

    known_extremes() = default;
    template <class Executor>
    known_extremes(Executor const& executor, arena& memory, Predicate const& predicate, index_t queries)
        : most_elements_(memory.measures() ? 0 : fovea::detail::elements_in_box) {
        if constexpr (any) {
            if (queries < least_queries) return;
            auto const tables = tables_of_pairs(predicate);
            [&]<std::size_t... N>(std::index_sequence<N...>) {
                auto const look = [&](auto& extremes, auto const& table) {
                    if (fovea::detail::once(table).size() > fovea::detail::elements_in_box)
                        extremes = std::remove_cvref_t<decltype(extremes)>(executor, memory, table);
                };
                (look(std::get<N>(all_), std::get<N>(tables)), ...);
            }(std::make_index_sequence<std::tuple_size_v<all>>());
        }
    }

    /// The interval of the elements of a table over ranges of its indices.
    template <class T, int Rank>
    auto range(view<T const, Rank> const& table, std::array<interval<index_t>, std::size_t{Rank}> const& at) const {
        using number = typename decltype(fovea::detail::any_element<T>())::value_type;
        interval<number> found{};
        bool known = false;
        auto const look = [&]<class Extremes>(Extremes const& extremes) {
            if constexpr (std::is_same_v<Extremes, table_extremes<T, Rank>>)
                if (!known && most_elements_ > 0 && extremes.is_of(table) && elements(at) >= Extremes::least_elements) {
                    found = extremes.range(at);
                    known = true;
                }
        };
        std::apply([&](auto const&... each) { (look(each), ...); }, all_);
        return known ? found : fovea::detail::range_of(table, at, most_elements_);
    }
    /// Of how many elements the extremes are looked up: of none where a call measures, which does not read tables.
    index_t most_elements() const { return most_elements_; }

private:
    template <class Ranges>
    static index_t elements(Ranges const& at) {
        double count = 1;
        for (auto const& side : at) count *= static_cast<double>(side.hi) - static_cast<double>(side.lo) + 1;
        return count < 1e9 ? static_cast<index_t>(count) : index_t{1000000000};
    }

    all all_;
    index_t most_elements_ = fovea::detail::elements_in_box;
};

}  // namespace fovea::FOVEA_SET::driver
