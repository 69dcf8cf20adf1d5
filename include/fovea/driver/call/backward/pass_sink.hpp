// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where gradients are summed: rows and tables in their targets, or in scratch memory; tables in shares, which are
// joined in order.
#pragma once

#include <fovea/driver/call/backward/table_sink.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/spec/call/gradient_sink.hpp>
#include <fovea/spec/shapes.hpp>

#include <algorithm>
#include <array>
#include <tuple>

namespace fovea::FOVEA_SET::driver {

/// The gradients of operands as a score sees them; of those that nobody asks for there may be no memory.
template <class T>
struct operand_gradients {
    view<T, 4> query, key, value;
};

/// Which shares of the positions reach one element of a table: any, which then have copies; one in each pass; or one of
/// the pass over the keys, which alone adds to the table.
enum class reached_in { any_share, one_share, one_share_of_keys };

/// Where a call of gradient sums what it is asked for.
template <class T, class... Asked>
class pass_sink {
    static constexpr std::size_t count = sizeof...(Asked);
    static constexpr index_t most_shares = 16;

public:
    using share_type = table_share<T, Asked...>;

    pass_sink(workspace& scratch, Asked const&... asked) : scratch_(scratch), asked_(asked...) {}

    /// The gradients of an operand: its target where that is written and has elements of the arithmetic next to each
    /// other, otherwise scratch memory, position by position. Without memory where it is not asked for.
    template <class Element>
    view<T, 4> rows(view<Element const, 4> const& of) {
        view<T, 4> found{};
        for_each_asked([&](auto const& asked, std::size_t n) {
            if (found.data != nullptr || !fovea::names<true>(asked, of)) return;
            if (rows_[n].data == nullptr) rows_[n] = begin_rows(asked);
            found = rows_[n];
            is_row_[n] = true;
        });
        for_each_asked([&](auto const& asked, std::size_t n) {
            if (rows_[n].data == nullptr && fovea::names<true>(asked, of)) rows_[n] = found, is_row_[n] = true;
        });
        return found;
    }
    template <class Rows>
    view<T, 4> rows(Rows const&) {
        return {};
    }

    /// After all rows: memory for the tables. is_read(asked): it is one; reached(asked): which shares reach one of its
    /// elements.
    template <class IsRead, class Reached>
    void begin_tables(IsRead const& is_read, Reached const& reached) {
        std::array<index_t, count> sizes{}, copies{};
        for_each_asked([&](auto const& asked, std::size_t n) {
            first_[n] = first_place(asked, n);
            if (is_row_[n] || first_[n] < n || !asked.wanted || !is_read(asked)) return;
            sizes[n] = asked.of.size();
            reached_[n] = reached(asked);
            shares_ = reached_[n] == reached_in::any_share ? most_shares : shares_;
            T* const target = dense_target(asked);
            tables_[n] = target != nullptr ? target : scratch_.shared().template take<T>(sizes[n]);
            std::fill_n(tables_[n], sizes[n], T{0});
        });
        for (std::size_t n = 0; n < count; ++n) copies[n] = reached_[n] == reached_in::any_share ? shares_ : 1;
        sums_ = shared_sums<T, count>(tables_, sizes, copies, scratch_.shared());
    }
    index_t shares(index_t positions) const {
        return shares_ > 1 ? shares_ : std::max<index_t>(ceil_div(positions, 1024), 1);
    }
    share_type of_share(index_t share) const { return {{}, &asked_, sums_.of(share)}; }
    /// Those of tables to which the pass over the keys alone adds, or of all others.
    share_type of_share(index_t share, bool of_keys) const {
        auto some = of_share(share);
        for (std::size_t n = 0; n < count; ++n)
            if (of_keys != (reached_[n] == reached_in::one_share_of_keys)) some.at[n] = nullptr;
        return some;
    }

    /// Joins the shares, and writes what has not been summed in its target.
    void write() const {
        sums_.join();
        for_each_asked([&](auto const& asked, std::size_t n) {
            if (!asked.wanted) return;
            if (is_row_[n]) return write_rows(rows_[n], asked);
            if (dense_target(asked) != nullptr && dense_target(asked) == tables_[first_[n]]) return;
            write_rounded([&](index_t i) { return tables_[first_[n]][i]; }, asked);
        });
    }
    /// Adds the tables to sums of everything that is asked for, instead.
    template <class Sums>
    void add_tables_to(Sums& sums) const {
        sums_.join();
        [&]<std::size_t... N>(std::index_sequence<N...>) {
            auto const add = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
                T const* const from = tables_[first_[I]];
                if (from == nullptr || !std::get<I>(asked_).wanted) return;
                T* const to = sums.template of_asked<I>();
                for (index_t i = 0; i < std::get<I>(asked_).of.size(); ++i) to[i] += from[i];
            };
            (add(std::integral_constant<std::size_t, N>()), ...);
        }(std::index_sequence_for<Asked...>());
    }

private:
    template <class Each>
    static void write_rows(view<T, 4> const& from, Each const& asked) {
        if constexpr (Each::rank >= 2 && Each::rank <= 4) {
            auto const to = as_heads(asked.target);
            using element = std::remove_pointer_t<decltype(to.data)>;
            if (static_cast<void const*>(to.data) == from.data) return;
            for (index_t b = 0; b < to.extent(0); ++b)
                for (index_t i = 0; i < to.extent(2); ++i)
                    for (index_t h = 0; h < to.extent(1); ++h)
                        for (index_t c = 0; c < to.extent(3); ++c) {
                            element& sum = to(b, h, i, c);
                            T const amount = from(b, h, i, c);
                            sum = rounded_to<element>(asked.adds ? static_cast<T>(sum) + amount : amount);
                        }
        }
    }
    /// Where a gradient is summed in its target: a dense array of numbers, which is written.
    template <class Each>
    T* dense_target(Each const& asked) const {
        if constexpr (std::is_same_v<std::remove_pointer_t<decltype(asked.target.data)>, T>) {
            bool dense = !asked.adds && asked.target.extents == asked.of.extents;
            index_t stride = 1;
            for (std::size_t axis = std::size_t{Each::rank}; axis-- > 0; stride *= asked.target.extents[axis])
                dense = dense && (asked.target.extents[axis] == 1 || asked.target.strides[axis] == stride);
            return dense ? asked.target.data : nullptr;
        } else {
            return nullptr;
        }
    }
    template <class Each>
    view<T, 4> begin_rows(Each const& asked) const {
        if constexpr (Each::rank < 2 || Each::rank > 4) return {};
        else return rows_for(asked);
    }
    template <class Each>
    view<T, 4> rows_for(Each const& asked) const {
        auto const to = as_heads(asked.target);
        if constexpr (std::is_same_v<std::remove_pointer_t<decltype(to.data)>, T>)
            if (!asked.adds && (to.stride(3) == 1 || to.extent(3) <= 1)) return to;
        index_t const row = to.extent(1) * to.extent(3);
        return {scratch_.shared().template take<T>(to.size()), to.extents, {to.extent(2) * row, to.extent(3), row, 1}};
    }
    /// Where the array that is asked for in place n is asked for first: sums of tables are kept once.
    template <class Each>
    std::size_t first_place(Each const& of, std::size_t n) const {
        std::size_t first = n;
        for_each_asked([&](auto const& asked, std::size_t m) {
            if (m < first && fovea::names(asked, of.of)) first = m;
        });
        return first;
    }
    template <class F>
    void for_each_asked(F const& f) const {
        std::size_t n = 0;
        std::apply([&](auto const&... each) { (f(each, n++), ...); }, asked_);
    }

    workspace& scratch_;
    std::tuple<Asked...> asked_;
    std::array<view<T, 4>, count> rows_{};
    std::array<bool, count> is_row_{};
    std::array<T*, count> tables_{};
    std::array<reached_in, count> reached_{};
    shared_sums<T, count> sums_;
    index_t shares_ = 1;
    std::array<std::size_t, count> first_{};
};

}  // namespace fovea::FOVEA_SET::driver
