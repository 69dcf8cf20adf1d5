// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weighted sums that are added up in an order which depends on a query and its keys alone: what a specification asks
// for, and where that cannot be promised.
#pragma once

#include <fovea/core/diagnose.hpp>
#include <fovea/spec/in_parts.hpp>
#include <fovea/spec/pipe.hpp>

#include <string>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// A specification that asks for it (aggregate/batch_invariant.hpp).
struct batch_invariant_t {};

/// An aggregator whose sums, and those of the scores, have a fixed order.
template <linear_aggregator Aggregate>
struct in_fixed_order : Aggregate {
    static constexpr bool fixed_order = true;
    constexpr in_fixed_order() = default;
    constexpr explicit in_fixed_order(Aggregate const& a) : Aggregate(a) {}
    std::string text() const { return describe(static_cast<Aggregate const&>(*this)) + " | batch_invariant"; }
};

/// Whether an aggregator asks for a fixed order.
template <class Aggregate>
inline constexpr bool asks_for_fixed_order = requires { requires Aggregate::fixed_order; };

namespace detail {
/// The sentences for a specification whose sums have no fixed order.
template <class Aggregate>
constexpr bool may_fix_order() {
    constexpr bool none = is_empty_slot<Aggregate>, state = recurrent_aggregator<Aggregate>,
                   asks = asks_for_fixed_order<Aggregate>, parts = asks_for_precision<Aggregate>,
                   sums = none || state || linear_aggregator<Aggregate>;
    static_assert(!none, "fovea: batch_invariant says how weighted sums are computed: write it after weighted_sum");
    static_assert(!state, "fovea: a running state has one order of its own: leave out batch_invariant");
    static_assert(sums, "fovea: this aggregator is no sum of products: leave out batch_invariant");
    static_assert(!asks, "fovea: this specification already has batch_invariant: leave out one of them");
    static_assert(!parts, "fovea: batch_invariant has an arithmetic of its own: leave out precision(...)");
    return !none && !state && !asks && !parts && sums;
}
template <class Aggregate>
constexpr auto with_fixed_order(Aggregate const& a) {
    if constexpr (is_finished<Aggregate>) {
        auto const first = with_fixed_order(a.first);
        return finished<std::remove_const_t<decltype(first)>, std::remove_cvref_t<decltype(a.second)>>{first, a.second};
    } else return in_fixed_order<Aggregate>(a);
}
}  // namespace detail

template <attention_spec A>
constexpr auto operator|(A const& a, batch_invariant_t) {
    using P = std::remove_cvref_t<decltype(a.project)>;
    using S = std::remove_cvref_t<decltype(a.score)>;
    using M = std::remove_cvref_t<decltype(a.mask)>;
    using N = std::remove_cvref_t<decltype(a.normalize)>;
    if constexpr (!detail::may_fix_order<std::remove_cvref_t<decltype(core_of(a.aggregate))>>()) {
        return ill_formed{};
    } else {
        auto const aggregate = detail::with_fixed_order(a.aggregate);
        return attention<P, S, M, N, std::remove_const_t<decltype(aggregate)>>{a.project, a.score, a.mask, a.normalize,
                                                                               aggregate};
    }
}
template <attention_stage Stage>
constexpr auto operator|(Stage const& stage, batch_invariant_t fixed) {
    return (empty_attention{} | stage) | fixed;
}
template <pipeable Right>
constexpr ill_formed operator|(batch_invariant_t, Right const&) {
    static_assert(never<Right>,
                  "fovea: batch_invariant says how weighted sums are computed: write it after weighted_sum");
    return {};
}
template <attention_spec A, class Format>
    requires asks_for_fixed_order<sum_of_values<A>>
constexpr ill_formed operator|(A const&, precision_t<Format>) {
    static_assert(never<A>, "fovea: batch_invariant has an arithmetic of its own: leave out precision(...)");
    return {};
}

}  // namespace fovea::FOVEA_SET
