// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A specification whose indices mean something else: its words with other expressions, its maps with other positions.
#pragma once

#include <fovea/spec/attention.hpp>
#include <fovea/spec/finish.hpp>
#include <fovea/spec/headwise.hpp>
#include <fovea/spec/selection.hpp>

#include <string>

namespace fovea::FOVEA_SET {

/// How a specification is rewritten:
///
///     how(e)                      what stands for an expression
///     how.rows(e)                 the same, of one that adds rows which lie as those of the queries do
///     H::changes<E>               whether that is another one, of an expression of type E
///     how.queries(), how.keys()   where rows lie and how many there are: a function of head_place, and of extents
template <class H>
concept rewriting = requires(H const& how, head_place at, extents_t<4> rows) {
    how(always);
    how.rows(always);
    { H::template changes<always_t> } -> std::convertible_to<bool>;
    { how.queries()(at) } -> std::same_as<head_place>;
    { how.keys()(rows) } -> std::same_as<extents_t<4>>;
};

namespace detail {
/// A word whose expression is that of another one, rewritten.
template <role Role, class Word, class How>
struct rewritten_word : stage<Role> {
    Word word;
    How how;

    constexpr rewritten_word(Word const& w, How const& h) : word(w), how(h) {}
    constexpr auto expression() const { return how(word.expression()); }
    std::string text() const { return describe(word); }
};

/// A finish that adds rows which lie as those of the queries do.
template <class Finish, class How>
struct rewritten_rows : stage<role::finish> {
    static constexpr bool adds_rows = true;
    Finish word;
    How how;

    constexpr rewritten_rows(Finish const& w, How const& h) : word(w), how(h) {}
    constexpr auto expression() const { return how.rows(word.expression()); }
    std::string text() const { return describe(word); }
};

template <class Mask, class How>
struct rewritten_mask : stage<role::mask> {
    Mask mask;
    How how;

    constexpr rewritten_mask(Mask const& m, How const& h) : mask(m), how(h) {}
    constexpr auto predicate() const { return how(mask.predicate()); }
    std::string text() const { return describe(mask); }
};

/// The coordinates of a row that a word sees through its rewriting, and what it gives its expressions in a gradient.
template <class Facts, class How>
struct rewritten_facts {
    Facts const& at;
    How const& how;

    template <class E>
    constexpr decltype(auto) operator()(E const& e) const {
        return at(how(e));
    }
    template <class E, class... Numbers>
    constexpr decltype(auto) add(E const& e, Numbers const&... numbers) const {
        return at.add(how(e), numbers...);
    }
};

/// A normalizer, or a selection, that differs from row to row, with the rules that it has for gradients.
template <class Word, class How>
struct rewritten_by_row {
    Word word;
    How how;

    constexpr rewritten_by_row(Word const& w, How const& h) : word(w), how(h) {}
    template <class Facts>
    constexpr rewritten_facts<Facts, How> through(Facts const& at) const {
        return {at, how};
    }
    template <class Facts>
    constexpr auto for_row(Facts const& at) const {
        return word.for_row(through(at));
    }
    template <class Row, class Facts>
    void gradient(Row&& row, Facts const& at) const
        requires requires { word.gradient(row, through(at)); }
    {
        word.gradient(row, through(at));
    }
    template <class T, class Facts>
    void gradient_of_row(T max, T sum, T mean, Facts const& at) const
        requires requires { word.gradient_of_row(max, sum, mean, through(at)); }
    {
        word.gradient_of_row(max, sum, mean, through(at));
    }
    std::string text() const { return describe(word); }
};
template <class Normalize, class How>
struct rewritten_normalizer : stage<role::normalizer>, rewritten_by_row<Normalize, How> {
    using rewritten_by_row<Normalize, How>::rewritten_by_row;
};
template <class Selection, class How>
struct rewritten_selection : key_selection, rewritten_by_row<Selection, How> {
    using rewritten_by_row<Selection, How>::rewritten_by_row;
};

template <head_map Map, class Rows>
struct rewritten_head_map {
    using head_map_tag = void;
    static constexpr bool linear = linear_head_map<Map>;
    Map map;
    Rows rows;

    constexpr index_t prepared(index_t features) const
        requires prepared_head_map<Map>
    {
        return map.prepared(features);
    }
    template <class T>
    void prepare(T* numbers, index_t features, head_place const& at) const
        requires prepared_head_map<Map>
    {
        map.prepare(numbers, features, rows(at));
    }
    template <class Row, class... Numbers>
    void apply(Row const& row, head_place const& at, Numbers const*... numbers) const
        requires(sizeof...(Numbers) == (prepared_head_map<Map> ? 1 : 0))
    {
        map.apply(row, rows(at), numbers...);
    }
    constexpr auto tables() const
        requires head_map_with_tables<Map>
    {
        return map.tables();
    }
    template <class Row, class... Further>
    void gradient(Row const& x, Row const& d, head_place const& at, Further const&... further) const
        requires(head_map_with_rule<Map>
                 && sizeof...(Further) == (prepared_head_map<Map> ? 1 : 0) + (head_map_with_tables<Map> ? 1 : 0))
    {
        map.gradient(x, d, rows(at), further...);
    }
    constexpr void memory(auto const& visit) const {
        if constexpr (!std::is_empty_v<Map>) map.memory(visit);
    }
    FOVEA_INLINE void check(extents_t<4> const& extents, char const* argument) const {
        if constexpr (requires { map.check(extents, argument); }) map.check(rows(extents), argument);
    }
    std::string text() const { return map.text(); }
};

template <row_map Map, class Rows>
constexpr auto rewritten_map(Map const& map, Rows const& rows) {
    if constexpr (successive_map<Map>) {
        return rewritten_map(map.first, rows) | rewritten_map(map.second, rows);
    } else if constexpr (headwise_map<Map>) {
        using second = rewritten_head_map<std::remove_cvref_t<decltype(map.second)>, Rows>;
        return rewritten_map(map.first, rows) | second{map.second, rows};
    } else {
        return map;
    }
}

template <row_map Query, row_map Key, row_map Value, class Heads>
struct rewritten_projection : stage<role::projection> {
    using heads_type = Heads;
    Query query;
    Key key;
    Value value;

    constexpr rewritten_projection(Query const& q, Key const& k, Value const& v) : query(q), key(k), value(v) {}
    static constexpr std::string_view name = "project";
};

template <class Project, rewriting How>
constexpr auto rewritten_project(Project const& p, How const& how) {
    if constexpr (projection<Project>) {
        auto const q = rewritten_map(p.query, how.queries());
        auto const k = rewritten_map(p.key, how.keys());
        auto const v = rewritten_map(p.value, how.keys());
        return rewritten_projection<std::remove_const_t<decltype(q)>, std::remove_const_t<decltype(k)>,
                                    std::remove_const_t<decltype(v)>, typename Project::heads_type>{q, k, v};
    } else {
        return p;
    }
}

template <class Score, rewriting How>
constexpr auto rewritten_score(Score const& s, How const& how) {
    if constexpr (How::template changes<decltype(s.expression())>)
        return rewritten_word<role::score, Score, How>{s, how};
    else return s;
}

template <class Mask, rewriting How>
constexpr auto rewritten_predicate(Mask const& m, How const& how) {
    if constexpr (How::template changes<decltype(m.predicate())>) return rewritten_mask<Mask, How>{m, how};
    else return m;
}

template <class Selection, rewriting How>
constexpr auto rewritten_keep(Selection const& s, How const& how) {
    if constexpr (row_dependent_selection<Selection>) return rewritten_selection<Selection, How>{s, how};
    else return s;
}

template <class Normalize, rewriting How>
constexpr auto rewritten_normalize(Normalize const& n, How const& how) {
    if constexpr (is_reweighted<Normalize>) {
        auto const first = rewritten_normalize(n.first, how);
        using second = rewritten_word<role::reweighting, std::remove_cvref_t<decltype(n.second)>, How>;
        return reweighted<std::remove_const_t<decltype(first)>, second>{first, second{n.second, how}};
    } else if constexpr (is_kept<Normalize>) {
        auto const selection = rewritten_keep(n.first.selection, how);
        auto const second = rewritten_normalize(n.second, how);
        using selection_type = std::remove_const_t<decltype(selection)>;
        return kept<selection_type, std::remove_const_t<decltype(second)>>(keep_t<selection_type>(selection), second);
    } else if constexpr (row_dependent_normalizer<Normalize>) {
        return rewritten_normalizer<Normalize, How>{n, how};
    } else {
        return n;
    }
}

/// The finishes of an aggregate, rewritten; the aggregate itself becomes core(aggregate).
template <class Aggregate, rewriting How, class Core>
constexpr auto rewritten_aggregate(Aggregate const& a, How const& how, Core const& core) {
    if constexpr (is_finished<Aggregate>) {
        auto const first = rewritten_aggregate(a.first, how, core);
        auto const second = [&] {
            using second_type = std::remove_cvref_t<decltype(a.second)>;
            if constexpr (row_adding_finish<second_type>) return rewritten_rows<second_type, How>{a.second, how};
            else if constexpr (pointwise_finish<second_type>)
                return rewritten_word<role::finish, second_type, How>{a.second, how};
            else return a.second;
        }();
        return finished<std::remove_const_t<decltype(first)>, std::remove_const_t<decltype(second)>>{first, second};
    } else {
        return core(a);
    }
}
}  // namespace detail

/// rewritten: a specification with each of its expressions and the positions of its maps rewritten; its aggregate, a
/// value for each step among them, becomes core(aggregate).
template <attention_spec A, rewriting How, class Core>
constexpr auto rewritten(A const& a, How const& how, Core const& core) {
    auto const p = detail::rewritten_project(a.project, how);
    auto const s = detail::rewritten_score(a.score, how);
    auto const m = detail::rewritten_predicate(a.mask, how);
    auto const n = detail::rewritten_normalize(a.normalize, how);
    auto const g = detail::rewritten_aggregate(a.aggregate, how, core);
    return attention<std::remove_const_t<decltype(p)>, std::remove_const_t<decltype(s)>,
                     std::remove_const_t<decltype(m)>, std::remove_const_t<decltype(n)>,
                     std::remove_const_t<decltype(g)>>{p, s, m, n, g};
}

}  // namespace fovea::FOVEA_SET
