// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ragged batches: sequences packed one after another, and the specification of one of them.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/as_view.hpp>
#include <fovea/core/config.hpp>
#include <fovea/core/diagnose.hpp>
#include <fovea/spec/block_scaled.hpp>
#include <fovea/spec/call/check_call.hpp>
#include <fovea/spec/part/of_part.hpp>
#include <fovea/spec/part/rewritten.hpp>
#include <fovea/spec/quantized.hpp>
#include <fovea/spec/shapes.hpp>

#include <concepts>
#include <string>

namespace fovea::FOVEA_SET {

namespace detail {
/// Rows of one sequence, whose maps know all sequences.
struct rows_numbered {
    index_t number, sequences;
    constexpr head_place operator()(head_place at) const {
        at.batch = number;
        return at;
    }
    constexpr extents_t<4> operator()(extents_t<4> rows) const {
        rows[0] = sequences;
        return rows;
    }
};

/// `batch` is the number of the sequence.
struct numbered {
    index_t number, sequences, first_query;

    template <class E>
    static constexpr bool changes = uses<E, batch_t>;
    template <class E>
    constexpr auto operator()(E const& e) const {
        if constexpr (changes<E>) return substitute(e, placeholders::batch, literal<index_t>{number});
        else return e;
    }
    /// The rows of all sequences lie one after another in one batch element.
    template <class E>
    constexpr auto rows(E const& e) const {
        using namespace placeholders;
        return substitute(substitute(e, batch, literal<index_t>{0}), q_idx, q_idx + first_query);
    }
    constexpr rows_numbered queries() const { return {number, sequences}; }
    constexpr rows_numbered keys() const { return {number, sequences}; }
};
}  // namespace detail

/// of_sequence: what a specification for a ragged batch is for one of its sequences.
template <attention_spec A>
constexpr auto of_sequence(A const& a, sequence_place const& at) {
    return rewritten(a, detail::numbered{at.number, at.sequences, at.first_query}, [&](auto const& aggregate) {
        return detail::at_steps(aggregate, at.first_key, at.keys, at.all_keys);
    });
}

/// Where the sequences of a ragged batch begin and end: one offset more than there are sequences.
template <class Index>
struct ragged_t {
    static constexpr int turn_before_specification = 3;  // after an executor, a workspace and ranks
    view<Index const, 1> query_offsets;
    view<Index const, 1> key_offsets;

    index_t sequences() const { return query_offsets.extent(0) - 1; }
    sequence_place operator[](index_t i) const {
        auto const at = [i](view<Index const, 1> const& offsets, index_t n) {
            return static_cast<index_t>(offsets(i + n));
        };
        return {i,
                sequences(),
                at(query_offsets, 0),
                at(query_offsets, 1) - at(query_offsets, 0),
                at(key_offsets, 0),
                at(key_offsets, 1) - at(key_offsets, 0),
                at(query_offsets, sequences() - i),
                at(key_offsets, sequences() - i)};
    }

    /// The arrays that are read: visit(region).
    template <class Visit>
    void memory(Visit const& visit) const {
        visit(detail::region_of(query_offsets, "the query offsets of ragged"));
        visit(detail::region_of(key_offsets, "the key offsets of ragged"));
    }

    /// Errors: shape_error when the offsets do not go from 0 to the number of packed positions.
    void check(index_t queries, index_t keys) const {
        if (query_offsets.extent(0) != key_offsets.extent(0))
            raise_error(shape_error("ragged: ", detail::there_are(query_offsets.extent(0), "query offset"), " and ",
                                    detail::counted(key_offsets.extent(0), "key offset")));
        check(query_offsets, queries, "query");
        check(key_offsets, keys, "key");
    }

private:
    static void check(view<Index const, 1> const& offsets, index_t positions, char const* name) {
        auto const say = [&](auto const&... what) {
            raise_error(shape_error("ragged: the ", name, " offsets ", what...));
        };
        index_t const n = offsets.extent(0);
        if (n == 0 || offsets(index_t{0}) != 0) say("do not begin with 0");
        for (index_t i = 1; i < n; ++i)
            if (offsets(i) < offsets(i - 1)) say("fall from ", offsets(i - 1), " to ", offsets(i));
        if (static_cast<index_t>(offsets(n - 1)) != positions)
            say("end at ", offsets(n - 1), ", ", name, " has ", detail::counted(positions, "position"));
    }
};

namespace detail {
template <class Range, class Lvalue>
constexpr auto offsets_of(Lvalue& offsets) {
    static_assert(!is_temporary_owner<Range>,
                  "fovea: ragged keeps a view of the offsets, and this container is a temporary, destroyed at the end "
                  "of the statement");
    auto const v = view_of(offsets);
    constexpr bool one_axis = decltype(v)::rank == 1;
    static_assert(one_axis, "fovea: the offsets of ragged are one list of integers");
    if constexpr (one_axis) return view<typename decltype(v)::value_type const, 1>(v);
    else return view<index_t const, 1>();
}
}  // namespace detail

/// ragged: one call for sequences of different lengths, packed one after another in one array.
///
///     attend(ragged(offsets), spec, x, result)
///     attend(ragged(query_offsets, key_offsets), spec, query, key, value, result)
///
/// Positions offsets[i] ... offsets[i + 1] - 1 are a call of their own: they start at 0, and `batch` is i.
/// Shapes: views are (position, feature) or have a batch of one; states are (sequence, head, feature, feature); `lse`,
/// gates and rates are packed.
/// Cost: that of one call for each sequence; sequences run in parallel if there are as many as threads.
/// Edge cases: a sequence may have no queries, or no keys. The offsets are kept as views.
/// Errors: shape_error where offsets do not ascend from 0 to the number of positions; nothing is written then. At
/// compile time, for masks that list keys, and outputs other than `lse`, save, past_state and present_state.
template <class Queries, class Keys>
constexpr auto ragged(Queries&& query_offsets, Keys&& key_offsets) {
    auto const queries = detail::offsets_of<Queries>(query_offsets);
    auto const keys = detail::offsets_of<Keys>(key_offsets);
    using index = typename decltype(queries)::value_type;
    constexpr bool of_one_type = std::is_same_v<index, typename decltype(keys)::value_type> && std::integral<index>;
    static_assert(of_one_type, "fovea: the offsets of ragged are integers of one type");
    if constexpr (of_one_type) return ragged_t<index>{queries, keys};
    else return ragged_t<index_t>{};
}
template <class Offsets>
constexpr auto ragged(Offsets&& offsets) {
    return fovea::ragged(std::forward<Offsets>(offsets), std::forward<Offsets>(offsets));
}

namespace detail {
/// The positions of one sequence.
template <class T>
view<T, 4> rows_of_sequence(view<T, 4> const& all, index_t first, index_t count) {
    return {
        all.place(index_t{0}, index_t{0}, first, index_t{0}), {1, all.extent(1), count, all.extent(3)}, all.strides};
}
template <class Blocks>
auto rows_of_sequence(quantized_rows<view<Blocks, 4>> const& all, index_t first, index_t count) {
    return quantized_rows(rows_of_sequence(all.blocks, first, count));
}
inline no_zeros rows_of_sequence(no_zeros, index_t, index_t) { return {}; }
template <class Number, class Scale, class Zeros>
auto rows_of_sequence(block_scaled_rows<view<Number, 4>, view<Scale, 4>, Zeros> const& all, index_t first,
                      index_t count) {
    return block_scaled_rows(rows_of_sequence(all.numbers, first, count), rows_of_sequence(all.scales, first, count),
                             rows_of_sequence(all.zeros, first, count));
}
template <class Rows>
view<float, 4> rows_of_sequence(Rows const&, index_t, index_t) {
    static_assert(
        never<Rows>,
        "fovea: ragged keys and values lie one after another: pages, and sources of your own, are those of one "
        "sequence");
    return {};
}

/// An output for one sequence.
template <class Asked>
auto output_of_sequence(Asked const& asked, sequence_place const& at) {
    constexpr bool can = requires { asked.of_sequence(at); };
    static_assert(
        can,
        "fovea: beside the result, ragged has lse, save, past_state and present_state; ask for others by sequence");
    if constexpr (can) return asked.of_sequence(at);
    else return asked;
}
template <class T>
inline constexpr bool is_ragged = false;
template <class Index>
inline constexpr bool is_ragged<ragged_t<Index>> = true;

/// ragged_attention: an attention within each sequence of a ragged batch, for bind_call.
template <class Index, attention_spec A>
struct ragged_attention : A {
    ragged_t<Index> sequences;
};

/// The call that one sequence of a ragged one makes, with every check of its extents.
template <attention_spec A, class... Asked>
FOVEA_INLINE auto call_of_sequence(A const& a, auto const& all, std::tuple<Asked...> const& asked,
                                   sequence_place const& at) {
    using call_type =
        bound_call<decltype(rows_of_sequence(all.query, 0, 0)), decltype(rows_of_sequence(all.key, 0, 0)),
                   decltype(rows_of_sequence(all.value, 0, 0)), decltype(rows_of_sequence(all.result, 0, 0)),
                   decltype(output_of_sequence(std::declval<Asked const&>(), at))...>;
    call_type call{rows_of_sequence(all.query, at.first_query, at.queries),
                   rows_of_sequence(all.key, at.first_key, at.keys),
                   rows_of_sequence(all.value, at.first_key, at.keys),
                   rows_of_sequence(all.result, at.first_query, at.queries),
                   std::apply([&](auto const&... each) { return std::tuple(output_of_sequence(each, at)...); }, asked),
                   {}};
    check_extents(a, call);
    return call;
}

/// Everything that can be wrong with the offsets of a ragged call, and with arrays that are packed otherwise; `out` has
/// a row for each query.
template <class Index, attention_spec A, class Call, class Out>
void check_packed(ragged_attention<Index, A> const& of, Call const& call, Out const& out, char const* name_of_out) {
    static_assert(!enumerating_mask<decltype(of.mask)>,
                  "fovea: a mask that lists keys cannot be used in a ragged call");
    A const& a = of;
    auto const& all = of.sequences;
    auto const& q = call.query;
    auto const& k = call.key;
    auto const& v = call.value;
    check_memory_read(a, call);
    all.memory([](memory_region const& region) { require_sound(region); });
    require_sound(region_of(out, name_of_out));
    all.check(q.extent(2), k.extent(2));
    for (auto const& [extent, name] : {std::pair(q.extent(0), "query"), std::pair(k.extent(0), "key"),
                                       std::pair(v.extent(0), "value"), std::pair(out.extent(0), name_of_out)})
        if (extent != 1)
            raise_error(shape_error(name, " has ", counted(extent, "batch element"),
                                    "; a ragged call takes one, with its sequences packed one after another"));
    check_added_rows(a, 1, q.extent(2));
    if (v.extent(2) != k.extent(2)) require_equal(v.extent(2), k.extent(2), "value", "position", "key");
    if (out.extent(2) != q.extent(2)) require_equal(out.extent(2), q.extent(2), name_of_out, "position", "query");
}

/// Everything that can be wrong with a ragged call, before anything is written.
template <class Index, attention_spec A, class Call>
FOVEA_INLINE void check_call(ragged_attention<Index, A> const& of, Call& call) {
    A const& a = of;
    auto const& all = of.sequences;
    auto const& [q, k, v, out, asked, shapes] = call;
    check_packed(of, call, out, "result");
    if (all.sequences() == 0) return;
    for (index_t i = 0; i < all.sequences(); ++i)
        call.shapes = call_of_sequence(of_sequence(a, all[i]), call, asked, all[i]).shapes;
    call.shapes.query[2] = q.extent(2);
    call.shapes.key[2] = call.shapes.value[2] = k.extent(2);
    check_memory_written(a, call, asked, [&](auto const& visit) { all.memory(visit); });
}

/// Tells outputs of the shapes of all sequences, before the first of these writes.
template <class Call>
void begin_sequences(Call const& call) {
    auto const begin = [&](auto const& asked) {
        if constexpr (requires { asked.begin_sequences(call.shapes); }) asked.begin_sequences(call.shapes);
    };
    std::apply([&](auto const&... each) { (begin(each), ...); }, call.asked);
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
