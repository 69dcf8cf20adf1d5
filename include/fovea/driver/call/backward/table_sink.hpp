// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where gradients of tables are summed: in the result, or in copies for shares of the tasks, which are joined in order.
#pragma once

#include <fovea/core/memory.hpp>
#include <fovea/core/view.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/kernel/backward/scatter.hpp>
#include <fovea/spec/call/gradient_sink.hpp>

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>

namespace fovea::FOVEA_SET::driver {

/// True for a table that a sink has sums of: `Of` is a view of it, or what grad(...) made.
template <class Of, class Element, int Rank>
inline constexpr bool may_be_table = fovea::may_name<false, Of, Element, Rank>;
template <class OfElement, int OfRank, class Element, int Rank>
inline constexpr bool may_be_table<view<OfElement, OfRank>, Element, Rank> =
    std::is_same_v<OfElement, Element const> && OfRank == Rank;

/// The same of the table that a parameter reads.
template <class Of, class E>
inline constexpr bool may_be_read_by = false;
template <class Of, class Element, int Rank>
inline constexpr bool may_be_read_by<Of, parameter<Element, Rank>> = may_be_table<Of, Element, Rank>;

/// The sums of one share of the tasks: those of all tables, each dense; null where none are wanted.
template <class T, class... Of>
struct table_share : kernel::adds_to_tables<T, table_share<T, Of...>> {
    std::tuple<Of...> const* of;
    std::array<T*, sizeof...(Of)> at;

    using share_type = table_share;
    template <class E>
    static constexpr bool takes = (may_be_read_by<Of, E> || ...);

    template <class Element, int Rank, class F>
    FOVEA_INLINE void for_each_sum(view<Element const, Rank> const& table, F const& f) const {
        [&]<std::size_t... I>(std::index_sequence<I...>) FOVEA_LAMBDA {
            [[maybe_unused]] auto const look = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) FOVEA_LAMBDA {
                if constexpr (may_be_table<std::tuple_element_t<N, std::tuple<Of...>>, Element, Rank>)
                    if (at[N] != nullptr && is_of(std::get<N>(*of), table)) f(detail::beside(table, at[N]));
            };
            (look(std::integral_constant<std::size_t, I>()), ...);
        }(std::index_sequence_for<Of...>());
    }
    /// True where the sums of a table are wanted.
    FOVEA_INLINE bool any() const {
        return std::any_of(at.begin(), at.end(), [](T* sums) { return sums != nullptr; });
    }
    /// Those of a table; without memory where its gradient is not asked for.
    template <class Element, int Rank>
    FOVEA_INLINE view<T, Rank> sums(view<Element const, Rank> const& table) const {
        view<T, Rank> found{};
        for_each_sum(table, [&](view<T, Rank> const& to) FOVEA_LAMBDA { found = to; });
        return found;
    }

private:
    template <class Element, int Rank>
    static bool is_of(view<Element const, Rank> const& known, view<Element const, Rank> const& table) {
        return detail::same_elements(known, detail::once(table));
    }
    template <class Asked, class Element, int Rank>
    static bool is_of(Asked const& asked, view<Element const, Rank> const& table) {
        return fovea::names(asked, table);
    }
};

/// Sums in some copies, of which the first is the result. Copies are joined in order: results have the same bits in any
/// number of threads.
template <class T, std::size_t Count>
class shared_sums {
public:
    using counts = std::array<index_t, Count>;

    shared_sums() = default;
    /// `copies` of the sums of each table.
    shared_sums(std::array<T*, Count> const& results, counts const& sizes, counts const& copies, arena& memory)
        : results_(results), sizes_(sizes), numbers_(copies) {
        for (std::size_t n = 0; n < Count; ++n) {
            if (results[n] == nullptr || copies[n] < 2) continue;
            copies_[n] = memory.template take<T>((copies[n] - 1) * sizes[n]);
            std::fill_n(copies_[n], (copies[n] - 1) * sizes[n], T{0});
        }
    }

    /// The sums of one copy of each table; the only one where there is no other.
    std::array<T*, Count> of(counts const& copy) const {
        auto all = results_;
        for (std::size_t n = 0; n < Count; ++n)
            if (copies_[n] != nullptr && copy[n] > 0) all[n] = copies_[n] + (copy[n] - 1) * sizes_[n];
        return all;
    }
    std::array<T*, Count> of(index_t copy) const {
        counts all;
        all.fill(copy);
        return of(all);
    }
    /// After the last task.
    void join() const {
        for (std::size_t n = 0; n < Count; ++n)
            for (index_t copy = 1; copies_[n] != nullptr && copy < numbers_[n]; ++copy) {
                T const* const from = copies_[n] + (copy - 1) * sizes_[n];
                for (index_t i = 0; i < sizes_[n]; ++i) results_[n][i] += from[i];
            }
    }

private:
    std::array<T*, Count> results_{}, copies_{};
    counts sizes_{}, numbers_{};
};

/// Which tasks reach one element of a table: no two; at most one of each batch element and split, since heads have
/// elements of their own; or any.
enum class reached_by { one_task, tasks_of_one_head, any_tasks };

/// The tasks of a gradient: each key head is one task, or as many as its queries are split into.
struct gradient_tasks {
    index_t batches, key_heads, splits;
    index_t count() const { return batches * key_heads * splits; }
};

/// The sums of the tables of a dense call, whose shares depend on sizes alone.
///
/// Memory: up to most_shares - 1 times the tables; of large ones, as many as take most_numbers together, at least
/// least_shares - 1. Of tables with elements of their own for each head, one less than batch elements and splits.
template <class T, class... Tables>
class table_sink {
    static constexpr index_t most_shares = 16, least_shares = 4, most_numbers = index_t{1} << 25;
    static constexpr std::size_t count = sizeof...(Tables);
    using counts = typename shared_sums<T, count>::counts;

public:
    using share_type = table_share<T, Tables...>;
    template <class E>
    static constexpr bool takes = share_type::template takes<E>;

    /// `results` are dense.
    table_sink(std::tuple<Tables...> const& of, std::array<T*, count> const& results,
               std::array<reached_by, count> const& reached, arena& memory, gradient_tasks const& tasks)
        : of_(of), reached_(reached), tasks_(tasks) {
        counts sizes{}, copies{};
        std::size_t i = 0;
        std::apply([&](auto const&... each) { ((sizes[i++] = each.size()), ...); }, of_);
        index_t numbers = 0;
        for (std::size_t n = 0; n < count; ++n) numbers += reached[n] == reached_by::one_task ? 0 : sizes[n];
        shares_ = numbers == 0 ? tasks.count() : std::clamp(most_numbers / numbers, least_shares, most_shares);
        shares_ = std::min(shares_, tasks.count());
        for (std::size_t n = 0; n < count; ++n) {
            if (tasks.batches * tasks.splits >= shares_ && reached_[n] == reached_by::tasks_of_one_head)
                reached_[n] = reached_by::any_tasks;
            copies[n] = reached_[n] == reached_by::one_task  ? 1
                      : reached_[n] == reached_by::any_tasks ? shares_
                                                             : tasks.batches * tasks.splits;
        }
        sums_ = shared_sums<T, count>(results, sizes, copies, memory);
    }

    /// The tasks of a share are [first, last), one after the other in one thread.
    index_t tasks() const { return tasks_.count(); }
    index_t shares() const { return shares_; }
    index_t first_task(index_t share) const { return share * tasks() / shares_; }
    share_type of_task(index_t task) const {
        counts copy{};
        for (std::size_t n = 0; n < count; ++n)
            copy[n] = reached_[n] == reached_by::tasks_of_one_head
                        ? task / (tasks_.key_heads * tasks_.splits) * tasks_.splits + task % tasks_.splits
                        : ((task + 1) * shares_ - 1) / tasks();
        return {{}, &of_, sums_.of(copy)};
    }
    /// For what goes to no table.
    share_type none() const { return {{}, &of_, {}}; }
    /// After the last task.
    void join() const { sums_.join(); }

private:
    std::tuple<Tables...> of_;
    std::array<reached_by, count> reached_;
    shared_sums<T, count> sums_;
    gradient_tasks tasks_;
    index_t shares_;
};

}  // namespace fovea::FOVEA_SET::driver
