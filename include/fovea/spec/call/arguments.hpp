// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arguments of a call: which may stand there, in which order or by which name, said in one sentence where it does
// not.
#pragma once

#include <fovea/core/diagnose.hpp>
#include <fovea/core/executor.hpp>
#include <fovea/spec/attention.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/shapes.hpp>

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>

namespace fovea::FOVEA_SET {

template <class T, int Rank>
struct queries_input {
    view<T const, Rank> source;
};
template <class T, int Rank>
struct memory_input {
    view<T const, Rank> source;
};

/// queries(x): the source of the queries: (position, feature) or (batch, position, feature).
template <class Source>
constexpr auto queries(Source&& x) {
    auto const v = detail::operand_of(x);
    return queries_input<typename std::remove_const_t<decltype(v)>::value_type, decltype(v)::rank>{v};
}

/// memory(x): the common source of keys and values.
template <class Source>
constexpr auto memory(Source&& x) {
    auto const v = detail::operand_of(x);
    return memory_input<typename std::remove_const_t<decltype(v)>::value_type, decltype(v)::rank>{v};
}

namespace detail {
/// The kind of an argument of a call.
enum class place_in_call { before, specification, queries, memory, operand, output };

/// The order of arguments before a specification: an executor, a workspace, a ragged batch.
template <class T>
inline constexpr int turn_of = -1;
template <class T>
    requires(numbers_workers<T> || has_bulk<T>)
inline constexpr int turn_of<T> = 0;
template <class T>
    requires requires { T::turn_before_specification; }
inline constexpr int turn_of<T> = T::turn_before_specification;

/// A workspace is written, so it has a name.
template <class T>
inline constexpr bool argument_is_written = turn_of<T> == 1;

template <class T>
inline constexpr place_in_call place_of = place_in_call::operand;
template <class T>
    requires(turn_of<T> >= 0)
inline constexpr place_in_call place_of<T> = place_in_call::before;
template <class T>
    requires(attention_spec<T> || attention_stage<T>)
inline constexpr place_in_call place_of<T> = place_in_call::specification;
template <class T, int Rank>
inline constexpr place_in_call place_of<queries_input<T, Rank>> = place_in_call::queries;
template <class T, int Rank>
inline constexpr place_in_call place_of<memory_input<T, Rank>> = place_in_call::memory;
template <extra_output T>
inline constexpr place_in_call place_of<T> = place_in_call::output;

/// How many of the arguments are of a kind, and whether one stands before another.
template <class... Arguments>
struct order_of_call {
    using enum place_in_call;
    static constexpr std::size_t size = sizeof...(Arguments);
    static constexpr std::array<place_in_call, size + 1> places{place_of<std::remove_cvref_t<Arguments>>..., output};

    static constexpr std::size_t count(place_in_call kind) {
        std::size_t n = 0;
        for (std::size_t i = 0; i < size; ++i) n += places[i] == kind;
        return n;
    }
    static constexpr bool stands_before(place_in_call first, place_in_call second) {
        bool seen = false;
        for (std::size_t i = 0; i < size; ++i) {
            if (places[i] == second && seen) return true;
            seen = seen || places[i] == first;
        }
        return false;
    }
};

/// The sentence for the first of the operands that is wrong.
template <class First, class... Rest>
constexpr bool are_operands() {
    using argument = std::remove_cvref_t<First>;
    constexpr bool sound = [] {
        if constexpr (place_of<argument> == place_in_call::operand) return is_operand<argument>();
        else return true;
    }();
    if constexpr (sound && sizeof...(Rest) > 0) return are_operands<Rest...>();
    else return sound;
}

/// The sentences for queries in pages, and for a result that is no view of rows that outlives the call; `At` is its
/// number.
template <std::size_t At, class First, class... Rest>
constexpr bool is_result() {
    using result = std::tuple_element_t<At, std::tuple<First&&, Rest&&...>>;
    constexpr bool pages = is_paged<std::remove_cvref_t<First>> || is_paged<std::remove_cvref_t<result>>
                        || loaded_rows<std::remove_cvref_t<First>> || loaded_rows<std::remove_cvref_t<result>>;
    constexpr bool temporary = is_temporary_owner<
        std::conditional_t<std::is_rvalue_reference_v<result>, std::remove_reference_t<result>, result>>;
    static_assert(!pages,
                  "fovea: only keys and values may be paged or scaled by blocks: pass queries and the result as views");
    static_assert(!temporary,
                  "fovea: the result is a temporary, destroyed at the end of the statement: give it a name");
    return !pages && !temporary;
}

/// The sentences for what follows the specification of a call: Arguments&&...; true where it is in order.
template <class... Arguments>
    requires(is_ill_formed<Arguments> || ...)
constexpr bool is_call() {
    return false;
}
template <class... Arguments>
constexpr bool is_call() {
    using order = order_of_call<Arguments...>;
    using enum place_in_call;
    constexpr std::size_t operands = order::count(operand), named = order::count(queries) + order::count(memory);
    constexpr bool early = order::count(before) > 0;
    constexpr bool second = !early && order::count(specification) > 0;
    constexpr bool in_order = !early && !second;
    constexpr bool outputs_last = !in_order || !order::stands_before(output, operand);
    constexpr bool pairs = named == 0
                        || (named == 2 && order::stands_before(queries, memory) && operands <= 1
                            && !order::stands_before(operand, memory));
    constexpr bool few =
        in_order && outputs_last && pairs && (named == 2 ? operands < 1 : operands < 2 || operands == 3);
    constexpr bool many = in_order && outputs_last && pairs && named == 0 && operands > 4;
    static_assert(!early, "fovea: pass threads(n), a workspace and ragged(...) before the specification");
    static_assert(!second,
                  "fovea: the specification comes first: attend(specification, query, key, value, result), with its "
                  "parts joined by `|`");
    static_assert(outputs_last, "fovea: lse(...), weights(...) and other outputs come after the result");
    static_assert(!in_order || !outputs_last || pairs,
                  "fovea: queries(x) and memory(m) together replace query, key and value: attend(specification, "
                  "queries(x), memory(m), result)");
    static_assert(!few,
                  "fovea: an operand or the result is missing: attend(specification, query, key, value, result), "
                  "attend(specification, x, result) or attend(specification, queries(x), memory(m), result)");
    static_assert(!many,
                  "fovea: a call has query, key, value and result; masks and biases are parts of the specification: "
                  "| mask_tensor(m), | bias(b)");
    if constexpr (!in_order || !outputs_last || !pairs || few || many) return false;
    else if constexpr (!are_operands<Arguments...>()) return false;
    else return is_result<named + operands - 1, Arguments...>();
}

/// Whether Arguments&&... are those of a call that is only explained, and may have no result.
template <class... Arguments>
constexpr bool is_explained_call() {
    using order = order_of_call<Arguments...>;
    using enum place_in_call;
    constexpr std::size_t operands = order::count(operand), named = order::count(queries) + order::count(memory);
    if constexpr (named == 0 ? operands == 1 || operands == 3 : operands == 0)
        return is_call<Arguments..., view<float, 4>&>();
    else return is_call<Arguments...>();
}

/// Whether a call begins with a specification, or with what may stand before it and then a specification.
template <class First, class... Rest>
constexpr bool begins_well(int turn = -1) {
    using argument = std::remove_cvref_t<First>;
    constexpr int its_turn = turn_of<argument>;
    constexpr bool writable = std::is_lvalue_reference_v<First> && !std::is_const_v<std::remove_reference_t<First>>;
    if constexpr (attention_spec<argument>) return true;
    else if constexpr (its_turn < 0 || (has_bulk<argument> && !executor<argument>) || sizeof...(Rest) == 0
                       || (argument_is_written<argument> && !writable))
        return false;
    else return its_turn > turn && begins_well<Rest...>(its_turn);
}

/// The same, of what stands after an executor and a workspace.
template <class... Arguments>
concept begins_call = sizeof...(Arguments) > 0 && begins_well<Arguments...>(1);

/// A call with a specification, or a part of one, that is not where it belongs, or with operands alone.
template <class... Arguments>
concept misordered_call =
    (sizeof...(Arguments) > 0) && !(is_ill_formed<Arguments> || ...) && !begins_well<Arguments...>()
    && (order_of_call<Arguments...>::count(place_in_call::specification)
                + order_of_call<Arguments...>::count(place_in_call::before)
            > 0
        || (viewable<Arguments> && ...));

/// The sentences for it.
template <class... Arguments>
constexpr void refuse_order() {
    using order = order_of_call<Arguments...>;
    using enum place_in_call;
    constexpr bool unusable =
        ((has_bulk<std::remove_cvref_t<Arguments>> && !executor<std::remove_cvref_t<Arguments>>) || ...);
    constexpr bool none = !unusable && order::count(specification) == 0;
    constexpr bool part = !unusable && !none && !(attention_spec<std::remove_cvref_t<Arguments>> || ...);
    constexpr bool late = !unusable && !part && order::stands_before(operand, specification);
    static_assert(
        !unusable,
        "fovea: an executor has bulk(n, f) const and workers() const: write bulk_executor(workers, function)");
    static_assert(!none, "fovea: this call has no specification: attend(specification, query, key, value, result)");
    static_assert(!part,
                  "fovea: this is one part of an attention: join it with others by `|`, at least a score, a normalizer "
                  "and an aggregator");
    static_assert(!late,
                  "fovea: the specification comes first: attend(specification, query, key, value, result), with its "
                  "parts joined by `|`");
    static_assert(unusable || none || part || late,
                  "fovea: before the specification come threads(n), a named workspace and ragged(...), in this order");
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
