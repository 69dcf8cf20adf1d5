// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows that are recorded as a whole: normalizers and maps of heads see plain numbers, as the words of users expect
// them, and the backward rules of these words lead back.
#pragma once

#include <fovea/reference/aggregate.hpp>
#include <fovea/reference/project.hpp>
#include <fovea/reference/recorded.hpp>
#include <fovea/spec/call/differentiable.hpp>
#include <fovea/spec/row_gradient.hpp>
#include <fovea/spec/selection.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fovea::FOVEA_SET::reference {

/// row_gradient: the scores of one query, their weights, and the gradients of these, which become those of the scores.
template <class Real>
struct row_gradient {
    using value_type = Real;
    std::vector<Real> scores, weights, gradients;

    index_t size() const { return static_cast<index_t>(scores.size()); }

    template <class F>
    Real sum(F const& f) const {
        Real total = 0;
        for (std::size_t i = 0; i < scores.size(); ++i)
            total += static_cast<Real>(f(scores[i], weights[i], gradients[i]));
        return total;
    }
    template <class F>
    void map(F const& f) {
        for (std::size_t i = 0; i < scores.size(); ++i)
            gradients[i] = static_cast<Real>(f(scores[i], weights[i], gradients[i]));
    }
    /// The derivative of an elementwise weight at a score.
    template <class N>
    static Real slope(N const& n, Real score) {
        return fovea::detail::slope_of_weight(n, score);
    }
};

/// The gradients of the scores that a selection leaves; those of the others are 0, as they are steps.
template <class Selection, class Real>
row_gradient<Real> kept_of(Selection const& selection, row_gradient<Real> const& all, std::vector<index_t> const& keys,
                           std::vector<std::size_t>& places) {
    auto scores = all.scores;
    row<Real> const left{scores, keys};
    if constexpr (fixed_selection<Selection>) left.exclude_below(static_cast<Real>(selection.least()));
    else left.exclude_below(static_cast<Real>(selection.least(left)));
    row_gradient<Real> few;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (scores[i] == excluded<Real>) continue;
        places.push_back(i);
        few.scores.push_back(scores[i]);
        few.weights.push_back(all.weights[i]);
        few.gradients.push_back(all.gradients[i]);
    }
    return few;
}

/// normalize_gradient: the gradients of the weights of a row become those of its scores, by the rule of its normalizer.
/// `coordinates` has the value of an expression of the row, and takes its gradient.
template <normalizer N, class Real, class Facts>
void normalize_gradient(N const& n, row_gradient<Real>& all, std::vector<index_t> const& keys,
                        Facts const& coordinates) {
    if constexpr (is_kept<N>) {
        auto const selection = [&] {
            if constexpr (row_dependent_selection<decltype(n.first.selection)>)
                return n.first.selection.for_row(coordinates);
            else return n.first.selection;
        }();
        std::vector<std::size_t> places;
        auto few = kept_of(selection, all, keys, places);
        std::vector<index_t> keys_left;
        keys_left.reserve(places.size());
        for (auto const i : places) keys_left.push_back(keys[i]);
        normalize_gradient(n.second, few, keys_left, coordinates);
        all.map([](auto, auto, auto) { return Real(0); });
        for (std::size_t i = 0; i < places.size(); ++i) all.gradients[places[i]] = few.gradients[i];
    } else {
        differentiate_row(n, all, coordinates);
    }
}

/// A score, and the coordinates of its row.
template <class Real>
struct score_in_row : index_environment<Real> {
    Real score;
    using index_environment<Real>::operator();
    Real operator()(score_t) const { return score; }
};

/// The coordinates of a row that a backward rule may read, and the gradients that it gives the expressions of the row.
template <class Sums>
struct gradient_coordinates : coordinates_of_row<double> {
    index_environment<recorded<Sums>> recorded_at;

    template <class E>
    void add(E const& e, double amount) const {
        back_from([&] { return evaluate(e, recorded_at); }, amount);
    }
    /// The same for an expression of a score, whose gradient is returned.
    template <class E>
    double add(E const& e, double score, double amount) const {
        double of_score = 0;
        auto const of = [&] {
            auto const s = recorded<Sums>::variable(score);
            recording<Sums>::current().on_way_back([&of_score, s](Sums&) { of_score = s.amount(); });
            return evaluate(e, score_in_row<recorded<Sums>>{recorded_at, s});
        };
        back_from(of, amount);
        return of_score;
    }

private:
    template <class Evaluate>
    static void back_from(Evaluate const& value_of, double amount) {
        auto& record = recording<Sums>::current();
        index_t const first = record.size();
        recorded<Sums> const value = value_of();
        value.hand(amount);
        record.back(first);
        record.forget(first);
    }
};

/// The gradients of the scores of a row through its log-sum-exp, whose derivative by a score is the weight, and that of
/// a sink: by a weight w of a score s the row is exp(s_j - s) w. A row without keys has none.
template <class N, class Coordinates>
void add_lse_gradient(N const& n, double d_lse, row_gradient<double>& row, Coordinates const& at) {
    if constexpr (fovea::detail::has_lse_gradient<N>) {
        auto const most = std::max_element(row.weights.begin(), row.weights.end());
        if (most == row.weights.end() || *most == 0) return;
        for (std::size_t j = 0; j < row.weights.size(); ++j) row.gradients[j] += row.weights[j] * d_lse;
        if constexpr (row_dependent_normalizer<N>)
            n.gradient_of_row(row.scores[static_cast<std::size_t>(most - row.weights.begin())], 1 / *most, -d_lse, at);
    }
}

/// The environment of a row in plain numbers.
template <class Sums>
index_environment<double> plain(index_environment<recorded<Sums>> const& at) {
    index_environment<double> result;
    result.batch = at.batch, result.head = at.head, result.query = at.query, result.key = at.key;
    result.queries = at.queries, result.keys = at.keys, result.dim = at.dim, result.edge_number = at.edge_number;
    return result;
}

/// New numbers of these values take the places of some, which are returned.
template <class Sums>
std::vector<recorded<Sums>> exchange_numbers(std::vector<double> const& values, recorded<Sums>* numbers) {
    std::vector<recorded<Sums>> const before(numbers, numbers + values.size());
    for (double const value : values) *numbers++ = recorded<Sums>::variable(value);
    return before;
}

/// The weights of a row that is recorded: the normalizer sees plain numbers, and its rule leads back.
template <normalizer N, class Sums>
recorded<Sums> normalize_at(N const& n, index_environment<recorded<Sums>> const& at, row<recorded<Sums>> const& all) {
    auto& record = recording<Sums>::current();
    std::vector<double> scores;
    for (auto const& s : all.scores) scores.push_back(s.value);
    auto const here = plain(at);
    row_gradient<double> of{scores, scores, {}};
    auto const log_sum = recorded<Sums>::variable(
        normalize(normalizer_of_row(n, coordinates_of_row<double>{here}), row<double>{of.weights, all.keys}));
    auto const before = exchange_numbers(of.weights, all.scores.data());
    index_t const first = log_sum.number + 1;
    std::vector<index_t> const keys(all.keys.begin(), all.keys.end());
    record.on_way_back([=, &record](Sums&) {
        auto row = of;
        for (std::size_t j = 0; j < row.scores.size(); ++j)
            row.gradients.push_back(record.amount(first + static_cast<index_t>(j)));
        double const d_lse = log_sum.amount();
        gradient_coordinates<Sums> const coordinates{{here}, at};
        normalize_gradient(n, row, keys, coordinates);
        if (d_lse != 0) add_lse_gradient(n, d_lse, row, coordinates);
        for (std::size_t j = 0; j < before.size(); ++j) before[j].hand(row.gradients[j]);
    });
    return log_sum;
}

/// The maps of heads on rows that are recorded: each row in plain numbers, and their rules lead back.
template <class Sums, row_map M>
void map_heads(M const& map, array<recorded<Sums>>& rows) {
    if constexpr (headwise_map<M>) {
        auto& record = recording<Sums>::current();
        for_each_row_of_heads(rows, [&](feature_row<recorded<Sums>> const& all, head_place const& at) {
            index_t const features = all.count;
            auto const size = static_cast<std::size_t>(features);
            std::vector<double> numbers(static_cast<std::size_t>(prepared_numbers(map, features))), below(size);
            for (index_t c = 0; c < features; ++c) below[static_cast<std::size_t>(c)] = all[c].value;
            prepare_head_maps(map, numbers.data(), features, at);
            auto above = below;
            double const* prepared = numbers.data();
            for_each_head_map(map, [&](auto const& each) {
                prepared = apply_head_map(each, feature_row<double>{above.data(), features}, at, prepared);
            });
            index_t const first = record.size();
            auto const before = exchange_numbers(above, all.features);
            record.on_way_back([=, &record](Sums& sums) {
                auto row = below, d = std::vector<double>();
                for (index_t c = 0; c < features; ++c) d.push_back(record.amount(first + c));
                std::vector<double> memory(static_cast<std::size_t>(rows_of_head_maps_gradient(map) * features));
                std::vector<std::vector<double>> tables;
                tables.reserve(head_map_tables_in<M>);
                auto const of_tables = sums_of_head_maps<double>(map, [&](auto const& table) {
                    return tables.emplace_back(static_cast<std::size_t>(table.size())).data();
                });
                fovea::head_maps_gradient(map, feature_row<double>{row.data(), features},
                                          feature_row<double>{d.data(), features}, at, numbers.data(), memory.data(),
                                          of_tables);
                std::size_t n = 0;
                for_each_head_map_table(map, [&](auto const& table) {
                    for_each_form(table, [&](auto const& form) { sums.add_all(form, tables[n].data()); });
                    ++n;
                });
                for (std::size_t c = 0; c < before.size(); ++c) before[c].hand(d[c]);
            });
        });
    }
}

}  // namespace fovea::FOVEA_SET::reference
