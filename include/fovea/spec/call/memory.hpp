// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one door for memory: every array that a call reads or writes passes it before anything is computed.
//
// The memory of a call is found by walking the specification: tables in its expressions, and what its other parts tell
// of through memory(visit). A part that keeps something and does not tell is refused, so that none can be forgotten.
#pragma once

#include <fovea/core/memory.hpp>
#include <fovea/core/paged.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/spec/attention.hpp>
#include <fovea/spec/finish.hpp>
#include <fovea/spec/headwise.hpp>
#include <fovea/spec/recurrence.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET {

/// A part of a specification that tells which arrays it reads: memory(visit) calls visit(view, what) for each; `what`
/// begins a sentence, "the matrix for ". A part that keeps numbers only has a memory(visit) that does nothing.
template <class Part>
concept tells_memory =
    std::is_empty_v<Part> || requires(Part const& part) { part.memory([](auto const&, auto...) {}); };

namespace detail {
/// Said once for each part.
template <class Part>
inline constexpr bool told_memory = [] {
    static_assert(tells_memory<Part>,
                  "fovea: a map, gate or list of keys with members must report the arrays it reads: add memory(visit), "
                  "empty if it holds only numbers");
    return tells_memory<Part> && !std::is_empty_v<Part>;
}();

template <class Part, class Visit>
FOVEA_INLINE void visit_part(Part const& part, Visit const& visit, char const* owner = "") {
    if constexpr (told_memory<Part>)
        part.memory([&](auto const& array, char const* what) { visit(region_of(array, what, owner)); });
}

template <class E, class Visit>
FOVEA_INLINE void visit_tables(E const& e, Visit const& visit, char const* name) {
    if constexpr (is_parameter<E>) visit(region_of_table(e.table, name));
    else if constexpr (is_node<E> && reads_a_table<E>)
        with_children(e, [&](auto const&... children) { (visit_tables(children, visit, name), ...); });
}

template <class Map, class Visit>
FOVEA_INLINE void visit_row_map(Map const& map, Visit const& visit, char const* argument) {
    if constexpr (successive_map<Map>) {  // no lambda around it: GCC says no further sentence after one in there
        visit_row_map(map.first, visit, argument);
        visit_row_map(map.second, visit, argument);
    } else {
        visit_part(row_map_below(map), visit, argument);
        for_each_head_map(map, [&](auto const& each) { visit_part(each, visit, argument); });
    }
}

/// Visits the expressions that a normalizer evaluates for each row.
template <class Visit>
struct visited_rows {
    Visit const& visit;
    double operator()(auto const& e) const {
        visit_tables(e, visit, "a table of the normalizer");
        return 1;
    }
};
}  // namespace detail

/// for_each_array_read: calls visit with the memory_region of every array that a specification reads.
template <attention_spec A, class Visit>
FOVEA_INLINE void for_each_array_read(A const& a, Visit const& visit) {
    using namespace detail;
    if constexpr (projection<decltype(a.project)>) {
        visit_row_map(a.project.query, visit, "query");
        visit_row_map(a.project.key, visit, "key");
        visit_row_map(a.project.value, visit, "value");
    }
    visit_tables(a.score.expression(), visit, "a table of the score");
    visit_tables(a.mask.predicate(), visit, "a table of the mask");
    if constexpr (enumerating_mask<decltype(a.mask)>) visit_part(a.mask.neighbor_list(), visit);
    auto const normalizer = normalizer_of(a.normalize);
    if constexpr (row_dependent_normalizer<std::remove_const_t<decltype(normalizer)>>)
        static_cast<void>(normalizer.for_row(visited_rows<Visit>{visit}));
    visit_tables(reweighting_of(a.normalize), visit, "a table of the weights");
    auto const aggregate = core_of(a.aggregate);
    if constexpr (recurrent_aggregator<std::remove_const_t<decltype(aggregate)>>) {
        visit_part(aggregate.gate, visit);
        visit_part(aggregate.correction, visit);
    }
    if constexpr (value_adding_aggregator<std::remove_const_t<decltype(aggregate)>>)
        visit_tables(aggregate.added(), visit, "a table of the values");
    for_each_finish(a.aggregate, [&](auto const& finish) {
        using finish_type = std::remove_cvref_t<decltype(finish)>;
        if constexpr (linear_finish<finish_type>) visit_row_map(finish.linear(), visit, "the result");
        else if constexpr (pointwise_finish<finish_type>)
            visit_tables(finish.expression(), visit, "a table of the result's map");
    });
}

/// Calls visit(region) for the arrays of queries, keys or values: of a view, or those that a source names.
template <class Rows, class Visit>
FOVEA_INLINE void for_each_array_of_rows(Rows const& rows, char const* argument, Visit const& visit) {
    if constexpr (requires { rows.for_each_array([](auto const&, char const*) {}); }) {
        rows.for_each_array(
            [&](auto const& array, char const* what) { visit(detail::region_of(array, argument, what)); });
    } else {
        visit(detail::region_of(rows, argument));
    }
}

/// Every array that a call reads.
template <attention_spec A, class Q, class KeyRows, class ValueRows, class Visit>
FOVEA_INLINE void for_each_array_read(A const& a, Q const& query, KeyRows const& key, ValueRows const& value,
                                      Visit const& visit) {
    for_each_array_of_rows(query, "query", visit);
    for_each_array_of_rows(key, "key", visit);
    for_each_array_of_rows(value, "value", visit);
    for_each_array_read(a, visit);
}

namespace detail {
/// Errors: shape_error where what is written repeats an element, or shares one with what is read or also written. All
/// of it is sound. `reads` calls what it is given with each region that is read.
template <std::size_t Count, class Reads>
FOVEA_INLINE void check_written(std::array<memory_region, Count> const& written, Reads const& reads) {
    for (auto const& region : written) require_distinct_elements(region);
    for (std::size_t i = 0; i < Count; ++i)
        for (std::size_t j = 0; j < i; ++j) require_apart(written[i], written[j]);
    reads([&](memory_region const& read) {
        for (auto const& w : written) require_apart(w, read);
    });
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
