// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the gradients of vectors of scores back to the parts that these were computed of, and to tables.
#pragma once

#include <fovea/expr/backpropagate.hpp>
#include <fovea/kernel/backward/scatter.hpp>
#include <fovea/kernel/transform.hpp>
#include <fovea/plan/backward/score_gradient.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Where the gradients of vectors of scores go; places as in score_vectors.
template <class T>
struct part_sums {
    T* scores;      // their gradients, which become those of the first part; those of the others, planes of products
                    // and pairwise terms, take the place of these
    T const* kept;  // the first part, where its plane has the scores
    index_t rows;   // those that exist, with queries in lanes
    T* row_terms;   // (terms, row_stride): sums over keys, added up
    index_t row_stride;
    T* key_terms;  // (terms, key_stride): sums over queries, added up
    index_t key_stride;
};

/// From the amount of an expression in lanes back to its leaves, integers narrow or exact, as evaluate_in_lanes has
/// them.
template <class T, class Arch, bool Exact, class E, class Names, class Cotangents>
FOVEA_INLINE void backpropagate_in_lanes(E const& e, Names const& names, pack<T, Arch> const& amount,
                                         Cotangents const& cotangents) {
    if constexpr (Exact) backpropagate(e, exact_environment<T, Arch, Names>{names}, amount, cotangents);
    else if constexpr (chooses_integer<E>)
        backpropagate(e, narrow_environment<T, Arch, Names>{names}, amount, cotangents);
    else backpropagate(e, names, amount, cotangents);
}

namespace detail {
/// Takes amounts of the parts of a pair, as many as there are lanes.
template <class Score, class Vector, class Tables>
struct part_cotangents {
    using cotangent_kinds = typename Score::cotangents;
    Vector* amounts;  // of products, pairwise terms, row terms, key terms
    Tables const& tables;

    template <plan::part Kind>
    static constexpr index_t first = Kind == plan::part::product  ? 0
                                   : Kind == plan::part::pairwise ? Score::products
                                   : Kind == plan::part::row_term ? Score::products + Score::pairs
                                                                  : Score::products + Score::pairs + Score::row_terms;

    template <class Names, plan::part Kind, std::size_t I>
    FOVEA_INLINE void name(Names const&, Vector const& amount, plan::reference<Kind, I>) const {
        auto& sum = amounts[first<Kind> + static_cast<index_t>(I)];
        sum = sum + amount;
    }
    template <class Names, class Element, int Rank, class... Index>
    FOVEA_INLINE void table(Names const&, Vector const& amount, view<Element const, Rank> const& table,
                            Index const&... index) const {
        tables.add(table, amount, index...);
    }
};

/// The names of a score whose first part lies beside it.
template <class Names, class T, class Arch, class First>
struct names_with_first : Names {
    T const* kept;
    using Names::operator();
    FOVEA_INLINE auto operator()(First) const { return pack<T, Arch>::load(kept); }
};

template <class Score, bool Exact, class T, class Arch, class Pointwise, class Rows, bool InLanes, class Tables>
FOVEA_INLINE void backpropagate_vectors(Pointwise const pointwise, row_coordinates const row, Rows const rows,
                                        score_vectors<T, InLanes> const at, part_sums<T> const to,
                                        Tables const& tables) {
    using vector = pack<T, Arch>;
    constexpr index_t planes = Score::products + Score::pairs, parts = planes + Score::row_terms + Score::key_terms;
    vector sums_of_rows[Score::row_terms + 1];
    for (auto& sum : sums_of_rows) sum = vector(T{0});
    for (index_t n = 0; n < at.count; ++n) {
        index_t const key = InLanes ? n : n * vector::lanes, place = n * at.stride;
        auto const base = at.template names<Arch>(row, rows, at.scores + place, key);
        auto const names = [&]() FOVEA_LAMBDA {
            using base_type = std::remove_const_t<decltype(base)>;
            if constexpr (Score::keeps_first)
                return names_with_first<base_type, T, Arch, typename Score::first_part>{base, to.kept + place};
            else return base;
        }();
        auto amount = vector::load(to.scores + place);
        if constexpr (InLanes) amount = select(vector::iota() < vector(to.rows), amount, vector(T{0}));
        vector amounts[std::size_t{parts + 1}];
        for (auto& each : amounts) each = vector(T{0});
        part_cotangents<Score, vector, Tables> const cotangents{amounts, tables};
        backpropagate_in_lanes<T, Arch, Exact>(pointwise, names, amount, cotangents);
        if constexpr (planes > 0) amounts[0].store(to.scores + place);
        for (index_t plane = 1; plane < planes; ++plane)
            amounts[plane].store(at.scores + place + plane * at.plane_stride);
        vector const* const of_rows = amounts + planes;
        vector const* const of_keys = of_rows + Score::row_terms;
        for (index_t i = 0; i < Score::row_terms; ++i) sums_of_rows[i] = sums_of_rows[i] + of_rows[i];
        for (index_t i = 0; i < Score::key_terms; ++i) {
            T* const sum = to.key_terms + i * to.key_stride + key;
            if constexpr (InLanes) *sum += lanes_of<T, Arch>::sum(of_keys[i]);
            else (vector::load(sum) + of_keys[i]).store(sum);
        }
    }
    for (index_t i = 0; i < Score::row_terms; ++i) {
        T* const sum = to.row_terms + i * to.row_stride;
        if constexpr (InLanes) (vector::load(sum) + sums_of_rows[i]).store(sum);
        else *sum += lanes_of<T, Arch>::sum(sums_of_rows[i]);
    }
}
template <class Score, class T, class Arch, class Pointwise, class Rows, bool InLanes, class Tables>
[[gnu::noinline]] void backpropagate_exactly(Pointwise const& pointwise, row_coordinates const& row, Rows const& rows,
                                             score_vectors<T, InLanes> const& at, part_sums<T> const& to,
                                             Tables const& tables) {
    backpropagate_vectors<Score, true, T, Arch>(pointwise, row, rows, at, to, tables);
}
}  // namespace detail

/// backpropagate_scores: the gradients of vectors of scores become those of their parts. `Score` is a
/// plan::score_gradient, `indices` holds the rest with references to index terms, as for transform.
template <class Score, class T, class Arch, class Pointwise, class Indices, class Rows, bool InLanes, class Tables>
FOVEA_INLINE void backpropagate_scores(Pointwise const& pointwise, Indices const& indices, row_coordinates const row,
                                       Rows const rows, score_vectors<T, InLanes> const at, part_sums<T> const to,
                                       Tables const& tables) {
    if constexpr (asks_for_exact<T, Pointwise>)
        if (row.exact) return detail::backpropagate_exactly<Score, T, Arch>(pointwise, row, rows, at, to, tables);
    detail::backpropagate_vectors<Score, false, T, Arch>(indices.pointwise, row, rows, at, to, tables);
}

}  // namespace fovea::FOVEA_SET::kernel
