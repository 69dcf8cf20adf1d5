// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of tables that are summed over parts of a sequence, wherever and in whatever order these are computed.
#pragma once

#include <fovea/core/exact_sum.hpp>
#include <fovea/driver/run_gradient.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::driver {

/// Sums of the tables of an attention over parts of its pairs: those of one part are rounded, and added without
/// rounding to those of others, so that totals do not depend on the order of parts. Elements of a table that has
/// `q_idx` among its indices get something from the queries of one position alone: they are added up as they are.
///
/// Memory: an exact_sum for each element of the other tables.
template <class T, class... Asked>
class table_totals {
    using exact = exact_sum<T>;

public:
    template <attention_spec A>
    explicit table_totals(A const& a, Asked const&... asked) {
        std::size_t n = 0;
        (begin(a, asked, sums_[n++]), ...);
    }

    bool any() const {
        return std::any_of(sums_.begin(), sums_.end(), [](auto const& each) { return each.found; });
    }
    index_t elements() const {
        std::size_t all = 0;
        for (auto const& each : sums_) all += each.found ? each.part.size() : 0;
        return static_cast<index_t>(all);
    }
    /// Of all that is added up.
    index_t bytes() const {
        std::size_t all = 0;
        for (auto const& each : sums_)
            if (each.found)
                all += each.by_query ? each.part.size() * sizeof(T) : each.whole.size() * sizeof(std::int64_t);
        return static_cast<index_t>(all);
    }
    /// Where a part adds to a table that is asked for in place N: dense.
    template <std::size_t N>
    T* of_asked() {
        return sums_[N].part.data();
    }
    /// What of_asked() has belongs to the totals, and the next part begins.
    void end_part() {
        for (auto& each : sums_)
            for (std::size_t i = 0; i < (each.by_query ? 0 : each.part.size()); ++i)
                if (T& x = each.part[i]; x != T{0}) {
                    exact::add(each.whole.data() + i * std::size_t{exact::words}, x);
                    x = T{0};
                }
    }

    /// Calls f(numbers, count) for all that is added up, element by element, with the same of whoever computed other
    /// parts.
    template <class F>
    void for_each_sum(F const& f) {
        for (auto& each : sums_) {
            if (!each.found) continue;
            if (each.by_query) f(each.part.data(), static_cast<index_t>(each.part.size()));
            else f(each.whole.data(), static_cast<index_t>(each.whole.size()));
        }
    }
    /// After the last part: adds the totals to the sums of what is asked for.
    template <class Sums>
    void add_to(Sums& sums) {
        [&]<std::size_t... N>(std::index_sequence<N...>) {
            (add_to(sums_[N], [&] { return sums.template of_asked<N>(); }), ...);
        }(std::index_sequence_for<Asked...>());
    }

private:
    struct table {
        bool found = false, by_query = false;
        std::vector<T> part;
        std::vector<std::int64_t> whole;  // (elements, words)
    };

    template <class A, class Each>
    static void begin(A const& a, Each const& asked, table& to) {
        if constexpr (may_read<A, Each>) {
            auto const found = find_table(a, asked);
            if (!found.any) return;
            auto const count = static_cast<std::size_t>(asked.of.size());
            to.found = true;
            to.by_query = found.reads.query >= 0;
            to.part.assign(count, T{0});
            if (!to.by_query) to.whole.assign(count * std::size_t{exact::words}, 0);
        }
    }
    template <class Into>
    static void add_to(table const& from, Into const& into) {
        if (!from.found) return;
        T* const to = into();
        for (std::size_t i = 0; i < from.part.size(); ++i)
            to[i] += from.by_query ? from.part[i] : exact::rounded(from.whole.data() + i * std::size_t{exact::words});
    }

    std::array<table, sizeof...(Asked)> sums_;
};

}  // namespace fovea::FOVEA_SET::driver
