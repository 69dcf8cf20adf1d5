// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operands and the outputs of a call, as all traversals take them.
#pragma once

#include <fovea/core/view.hpp>
#include <fovea/driver/call/copies.hpp>
#include <fovea/expr/placeholder.hpp>
#include <fovea/kernel/environment.hpp>
#include <fovea/plan/call_plan.hpp>
#include <fovea/spec/attention.hpp>
#include <fovea/spec/call/arriving_gradients.hpp>
#include <fovea/spec/concepts.hpp>
#include <fovea/spec/outputs.hpp>

#include <tuple>

namespace fovea::FOVEA_SET::driver {

/// The queries and keys of scores alone.
template <class Q, class KeyRows>
struct score_operands {
    view<Q const, 4> query;
    KeyRows key;
    bool exact = false;  // integers may need more bits than a lane has

    index_t batches() const { return query.extent(0); }
    index_t group() const { return query.extent(1) / key.extent(1); }
    index_t queries() const { return query.extent(2); }
    index_t keys() const { return key.extent(2); }
    index_t features() const { return query.extent(3); }  // of the query
    index_t key_features() const { return key.extent(3); }
    plan::call_sizes sizes() const {
        return {queries(), group(), keys(), features(), 0, rows_per_run(key), keys(), row_alignment(key)};
    }
};

/// The views of one attention, all (batch, head, position, feature), and the further outputs that were asked for.
///
/// Keys and values are views, or what has their place(batch, head, position, feature) and extents.
template <class Q, class KeyRows, class ValueRows, class Out, class Outputs = std::tuple<>>
struct operands {
    view<Q const, 4> query;
    KeyRows key;
    ValueRows value;
    view<Out, 4> result;
    Outputs outputs{};   // bound
    bool exact = false;  // integers may need more bits than a lane has

    /// True where an output looks at whole rows, or sums over queries.
    static constexpr bool looks_at_rows = []<class... Bound>(std::type_identity<std::tuple<Bound...>>) {
        return (takes_rows<Bound> || ...);
    }(std::type_identity<Outputs>{});
    static constexpr bool outputs_reduce_over_queries = []<class... Bound>(std::type_identity<std::tuple<Bound...>>) {
        return (reduces_over_queries<Bound> || ...);
    }(std::type_identity<Outputs>{});

    index_t batches() const { return query.extent(0); }
    index_t key_heads() const { return key.extent(1); }
    index_t group() const { return query.extent(1) / key.extent(1); }
    index_t queries() const { return query.extent(2); }
    index_t keys() const { return key.extent(2); }
    index_t features() const { return query.extent(3); }  // of the query
    index_t key_features() const { return key.extent(3); }
    index_t value_features() const { return value.extent(3); }
    index_t rows() const { return queries() * group(); }  // rows that share one key/value head
    plan::call_sizes sizes() const {
        return {queries(),           group(),           keys(), features(), value_features(), rows_per_run(key),
                rows_per_run(value), row_alignment(key)};
    }
};

/// The coordinates of a row that a normalizer may read.
template <class T, class Arch>
struct coordinates_of_row {
    kernel::row_coordinates const& row;

    template <class E>
    FOVEA_INLINE T operator()(E const& e) const {
        static_assert(!uses<E, kv_idx_t, score_t, q_t, k_t>,
                      "fovea: a number that a normalizer takes for a whole row may not depend on the key");
        return static_cast<T>(evaluate(e, kernel::index_environment<T, Arch, index_t>{row, 0}));
    }
};

inline row_place place_of(kernel::row_coordinates const& row) { return {row.batch, row.head, row.q_idx}; }

/// Calls f with each bound output.
template <class Outputs, class F>
void for_each_output(Outputs const& outputs, F const& f) {
    std::apply([&](auto const&... each) { (f(each), ...); }, outputs);
}
template <class Outputs, class Row>
void show_scores(Outputs const& outputs, kernel::row_coordinates const& at, Row const& row) {
    for_each_output(outputs, [&](auto const& output) {
        if constexpr (takes_scores<std::remove_cvref_t<decltype(output)>>) output.scores(place_of(at), row);
    });
}
template <class Outputs, class Row>
void show_weights(Outputs const& outputs, kernel::row_coordinates const& at, Row const& row) {
    for_each_output(outputs, [&](auto const& output) {
        if constexpr (takes_weights<std::remove_cvref_t<decltype(output)>>) output.weights(place_of(at), row);
    });
}
/// Those of a tile whose keys lie side by side; row_of(r) is one of its rows.
template <class Outputs, class Tile, class RowOf>
void show_weights_of_tile(Outputs const& outputs, Tile const& tile, RowOf const& row_of) {
    for_each_output(outputs, [&](auto const& output) {
        if constexpr (requires { output.weights_of_tile(tile); }) output.weights_of_tile(tile);
        else if constexpr (takes_weights<std::remove_cvref_t<decltype(output)>>)
            for (index_t r = 0; r < tile.count; ++r) output.weights(place_of(tile.rows[r]), row_of(r));
    });
}
template <class Normalizer, class State>
concept gives_log_sum = requires(Normalizer const& n, State const& carried) { n.log_sum(carried); };
template <class Normalizer, class State>
concept gives_max_and_sum = requires(Normalizer const& n, State const& carried) { n.max_and_sum(carried); };

/// True where what a normalizer carries gives the weights of its row again.
template <class Normalizer, class T>
inline constexpr bool carries_max_and_sum = false;
template <class Normalizer, class T>
    requires requires { typename Normalizer::template state<T>; }
inline constexpr bool carries_max_and_sum<Normalizer, T> =
    gives_max_and_sum<Normalizer, typename Normalizer::template state<T>>;

/// True where a normalizer that differs from row to row gives the gradient of what makes the difference, of the maximum
/// and the sum of a row.
template <class Normalizer, class T>
concept gives_gradient_of_row =
    requires(Normalizer const& n, row_coordinates_archetype<T> at) { n.gradient_of_row(T{}, T{}, T{}, at); };

/// True where what an attention carries for a row gives the weights of it again, and its gradient reads no more.
template <class T, class A>
inline constexpr bool carries_rows =
    carries_max_and_sum<
        row_normalizer<std::remove_cvref_t<decltype(normalizer_of(std::declval<A const&>().normalize))>, T>, T>
    && !row_reading_aggregator<std::remove_cvref_t<decltype(core_of(std::declval<A const&>().aggregate))>>;

/// After the loops of an attention, to outputs that take its result before any finish.
template <class T, class A, class Executor, class Outputs, class Rows>
void finish_outputs(Executor const& executor, Outputs const& outputs, view<Rows, 4> const& rows) {
    for_each_output(outputs, [&](auto const& output) {
        if constexpr (requires { output.complete(); } && std::is_same_v<Rows, T> && carries_rows<T, A>) {
            copy_rows(executor, rows, output.results);
            output.complete();
        }
    });
}

/// Hands the state of a row to outputs that take it.
template <class Outputs, class Normalizer, class State, class T>
void show_state(Outputs const& outputs, kernel::row_coordinates const& at, Normalizer const& normalizer,
                State const& carried, T log_sum) {
    for_each_output(outputs, [&](auto const& output) {
        if constexpr (takes_log_sum<std::remove_cvref_t<decltype(output)>>) output.log_sum(place_of(at), log_sum);
    });
    if constexpr (gives_max_and_sum<Normalizer, State>)
        for_each_output(outputs, [&, of_row = normalizer.max_and_sum(carried)](auto const& output) {
            if constexpr (takes_row_state<std::remove_cvref_t<decltype(output)>>)
                output.row_state(place_of(at), of_row.first, of_row.second);
        });
}
/// The same of a vector of rows from `first` up to `last`.
template <class T, class Arch, class Outputs, class Normalizer, class State, class Facts>
void show_states(Outputs const& outputs, Normalizer const& normalizer, State const& carried, index_t first,
                 index_t last, Facts const& facts_of) {
    using lanes = kernel::lanes_of<T, Arch>;
    auto const for_each = [&](auto const& f) {
        for (index_t r = first; r < last; ++r) f(place_of(facts_of(r)), static_cast<std::size_t>(r - first));
    };
    if constexpr (gives_log_sum<Normalizer, State>)
        for_each_output(outputs, [&](auto const& output) {
            if constexpr (takes_log_sum<std::remove_cvref_t<decltype(output)>>) {
                auto const logs = lanes::to_array(normalizer.log_sum(carried));
                for_each([&](row_place const& at, std::size_t i) { output.log_sum(at, logs[i]); });
            }
        });
    if constexpr (gives_max_and_sum<Normalizer, State>)
        for_each_output(outputs, [&](auto const& output) {
            if constexpr (takes_row_state<std::remove_cvref_t<decltype(output)>>) {
                auto const of_rows = normalizer.max_and_sum(carried);
                auto const max = lanes::to_array(of_rows.first), sum = lanes::to_array(of_rows.second);
                for_each([&](row_place const& at, std::size_t i) { output.row_state(at, max[i], sum[i]); });
            }
        });
}

}  // namespace fovea::FOVEA_SET::driver
