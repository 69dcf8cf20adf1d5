// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weighted sums whose products are computed of parts, or scores of integers: what a specification asks for, and where
// that says nothing.
#pragma once

#include <fovea/core/diagnose.hpp>
#include <fovea/spec/pipe.hpp>
#include <fovea/spec/recurrence.hpp>

#include <string>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// Each number is a sum of so many bfloat16.
template <int Parts>
struct bf16_parts_t {
    static constexpr int parts = Parts;
    static constexpr bool rounds_queries = false;
    /// As it is written.
    static std::string name() { return "bf16x" + std::to_string(Parts); }
};
/// Queries are rounded to blocks of integers where keys are stored so.
struct q8_blocks_t {
    static constexpr int parts = 0;
    static constexpr bool rounds_queries = true;
    static std::string name() { return "q8"; }
};

/// A specification that asks for one of them (aggregate/precision.hpp).
template <class Format>
struct precision_t {
    using precision_tag = void;
    FOVEA_NO_UNIQUE_ADDRESS Format format;
};

/// An aggregator whose products, or those of the scores, may be computed so.
template <linear_aggregator Aggregate, class Format>
struct in_parts : Aggregate {
    using precision_format = Format;
    constexpr in_parts() = default;
    constexpr explicit in_parts(Aggregate const& a) : Aggregate(a) {}
    std::string text() const {
        return describe(static_cast<Aggregate const&>(*this)) + " | precision(" + Format::name() + ")";
    }
};

/// Whether an aggregator says how products are computed.
template <class Aggregate>
concept asks_for_precision = requires { typename Aggregate::precision_format; };

/// The parts that an aggregator asks for, or a specification; 0 where it does not.
template <class Aggregate>
inline constexpr int asked_parts = 0;
template <asks_for_precision Aggregate>
inline constexpr int asked_parts<Aggregate> = Aggregate::precision_format::parts;
template <attention_spec A>
using sum_of_values = std::remove_cvref_t<decltype(core_of(std::declval<A const&>().aggregate))>;
template <attention_spec A>
inline constexpr int asked_parts_of = asked_parts<sum_of_values<A>>;

/// Whether an aggregator asks for rounded queries.
template <class Aggregate>
inline constexpr bool rounds_queries = false;
template <asks_for_precision Aggregate>
inline constexpr bool rounds_queries<Aggregate> = Aggregate::precision_format::rounds_queries;

namespace detail {
/// The sentences for a specification that has no sums of products.
template <class Aggregate>
constexpr bool may_ask_for_parts() {
    constexpr bool none = is_empty_slot<Aggregate>, state = recurrent_aggregator<Aggregate>,
                   asks = asks_for_precision<Aggregate>, sums = none || state || linear_aggregator<Aggregate>;
    static_assert(!none, "fovea: precision says how weighted sums are computed: write it after weighted_sum");
    static_assert(!state, "fovea: a running state is computed in the type of the arithmetic: leave out precision(...)");
    static_assert(sums, "fovea: this aggregator is no sum of products: leave out precision(...)");
    static_assert(!asks, "fovea: this specification already has a precision: another cannot be added after it");
    return !none && !state && !asks && sums;
}
template <class Format, class Aggregate>
constexpr auto with_parts(Aggregate const& a) {
    if constexpr (is_finished<Aggregate>) {
        auto const first = with_parts<Format>(a.first);
        return finished<std::remove_const_t<decltype(first)>, std::remove_cvref_t<decltype(a.second)>>{first, a.second};
    } else return in_parts<Aggregate, Format>(a);
}
}  // namespace detail

template <attention_spec A, class Format>
constexpr auto operator|(A const& a, precision_t<Format>) {
    using P = std::remove_cvref_t<decltype(a.project)>;
    using S = std::remove_cvref_t<decltype(a.score)>;
    using M = std::remove_cvref_t<decltype(a.mask)>;
    using N = std::remove_cvref_t<decltype(a.normalize)>;
    if constexpr (!detail::may_ask_for_parts<std::remove_cvref_t<decltype(core_of(a.aggregate))>>()) {
        return ill_formed{};
    } else {
        auto const aggregate = detail::with_parts<Format>(a.aggregate);
        return attention<P, S, M, N, std::remove_const_t<decltype(aggregate)>>{a.project, a.score, a.mask, a.normalize,
                                                                               aggregate};
    }
}
template <attention_stage Stage, class Format>
constexpr auto operator|(Stage const& stage, precision_t<Format> const& precision) {
    return (empty_attention{} | stage) | precision;
}
template <class Format, pipeable Right>
constexpr ill_formed operator|(precision_t<Format>, Right const&) {
    static_assert(never<Right>, "fovea: precision says how weighted sums are computed: write it after weighted_sum");
    return {};
}

namespace detail {
/// The sentences for a call of this arithmetic in which the precision of products is asked for.
template <class A, class Real>
constexpr bool has_sound_precision() {
    if constexpr (asks_for_precision<sum_of_values<A>>) {
        constexpr bool in_float = std::is_same_v<Real, float>, dense = !enumerating_mask<decltype(A::mask)>;
        constexpr bool rounds = rounds_queries<sum_of_values<A>>;
        static_assert(
            in_float || rounds,
            "fovea: this call is computed in double, of which bfloat16 keep few bits: leave out precision(...)");
        static_assert(in_float || !rounds,
                      "fovea: this call is computed in double, of which q8 keeps few bits: leave out precision(...)");
        static_assert(
            dense,
            "fovea: this mask lists the keys of each query, and no matrix is multiplied: leave out precision(...)");
        return in_float && dense;
    }
    return true;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
