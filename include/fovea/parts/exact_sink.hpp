// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of tables, matrices and biases summed over parts of a sequence, without rounding, so that their order
// does not matter.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/driver/run_gradient.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET {

/// exact_sum: a sum as `words` integers, zeros at first, of which each counts in units 2^32 times those of the one
/// before, from the least number of T on; the last two count infinities of either sign, and a NaN as both.
///
/// Two sums are added integer by integer. Up to 2^30 numbers are added to one.
/// Source: Neal (2015), small superaccumulators.
template <class T>
struct exact_sum {
    using limits = std::numeric_limits<T>;
    static_assert(limits::digits <= 53);
    static constexpr int least = limits::min_exponent - limits::digits;  // the least number is 2^least
    static constexpr index_t numbers = (limits::max_exponent - limits::digits - least) / 32 + 3, words = numbers + 2;

    static void add(std::int64_t* sum, T x) {
        if (x == T{0}) return;
        if (!(std::abs(x) <= limits::max())) {
            sum[numbers] += x < T{0} ? 0 : 1;
            sum[numbers + 1] += x > T{0} ? 0 : 1;
            return;
        }
        int exponent = 0;
        static_cast<void>(std::frexp(x, &exponent));
        int const place = std::max(exponent - limits::digits - least, 0);
        auto const whole = static_cast<std::int64_t>(std::ldexp(x, -(place + least)));
        auto* const to = sum + place / 32;
        add_shifted(to, whole & low_bits, place % 32);
        add_shifted(to + 1, whole >> 32, place % 32);
    }

    /// The number of T that is nearest to a sum.
    static T rounded(std::int64_t const* sum) {
        bool const up = sum[numbers] != 0, down = sum[numbers + 1] != 0;
        if (up && down) return limits::quiet_NaN();
        if (up || down) return up ? limits::infinity() : -limits::infinity();
        auto units = carried(sum, 1);
        bool const negative = units.back() < 0;
        if (negative) units = carried(sum, -1);
        index_t top = numbers;
        while (top > 0 && units[static_cast<std::size_t>(top)] == 0) --top;
        auto const unit = [&](index_t w) {
            return w < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(units[static_cast<std::size_t>(w)]);
        };
        if (unit(top) == 0) return T{0};
        // The 64 bits from the first one on; the last of them says whether any bit follows.
        int const shift = std::countl_zero(unit(top)) - 32;
        std::uint64_t bits = (unit(top) << 32 | unit(top - 1)) << shift;
        if (shift > 0) bits |= unit(top - 2) >> (32 - shift);
        bool rest = (unit(top - 2) << shift & low_bits) != 0;
        for (index_t w = top - 3; w >= 0; --w) rest = rest || unit(w) != 0;
        T const size =
            std::ldexp(static_cast<T>(bits | std::uint64_t{rest}), static_cast<int>(32 * (top - 1)) - shift + least);
        return negative ? -size : size;
    }

private:
    static constexpr std::int64_t low_bits = 0xffffffff;

    static void add_shifted(std::int64_t* to, std::int64_t whole, int shift) {
        std::int64_t const shifted = whole * (std::int64_t{1} << shift);
        to[0] += shifted & low_bits;
        to[1] += shifted >> 32;
    }
    /// The sum times a sign in units from 0 to 2^32 - 1, but for the last one, which has the sign.
    static std::array<std::int64_t, std::size_t{numbers + 1}> carried(std::int64_t const* sum, int sign) {
        std::array<std::int64_t, std::size_t{numbers + 1}> units{};
        std::int64_t carry = 0;
        for (index_t w = 0; w < numbers; ++w) {
            carry += sign * sum[w];
            units[static_cast<std::size_t>(w)] = carry & low_bits;
            carry >>= 32;
        }
        units.back() = carry;
        return units;
    }
};

}  // namespace fovea::FOVEA_SET

namespace fovea::FOVEA_SET::driver {

/// Sums of the arrays of a specification over parts of its pairs and rows: those of one part are rounded, and added
/// without rounding to those of others, so that totals do not depend on the order of parts. Elements of a table that
/// has `q_idx` among its indices get something from the queries of one position alone: they are added up as they are.
///
/// Memory: an exact_sum for each element of the others.
template <class T, class... Asked>
class exact_sink {
    using exact = exact_sum<T>;

public:
    template <attention_spec A>
    explicit exact_sink(A const& a, Asked const&... asked) : asked_(asked...) {
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
    /// Joins the sums of a part to the totals, and begins the next part.
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
