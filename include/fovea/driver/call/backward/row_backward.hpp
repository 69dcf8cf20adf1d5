// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One row of a gradient pass: scores become weights, and the gradients of weights those of scores, by the backward rule
// of the normalizer and of expressions on weights.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/kernel/backward/score_derivative.hpp>
#include <fovea/kernel/row.hpp>
#include <fovea/kernel/score_packs.hpp>
#include <fovea/plan/normalizing.hpp>
#include <fovea/spec/row_gradient.hpp>
#include <fovea/spec/selection.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// The scores of a row that take part, their weights, and the gradients of these, which become those of the scores.
/// A rule computes with numbers; sums have as many parts as a vector has lanes, so that a compiler can make vectors of
/// them.
template <class T, class Arch>
struct row_gradient {
    using value_type = T;
    using vector = pack<T, Arch>;
    static constexpr index_t width = vector::lanes;

    T const *scores, *weights;
    T* gradients;
    index_t count;

    index_t size() const { return count; }

    template <class F>
    T sum(F const& f) const {
        index_t const packs = count / width;
        T all = lanes_of<T, Arch>::sum(sum_of_packs<packs_in_sequence, vector>(packs, [&](index_t first, index_t n) {
            alignas(64) T total[std::size_t{width}] = {};
            for (index_t i = first * width; i < (first + n) * width; i += width)
                for (index_t lane = 0; lane < width; ++lane) total[lane] += at(f, i + lane);
            return vector::load(total);
        }));
        for (index_t i = packs * width; i < count; ++i) all += at(f, i);
        return all;
    }
    template <class F>
    void map(F const& f) const {
        for (index_t i = 0; i < count; ++i) gradients[i] = at(f, i);
    }
    /// The derivative of an elementwise weight at a score.
    template <class N>
    static T slope(N const& n, T score) {
        return fovea::detail::slope_of_weight(n, score);
    }

    /// The same row for what computes with vectors of it.
    struct in_vectors {
        using value_type = T;
        row_gradient const& row;

        index_t size() const { return row.count; }
        template <class F>
        FOVEA_INLINE T sum(F const& f) const {
            return lanes_of<T, Arch>::sum(sum_of_packs<packs_in_sequence, vector>(
                ceil_div(row.count, width), [&](index_t first, index_t n) FOVEA_LAMBDA {
                    vector total(T{0});
                    for (index_t i = first * width; i < std::min((first + n) * width, row.count); i += width)
                        total = total + select(vector::iota() < vector(row.count - i), value(f, i), vector(T{0}));
                    return total;
                }));
        }
        template <class F>
        FOVEA_INLINE void map(F const& f) const {
            for (index_t i = 0; i < row.count; i += width)
                store_as<T, Arch>(value(f, i), row.gradients + i, row.count - i);
        }

    private:
        template <class F>
        FOVEA_INLINE vector value(F const& f, index_t i) const {
            index_t const left = row.count - i;
            return vector(f(load_as<T, Arch>(row.scores + i, left), load_as<T, Arch>(row.weights + i, left),
                            load_as<T, Arch>(row.gradients + i, left)));
        }
    };
    in_vectors vectors() const { return {*this}; }

private:
    template <class F>
    FOVEA_INLINE T at(F const& f, index_t i) const {
        return static_cast<T>(f(scores[i], weights[i], gradients[i]));
    }
};

/// The leaves of an expression of one number, a score or a weight, and of tables, those that `Tables` takes.
template <class Tables>
struct number_kinds {
    template <class E>
    static constexpr bool takes = [] {
        if constexpr (is_parameter<E>) return Tables::template takes<E>;
        else return std::is_same_v<E, score_t> || std::is_same_v<E, weight_t>;
    }();
};

/// Where their amounts go, numbers or vectors of them.
template <class Number, class Kinds, class Share>
struct number_cotangents {
    using cotangent_kinds = Kinds;
    Share const& tables;
    Number* number = nullptr;

    template <class Names, class Name>
    FOVEA_INLINE void name(Names const&, Number const& amount, Name) const {
        *number = *number + amount;
    }
    template <class Names, class Element, int Rank, class... Index>
    FOVEA_INLINE void table(Names const&, Number const& amount, view<Element const, Rank> const& table,
                            Index const&... index) const {
        tables.add(table, amount, index...);
    }
};

/// A score of a row, or a vector of them, and the indices of the row.
template <class T, class Arch, class Number>
struct score_of_row : index_environment<T, Arch, index_t> {
    Number score;
    using index_environment<T, Arch, index_t>::operator();
    FOVEA_INLINE Number operator()(score_t) const { return score; }
};

namespace detail {
template <class Kinds, bool Exact, class T, class Arch, class Expression, class Normalize, class Keys, class Share>
FOVEA_INLINE void reweigh_row_gradient(Expression const& expression, row_coordinates const& coordinates,
                                       packed_row<T, Arch, Normalize, Keys> const& row, T* gradients,
                                       Share const& tables) {
    using vector = pack<T, Arch>;
    for (index_t column = 0; column < row.size(); column += vector::lanes) {
        auto const keys = lane_keys<T, Arch>(row.keys, column);
        weight_environment<T, Arch, std::remove_const_t<decltype(keys)>> const here{{coordinates, keys, column},
                                                                                    vector::load(row.scores + column)};
        vector of_weight(T{0});
        backpropagate_in_lanes<T, Arch, Exact>(expression, here, vector::load(gradients + column),
                                               number_cotangents<vector, Kinds, Share>{tables, &of_weight});
        of_weight.store(gradients + column);
    }
}
}  // namespace detail

/// reweigh_gradient: the gradients of weights that kernel::reweigh has changed become those of the weights before,
/// which `row` holds. `Kinds` says which tables have a gradient.
template <class Kinds, class T, class Arch, class Expression, class Normalize, class Keys, class Share>
void reweigh_gradient(Expression const& expression, row_coordinates const& coordinates,
                      packed_row<T, Arch, Normalize, Keys> const& row, T* gradients, Share const& tables) {
    if constexpr (asks_for_exact<T, Expression>)
        if (coordinates.exact)
            return detail::reweigh_row_gradient<Kinds, true>(expression, coordinates, row, gradients, tables);
    detail::reweigh_row_gradient<Kinds, false>(expression, coordinates, row, gradients, tables);
}

}  // namespace fovea::FOVEA_SET::kernel

namespace fovea::FOVEA_SET::driver {

/// The coordinates of a row that a backward rule may read, and the gradients that it gives the expressions of the row,
/// whose tables go to `sums`; Tables says which of them are asked for.
template <class T, class Arch, class Tables>
struct gradient_coordinates : coordinates_of_row<T, Arch> {
    typename Tables::share_type const& sums;
    template <class Number>
    using cotangents = kernel::number_cotangents<Number, kernel::number_kinds<Tables>, typename Tables::share_type>;

    template <class E>
    void add(E const& e, T amount) const {
        backpropagate(e, kernel::index_environment<T, Arch, index_t>{this->row, 0}, amount, cotangents<T>{sums});
    }
    /// The same for an expression of a score, whose gradient is returned; of a vector of them too.
    template <class E, class Number>
    FOVEA_INLINE Number add(E const& e, Number const& score, Number const& amount) const {
        Number of_score(T{0});
        backpropagate(e, kernel::score_of_row<T, Arch, Number>{{this->row, 0}, score}, amount,
                      cotangents<Number>{sums, &of_score});
        return of_score;
    }
};

/// The rule of a normalizer and of a reweighting after it:
///
///     apply(coordinates, row, gradients, tables, arriving)    scores become weights, their gradients those of the
///     scores, in
///                                                       place; arriving(weights, gradients) adds to the latter before
///
/// Pairs that take no part, whose scores are excluded, get 0 for both, whatever their gradients are. Of a row of which
/// pairs between others take no part, the rule sees a copy without these.
template <class T, class Arch, class Normalize, class Reweight, class Tables, class Keys = kernel::consecutive_keys>
class row_backward {
    using normalizing = plan::normalizing<Normalize, T>;
    using row_type = kernel::packed_row<T, Arch, typename normalizing::of_row, Keys>;
    using vector = kernel::pack<T, Arch>;
    using share = typename Tables::share_type;
    static constexpr bool reweighs = !std::is_same_v<Reweight, weight_t>;

public:
    row_backward(arena& memory, Normalize const& normalize, Reweight const& reweight, index_t keys)
        : normalize_(normalize),
          reweight_(reweight),
          scores_(memory.template take<T>(keys)),
          weights_(memory.template take<T>(reweighs ? keys : 0)),
          left_{memory.template take<T>(keys), memory.template take<T>(keys), memory.template take<T>(keys)},
          places_(memory.template take<index_t>(keys)) {}

    template <class Arriving>
    void apply(kernel::row_coordinates const& coordinates, row_type const& row, T* gradients, share const& tables,
               Arriving const& arriving) const {
        index_t const size = row.size();
        std::copy_n(row.scores, size, scores_);
        auto const seen = visible(size);
        if (seen.size() == 0) {
            std::fill_n(row.scores, size, T{0});
            std::fill_n(gradients, size, T{0});
            return;
        }
        gradient_coordinates<T, Arch, Tables> const at{{coordinates}, tables};
        typename normalizing::state state{};
        normalizing::whole(normalizer_of_row(normalize_, coordinates_of_row<T, Arch>{coordinates}), state, row);
        T const* weights = row.scores;
        if constexpr (reweighs) {
            weights = std::copy_n(row.scores, size, weights_) - size;
            kernel::reweigh<plan::scales_weight<Reweight>>(reweight_, coordinates, row);
        }
        clear_excluded(row.scores, size);
        arriving(row.scores, gradients);
        if constexpr (reweighs) {
            clear_excluded(gradients, size);
            kernel::reweigh_gradient<kernel::number_kinds<Tables>>(
                reweight_, coordinates, row_type{weights_, row.packs, row.keys}, gradients, tables);
        }
        apply_to_kept(normalize_, row_type{scores_, row.packs, row.keys}, weights, gradients, at);
    }

private:
    /// The places of `scores_` outside which all are excluded.
    index_range visible(index_t size) const {
        index_range seen{0, size};
        while (seen.first < seen.last && scores_[seen.first] == excluded<T>) ++seen.first;
        while (seen.first < seen.last && scores_[seen.last - 1] == excluded<T>) --seen.last;
        return seen;
    }
    void clear_excluded(T* numbers, index_t size) const {
        for (index_t i = 0; i < size; i += vector::lanes)
            select(vector::load(scores_ + i) == vector(excluded<T>), vector(T{0}), vector::load(numbers + i))
                .store(numbers + i);
    }

    /// The backward rule of selections and of what follows them; the scores that do not stay are excluded.
    template <class N, class Facts>
    void apply_to_kept(N const& n, row_type const& scores, T const* weights, T* gradients, Facts const& at) const {
        if constexpr (is_kept<N>) {
            auto const selection = [&] {
                if constexpr (row_dependent_selection<decltype(n.first.selection)>)
                    return n.first.selection.for_row(at);
                else return n.first.selection;
            }();
            if constexpr (fixed_selection<std::remove_const_t<decltype(selection)>>)
                scores.exclude_below(static_cast<T>(selection.least()));
            else scores.exclude_below(static_cast<T>(selection.least(scores)));
            apply_to_kept(n.second, scores, weights, gradients, at);
        } else {
            auto const seen = visible(scores.size());
            index_t const first = seen.first, count = seen.size();
            std::fill_n(gradients, first, T{0});
            std::fill_n(gradients + seen.last, scores.size() - seen.last, T{0});
            if (std::find(scores_ + first, scores_ + seen.last, excluded<T>) == scores_ + seen.last)
                return differentiate_row(
                    n, kernel::row_gradient<T, Arch>{scores_ + first, weights + first, gradients + first, count}, at);
            index_t left = 0;
            for (index_t i = first; i < seen.last; ++i) {  // no branch depends on a score
                left_[0][left] = scores_[i];
                left_[1][left] = weights[i];
                left_[2][left] = gradients[i];
                places_[left] = i;
                left += scores_[i] == excluded<T> ? 0 : 1;
            }
            differentiate_row(n, kernel::row_gradient<T, Arch>{left_[0], left_[1], left_[2], left}, at);
            std::fill_n(gradients + first, count, T{0});
            for (index_t i = 0; i < left; ++i) gradients[places_[i]] = left_[2][i];
        }
    }

    Normalize const& normalize_;
    Reweight const& reweight_;
    T *scores_, *weights_;  // of the row at hand; weights before they are changed
    T* left_[3];            // scores, weights and gradients of pairs that take part
    index_t* places_;       // of these in the row
};

}  // namespace fovea::FOVEA_SET::driver
