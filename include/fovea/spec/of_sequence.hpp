// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A specification for one sequence of many: `batch` is the number of the sequence, tables for each step are cut.
#pragma once

#include <fovea/spec/finish.hpp>
#include <fovea/spec/headwise.hpp>
#include <fovea/spec/recurrence.hpp>

#include <string>

namespace fovea::FOVEA_SET {

/// One sequence of a ragged batch: its number, and where its queries and keys begin and how many there are.
struct sequence_place {
    index_t number = 0, sequences = 0;
    index_t first_query = 0, queries = 0;
    index_t first_key = 0, keys = 0;
    index_t all_queries = 0, all_keys = 0;  // of all sequences together
};

namespace detail {
template <class E>
constexpr auto numbered(E const& e, index_t number) {
    if constexpr (uses<E, batch_t>) return substitute(e, placeholders::batch, literal<index_t>{number});
    else return e;
}

/// A word whose expression is that of another one, numbered.
template <role Role, class Word>
struct numbered_word : stage<Role> {
    Word word;
    index_t number;

    constexpr numbered_word(Word const& w, index_t n) : word(w), number(n) {}
    constexpr auto expression() const { return numbered(word.expression(), number); }
    std::string text() const { return describe(word); }
};

template <class Mask>
struct numbered_mask : stage<role::mask> {
    Mask mask;
    index_t number;

    constexpr numbered_mask(Mask const& m, index_t n) : mask(m), number(n) {}
    constexpr auto predicate() const { return numbered(mask.predicate(), number); }
    std::string text() const { return describe(mask); }
};

template <class Normalize>
struct numbered_normalizer : stage<role::normalizer> {
    Normalize normalize;
    index_t number;

    constexpr numbered_normalizer(Normalize const& n, index_t i) : normalize(n), number(i) {}
    template <class Facts>
    constexpr auto for_row(Facts const& at) const {
        return normalize.for_row([&](auto const& e) { return at(numbered(e, number)); });
    }
    std::string text() const { return describe(normalize); }
};

template <head_map Map>
struct numbered_head_map {
    using head_map_tag = void;
    Map map;
    index_t number, sequences;

    constexpr index_t prepared(index_t features) const
        requires prepared_head_map<Map>
    {
        return map.prepared(features);
    }
    template <class T>
    void prepare(T* numbers, index_t features, head_place at) const
        requires prepared_head_map<Map>
    {
        at.batch = number;
        map.prepare(numbers, features, at);
    }
    template <class Row, class... Numbers>
    void apply(Row const& row, head_place at, Numbers const*... numbers) const
        requires(sizeof...(Numbers) == (prepared_head_map<Map> ? 1 : 0))
    {
        at.batch = number;
        map.apply(row, at, numbers...);
    }
    template <class Visit>
    constexpr void memory(Visit const& visit) const {
        if constexpr (!std::is_empty_v<Map>) map.memory(visit);
    }
    FOVEA_INLINE void check(extents_t<4> rows, char const* argument) const {
        rows[0] = sequences;
        if constexpr (requires { map.check(rows, argument); }) map.check(rows, argument);
    }
    std::string text() const { return map.text(); }
};

template <row_map Map>
constexpr auto map_of_sequence(Map const& map, sequence_place const& at) {
    if constexpr (headwise_map<Map>) {
        using second = numbered_head_map<std::remove_cvref_t<decltype(map.second)>>;
        return map_of_sequence(map.first, at) | second{map.second, at.number, at.sequences};
    } else {
        return map;
    }
}

template <row_map Query, row_map Key, row_map Value, class Heads>
struct projection_of_sequence : stage<role::projection> {
    using heads_type = Heads;
    Query query;
    Key key;
    Value value;

    constexpr projection_of_sequence(Query const& q, Key const& k, Value const& v) : query(q), key(k), value(v) {}
    static constexpr std::string_view name = "project";
};

template <class Project>
constexpr auto project_of_sequence(Project const& p, sequence_place const& at) {
    if constexpr (projection<Project>) {
        auto const q = map_of_sequence(p.query, at);
        auto const k = map_of_sequence(p.key, at);
        auto const v = map_of_sequence(p.value, at);
        return projection_of_sequence<std::remove_const_t<decltype(q)>, std::remove_const_t<decltype(k)>,
                                      std::remove_const_t<decltype(v)>, typename Project::heads_type>{q, k, v};
    } else {
        return p;
    }
}

template <class Normalize>
constexpr auto normalize_of_sequence(Normalize const& n, sequence_place const& at) {
    if constexpr (is_reweighted<Normalize>) {
        auto const first = normalize_of_sequence(n.first, at);
        using second = numbered_word<role::reweighting, std::remove_cvref_t<decltype(n.second)>>;
        return reweighted<std::remove_const_t<decltype(first)>, second>{first, second{n.second, at.number}};
    } else if constexpr (row_dependent_normalizer<Normalize>) {
        return numbered_normalizer<Normalize>{n, at.number};
    } else {
        return n;
    }
}

template <class Aggregate>
constexpr auto aggregate_of_sequence(Aggregate a, sequence_place const& at) {
    if constexpr (is_finished<Aggregate>) {
        auto const first = aggregate_of_sequence(a.first, at);
        auto const second = [&] {
            if constexpr (pointwise_finish<std::remove_cvref_t<decltype(a.second)>>)
                return numbered_word<role::finish, std::remove_cvref_t<decltype(a.second)>>{a.second, at.number};
            else return a.second;
        }();
        return finished<std::remove_const_t<decltype(first)>, std::remove_const_t<decltype(second)>>{first, second};
    } else {
        if constexpr (recurrent_aggregator<Aggregate>) {
            if constexpr (Aggregate::gated)
                a.gate.decay = a.gate.decay.part(at.first_key, at.keys, at.all_keys, "gated");
            if constexpr (Aggregate::corrected)
                a.correction.rate = a.correction.rate.part(at.first_key, at.keys, at.all_keys, "delta");
        }
        return a;
    }
}
}  // namespace detail

/// of_sequence: what a specification for a ragged batch is for one of its sequences.
template <attention_spec A>
constexpr auto of_sequence(A const& a, sequence_place const& at) {
    using score = std::remove_cvref_t<decltype(a.score)>;
    using mask = std::remove_cvref_t<decltype(a.mask)>;
    auto const p = detail::project_of_sequence(a.project, at);
    auto const s = [&] {
        if constexpr (uses<decltype(a.score.expression()), batch_t>)
            return detail::numbered_word<role::score, score>{a.score, at.number};
        else return a.score;
    }();
    auto const m = [&] {
        if constexpr (uses<decltype(a.mask.predicate()), batch_t>)
            return detail::numbered_mask<mask>{a.mask, at.number};
        else return a.mask;
    }();
    auto const n = detail::normalize_of_sequence(a.normalize, at);
    auto const g = detail::aggregate_of_sequence(a.aggregate, at);
    return attention<std::remove_const_t<decltype(p)>, std::remove_const_t<decltype(s)>,
                     std::remove_const_t<decltype(m)>, std::remove_const_t<decltype(n)>,
                     std::remove_const_t<decltype(g)>>{p, s, m, n, g};
}

}  // namespace fovea::FOVEA_SET
