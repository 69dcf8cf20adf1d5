// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of tables that a score reads, while tasks sum them side by side.
#pragma once

#include <fovea/core/memory.hpp>
#include <fovea/core/repeated.hpp>
#include <fovea/driver/run/arena.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/kernel/backward/scatter.hpp>

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// The sums of one share of the tasks: those of all tables, each dense.
template <class T, class... Tables>
struct table_share : kernel::adds_to_tables<T, table_share<T, Tables...>> {
    std::tuple<Tables...> const* of;  // the tables, with what is repeated once
    std::array<T*, sizeof...(Tables)> sums;

    template <class Element, int Rank, class F>
    FOVEA_INLINE void for_each_sum(view<Element const, Rank> const& table, F const& f) const {
        [&]<std::size_t... I>(std::index_sequence<I...>) FOVEA_LAMBDA {
            [[maybe_unused]] auto const look = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) FOVEA_LAMBDA {
                if constexpr (std::is_same_v<std::tuple_element_t<N, std::tuple<Tables...>>, view<Element const, Rank>>)
                    if (detail::same_elements(std::get<N>(*of), detail::once(table))) f(detail::beside(table, sums[N]));
            };
            (look(std::integral_constant<std::size_t, I>()), ...);
        }(std::index_sequence_for<Tables...>());
    }
};

/// True for a parameter that is read as such a view.
template <class E, class Table>
inline constexpr bool is_table = false;
template <class Element, int Rank>
inline constexpr bool is_table<parameter<Element, Rank>, view<Element const, Rank>> = true;

/// Where sums of tables go: into the result itself where no two tasks reach one element, as of a table with an element
/// for each batch and head; into as many copies as there are shares of the tasks otherwise, of which the first is the
/// result. Shares depend on sizes alone, and are joined in order: results have the same bits in any number of threads.
///
/// Memory: up to most_shares - 1 times the tables; of large ones, as many as take most_numbers together, at least
/// least_shares - 1.
template <class T, class... Tables>
class table_sums {
    static constexpr index_t most_shares = 16, least_shares = 4, most_numbers = index_t{1} << 25;

public:
    template <class E>
    static constexpr bool takes = (is_table<E, Tables> || ...);
    using share_type = table_share<T, Tables...>;

    /// `results` are dense, `apart` says of which no two tasks reach one element.
    table_sums(std::tuple<Tables...> const& of, std::array<T*, sizeof...(Tables)> const& results,
               std::array<bool, sizeof...(Tables)> const& apart, arena& memory, index_t tasks)
        : of_(of), results_(results), apart_(apart), tasks_(tasks) {
        index_t numbers = 0;
        for (std::size_t n = 0; n < sizeof...(Tables); ++n) numbers += apart_[n] ? 0 : size(n);
        shares_ = numbers == 0 ? tasks : std::clamp(most_numbers / numbers, least_shares, most_shares);
        shares_ = std::min(shares_, tasks);
        for (std::size_t n = 0; n < sizeof...(Tables); ++n)
            if (!apart_[n] && shares_ > 1) {
                copies_[n] = memory.template take<T>((shares_ - 1) * size(n));
                std::fill_n(copies_[n], (shares_ - 1) * size(n), T{0});
            }
    }

    /// The tasks of a share are [first, last), one after the other in one thread.
    index_t tasks() const { return tasks_; }
    index_t shares() const { return shares_; }
    index_t first_task(index_t share) const { return share * tasks_ / shares_; }
    share_type of_task(index_t task) const {
        index_t const share = ((task + 1) * shares_ - 1) / tasks_;
        share_type all{{}, &of_, results_};
        for (std::size_t n = 0; n < sizeof...(Tables); ++n)
            if (!apart_[n] && share > 0) all.sums[n] = copies_[n] + (share - 1) * size(n);
        return all;
    }
    /// For what goes to no table.
    share_type none() const { return {{}, &no_tables, results_}; }
    /// After the last task.
    void join() const {
        for (std::size_t n = 0; n < sizeof...(Tables); ++n)
            for (index_t i = 0; i < (apart_[n] ? 0 : (shares_ - 1) * size(n)); ++i)
                results_[n][i % size(n)] += copies_[n][i];
    }

private:
    static constexpr std::tuple<Tables...> no_tables{};

    index_t size(std::size_t n) const {
        index_t sizes[sizeof...(Tables) + 1] = {};
        std::size_t i = 0;
        std::apply([&](auto const&... each) { ((sizes[i++] = each.size()), ...); }, of_);
        return sizes[n];
    }

    std::tuple<Tables...> of_;
    std::array<T*, sizeof...(Tables)> results_, copies_{};
    std::array<bool, sizeof...(Tables)> apart_;
    index_t tasks_, shares_;
};

}  // namespace fovea::FOVEA_SET::driver
