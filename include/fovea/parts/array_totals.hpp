// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of tables, matrices and biases that are summed over parts of a sequence, wherever and in whatever order
// these are computed.
#pragma once

#include <fovea/driver/run_gradient.hpp>
#include <fovea/parts/exact_sum.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::driver {

/// Sums of the arrays of a specification over parts of its pairs and rows: those of one part are rounded, and added
/// without rounding to those of others, so that totals do not depend on the order of parts. Elements of a table that
/// has `q_idx` among its indices get something from the queries of one position alone: they are added up as they are.
///
/// Memory: an exact_sum for each element of the others.
template <class T, class... Asked>
class array_totals {
    using exact = exact_sum<T>;

public:
    template <attention_spec A>
    explicit array_totals(A const& a, Asked const&... asked) : asked_(asked...) {
        std::size_t n = 0;
        (begin(a, asked, sums_[n++]), ...);
    }

    index_t elements() const {
        std::size_t all = 0;
        for (auto const& each : sums_) all += each.part.size();
        return static_cast<index_t>(all);
    }
    /// Of all that is added up.
    index_t bytes() const {
        std::size_t all = 0;
        for (auto const& each : sums_)
            all += each.by_query ? each.part.size() * sizeof(T) : each.whole.size() * sizeof(std::int64_t);
        return static_cast<index_t>(all);
    }

    /// Where a part adds to what is asked for in place N: dense.
    template <std::size_t N>
    T* of_asked() {
        return sums_[N].part.data();
    }
    template <class Element, int Rank>
    bool asks(view<Element const, Rank> const& array) {
        bool any = false;
        for_each_named(array, [&](view<T, Rank> const&) { any = true; });
        return any;
    }
    template <class Element, int Rank>
    void add(view<Element const, Rank> const& array, extents_t<Rank> const& at, T amount) {
        for_each_named(array, [&](view<T, Rank> const& part) {
            std::apply([&](auto... index) { part(index...) += amount; }, at);
        });
    }
    /// Of all elements, in the order of their indices.
    template <class Element, int Rank>
    void add_all(view<Element const, Rank> const& array, T const* amounts) {
        for_each_named(array, [&](view<T, Rank> const& part) {
            index_t const size = fovea::detail::once(part).size();
            for (index_t i = 0; i < size; ++i) part.data[i] += amounts[i];
        });
    }
    /// What has been added belongs to the totals, and the next part begins.
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
    struct summed {
        bool by_query = false;
        std::vector<T> part;              // of the part at hand; empty where it is not found
        std::vector<std::int64_t> whole;  // (elements, words)
    };

    template <class A, class Each>
    static void begin(A const& a, Each const& asked, summed& to) {
        int found = 0, by_weights = 0;
        auto const count_in = [&](int& count) { return [&](auto const& each) { count += fovea::names(asked, each); }; };
        fovea::detail::for_each_array_with_gradient(a, count_in(found));
        if (found == 0) return;
        fovea::detail::for_each_expression_of_weights(
            a, [&](auto const& e) { fovea::detail::for_each_table_of(e, count_in(by_weights)); });
        if constexpr (may_read<A, Each>)
            to.by_query = found == by_weights && differs_along(asked.of, find_table(a, asked).reads.query);
        to.part.assign(static_cast<std::size_t>(asked.of.size()), T{0});
        if (!to.by_query) to.whole.assign(to.part.size() * std::size_t{exact::words}, 0);
    }
    template <class Into>
    static void add_to(summed const& from, Into const& into) {
        if (from.part.empty()) return;
        T* const to = into();
        for (std::size_t i = 0; i < from.part.size(); ++i)
            to[i] += from.by_query ? from.part[i] : exact::rounded(from.whole.data() + i * std::size_t{exact::words});
    }
    /// Calls f with the sums of a part of an array, wherever it is asked for.
    template <class Element, int Rank, class F>
    void for_each_named(view<Element const, Rank> const& array, F const& f) {
        [&]<std::size_t... N>(std::index_sequence<N...>) {
            [[maybe_unused]] auto const look = [&](auto const& asked, auto& sum) {
                if constexpr (may_name<false, std::remove_cvref_t<decltype(asked)>, Element, Rank>)
                    if (fovea::names(asked, array)) f(fovea::detail::beside(array, sum.part.data()));
            };
            (look(std::get<N>(asked_), sums_[N]), ...);
        }(std::index_sequence_for<Asked...>());
    }

    std::tuple<Asked...> asked_;
    std::array<summed, sizeof...(Asked)> sums_;
};

}  // namespace fovea::FOVEA_SET::driver
