// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

using namespace fovea;

// case: linear_of_another_step
// sentence: fovea: linear says that step is sum + weight * value, and this step is another
struct squares_t : stage<role::aggregator> {
    static constexpr std::string_view name = "squares";
#ifdef FOVEA_BROKEN
    static constexpr bool linear = true;
#endif
    template <class V, class W>
    static constexpr V step(V const& sum, W const& weight, V const& value) {
        return sum + weight * value * value;
    }
};

void call(view<float const, 3> x, view<float, 3> y) { attend(dot | softmax | squares_t{}, x, y); }

// case: map_that_hides_its_table
// sentence: fovea: a map, gate or list of keys with members must report the arrays it reads: add memory(visit), empty
// if it holds only numbers
/// Each head is multiplied by a number of its own.
struct louder_t {
    using head_map_tag = void;
    static constexpr bool linear = true;
    view<float const, 1> factor;  // (head)

    template <class Row>
    void apply(Row const& row, head_place const& at) const {
        auto const f = static_cast<typename Row::value_type>(factor(at.head));
        row.map([f](auto x) { return x * f; });
    }
    static std::string text() { return "louder"; }
#ifndef FOVEA_BROKEN
    template <class Visit>
    void memory(Visit const& visit) const {
        visit(factor, "the factors for ");
    }
#endif
};

void call(view<float, 2> matrix, view<float const, 1> factors, view<float, 2> x, view<float, 2> result) {
    auto const spec = project(linear(matrix) | louder_t{factors}, matrix, matrix, heads<4>) | dot;
    reference::attend(spec | softmax | weighted_sum, x, result);
}

// case: map_that_says_nothing_of_its_gradient
// sentence: fovea: a map of heads says how gradients go through it: give it gradient(x, d, place), or linear, which is
// false where it has no gradient
struct doubled_t {
    using head_map_tag = void;
#ifndef FOVEA_BROKEN
    static constexpr bool linear = true;
#endif
    template <class Row>
    static void apply(Row const& row, head_place const&) {
        row.map([](auto x) { return x + x; });
    }
    static std::string text() { return "doubled"; }
};

void call(view<float, 2> matrix, view<float, 2> x, view<float, 2> result) {
    auto const spec = project(linear(matrix) | doubled_t{}, matrix, matrix, heads<4>) | dot;
    reference::attend(spec | softmax | weighted_sum, x, result);
}

// case: normalizer_without_fold
// sentence: fovea: this normalizer has state but no fold
/// Weights proportional to 1 + score^2.
struct quadratic_t : stage<role::normalizer> {
    template <class T>
    struct state {
        T sum = 0;
    };
#ifndef FOVEA_BROKEN
    template <class T, class Row>
    static T fold(state<T>& s, Row const& row) {
        s.sum += row.map_and_sum([](auto x) { return 1 + x * x; });
        return 1;
    }
#endif

    template <class T>
    static std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        s.sum += other.sum;
        return {1, 1};
    }

    template <class T>
    static T finish(state<T> const& s) {
        return s.sum == 0 ? T(0) : 1 / s.sum;
    }
};
inline constexpr quadratic_t quadratic{};

auto composed = scaled_dot | quadratic | weighted_sum;

// case: normalizer_without_merge
// sentence: fovea: this normalizer has fold but no merge: a streaming normalizer needs both, to combine two halves of a
// row
/// Weights proportional to 1 + score^2.
struct quadratic_t : stage<role::normalizer> {
    template <class T>
    struct state {
        T sum = 0;
    };
    template <class T, class Row>
    static T fold(state<T>& s, Row const& row) {
        s.sum += row.map_and_sum([](auto x) { return 1 + x * x; });
        return 1;
    }

#ifndef FOVEA_BROKEN
    template <class T>
    static std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        s.sum += other.sum;
        return {1, 1};
    }
#endif

    template <class T>
    static T finish(state<T> const& s) {
        return s.sum == 0 ? T(0) : 1 / s.sum;
    }
};
inline constexpr quadratic_t quadratic{};

auto composed = scaled_dot | quadratic | weighted_sum;

// case: not_a_normalizer
// sentence: fovea: this is not a normalizer: give it weight(score), or state with fold, merge and finish, or
// normalize(row)
struct squared_t : stage<role::normalizer> {
#ifdef FOVEA_BROKEN
    double weigh(double score) const { return score * score; }
#else
    template <class V>
    static constexpr V weight(V score) {
        return score * score;
    }
#endif
};

auto composed = scaled_dot | squared_t{} | weighted_sum;

// case: row_fact_of_a_key
// sentence: fovea: a number that a normalizer takes for a whole row may not depend on the key
/// Weights score / n, n a number of the row.
struct shared_t : stage<role::normalizer> {
    struct of_row : stage<role::normalizer> {
        double n;
        template <class V>
        V weight(V const& score) const {
            return score * V(static_cast<float>(1 / n));
        }
    };
    template <class Facts>
    of_row for_row(Facts const& at) const {
        using namespace placeholders;
#ifdef FOVEA_BROKEN
        return {{}, static_cast<double>(at(1 + kv_idx))};
#else
        return {{}, static_cast<double>(at(1 + q_idx))};
#endif
    }
};

void call(view<float, 2> x, view<float, 2> result) { attend(scaled_dot | shared_t{} | weighted_sum, x, result); }

// case: table_of_nine_axes
// sentence: fovea: what a call reads or writes has at most 8 axes
using namespace fovea::placeholders;

#ifdef FOVEA_BROKEN
constexpr int axes = 9;
#else
constexpr int axes = 8;
#endif

template <std::size_t... I>
auto element(view<int const, axes> table, std::index_sequence<I...>) {
    return param(table)(kv_idx, (static_cast<void>(I), head)...);
}

void call(view<int const, axes> table, view<float, 2> x, view<float, 2> result) {
    auto const seen = where(element(table, std::make_index_sequence<axes - 1>{}) != 0);
    reference::attend(dot | seen | softmax | weighted_sum, x, result);
}

// case: unknown_finish
// sentence: fovea: this is not a finish: give it linear(), expression(), averages_heads, concatenates_heads or
// adds_source
struct halved_t : stage<role::finish> {
    static constexpr std::string_view name = "halved";
#ifdef FOVEA_BROKEN
    float factor() const { return 0.5f; }
#else
    auto expression() const { return 0.5f * placeholders::out; }
#endif
};

void call(view<float, 2> x, view<float, 2> result) {
    reference::attend(scaled_dot | softmax | weighted_sum | halved_t{}, x, result);
}
