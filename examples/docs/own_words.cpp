// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of one's own, one of each kind, held to the laws of their kind and to the definition.
#include <fovea/fovea.hpp>
//! [law_headers]
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/laws.hpp>
//! [law_headers]

#include "docs/support.hpp"

#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

using namespace fovea;

//! [score]
/// manhattan: minus the sum of the differences, s_ij = -sum_c |q_ic - k_jc|.
struct manhattan_t : stage<role::score> {
    static constexpr std::string_view name = "manhattan";
    constexpr auto expression() const {
        using namespace placeholders;
        return -sum(abs(q - k));
    }
};
inline constexpr manhattan_t manhattan{};
//! [score]

//! [mask]
/// same_half: a query sees the keys of its own half of the positions.
struct same_half_t : stage<role::mask> {
    static constexpr std::string_view name = "same_half";
    constexpr auto predicate() const {
        using namespace placeholders;
        return 2 * q_idx / q_len == 2 * kv_idx / kv_len;
    }
};
inline constexpr same_half_t same_half{};
//! [mask]

//! [names]
/// A name for an expression is a function that returns the word.
template <class Table>
constexpr auto head_bias(Table&& table) {  // (head)
    using namespace placeholders;
    return rescore(score + param(std::forward<Table>(table))[head]);  // which refuses temporary containers
}
//! [names]

//! [state]
/// l2_weights: scores over their length, w_j = s_j / sqrt(sum_k s_k^2); a row of zeros stays one.
struct l2_weights_t : stage<role::normalizer> {
    static constexpr std::string_view name = "l2_weights";

    template <class T>
    struct state {
        T squares = 0;
    };

    /// Takes in a piece of a row; returns the factor for what was added up before it.
    template <class T, class Row>
    static constexpr T fold(state<T>& s, Row const& row) {
        s.squares += row.sum([](auto x) { return x * x; });
        row.map([](auto x) { return x; });  // scores are weights now; those of excluded pairs are 0
        return T(1);
    }
    /// Joins two pieces; returns the factors for what was added up with each.
    template <class T>
    static constexpr std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        s.squares += other.squares;
        return {T(1), T(1)};
    }
    /// The last factor of the weights.
    template <class T>
    static T finish(state<T> const& s) {
        return s.squares == T(0) ? T(0) : T(1) / std::sqrt(s.squares);
    }
};
inline constexpr l2_weights_t l2_weights{};
//! [state]

//! [lanes]
/// softmax_base_2: weights proportional to powers of two, w_j = 2^s_j / sum_k 2^s_k.
struct softmax_base_2_t : stage<role::normalizer> {
    static constexpr std::string_view name = "softmax_base_2";
    static constexpr bool takes_lanes = true;      // fold takes many rows, one in each lane: T may be a vector
    static constexpr bool excluded_vanish = true;  // exp2(-inf) is 0
    static constexpr bool sums_to_one = true, shift_invariant = true;

    template <class T>
    struct state {
        T max = T(std::numeric_limits<number_of<T>>::lowest());
        T sum = T(0);
    };

    template <class T, class Row>
    static T fold(state<T>& s, Row const& row) {
        using std::exp2, std::max;  // those of vectors are found by their arguments
        T const before = s.max, now = s.max = max(before, row.max()), factor = exp2(before - now);
        T const added = row.map_and_sum([now](auto score) { return exp2(score - decltype(score)(now)); });
        s.sum = s.sum * factor + added;
        return factor;
    }
    template <class T>
    static std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        T const now = std::max(s.max, other.max);
        std::pair<T, T> const factors{std::exp2(s.max - now), std::exp2(other.max - now)};
        s = {now, s.sum * factors.first + other.sum * factors.second};
        return factors;
    }
    template <class T>
    static T finish(state<T> const& s) {
        using std::max;
        return T(1) / max(s.sum, T(1));  // the largest weight adds 1; without a key there is none to divide
    }
};
inline constexpr softmax_base_2_t softmax_base_2{};
//! [lanes]

//! [row]
/// above_mean: the keys whose scores are not below the mean share the weight evenly.
struct above_mean_t : stage<role::normalizer> {
    static constexpr std::string_view name = "above_mean";

    template <class Row>
    static constexpr void normalize(Row const& row) {
        using T = typename Row::value_type;
        T sum = 0, seen = 0, above = 0;
        for (index_t i = 0; i < row.size(); ++i)
            if (row[i] != excluded<T>) sum += row[i], seen += 1;
        for (index_t i = 0; i < row.size(); ++i) above += row[i] != excluded<T> && row[i] * seen >= sum ? T(1) : T(0);
        for (index_t i = 0; i < row.size(); ++i)
            row[i] = row[i] != excluded<T> && row[i] * seen >= sum ? T(1) / above : T(0);
    }
};
inline constexpr above_mean_t above_mean{};
//! [row]

//! [selection]
/// half_range: the keys whose scores are in the upper half of the range of their row.
struct half_range_t : key_selection {
    static constexpr std::string_view name = "half_range";
    static constexpr bool keeps_greatest = true;

    template <class Row>
    static auto least(Row const& row) {
        auto const least_score = -row.max_of([](auto score) { return -score; });
        return row.max() / 2 + least_score / 2;
    }
};
inline constexpr half_range_t half_range{};  // keep(half_range) | softmax
//! [selection]

//! [aggregator]
/// weighted_squares: out_ic = sum_j w_ij v_jc^2.
struct weighted_squares_t : stage<role::aggregator> {
    static constexpr std::string_view name = "weighted_squares";

    template <class V, class W>
    static constexpr V step(V const& sum, W const& weight, V const& value) {
        return sum + weight * value * value;
    }
};
inline constexpr weighted_squares_t weighted_squares{};
//! [aggregator]

int main() {
    //! [laws]
    testing::check_score_laws(manhattan);
    testing::check_mask_laws(same_half);
    testing::check_normalizer_laws(l2_weights);
    testing::check_normalizer_laws(softmax_base_2);
    testing::check_normalizer_laws(above_mean);
    testing::check_selection_laws(half_range);
    testing::check_aggregator_laws(weighted_squares);

    auto const engine = [](auto const&... arguments) { attend(arguments...); };
    testing::compare_with_reference<float>(engine, manhattan | same_half | l2_weights | weighted_squares);
    testing::compare_with_reference<float>(engine, scaled_dot | causal | softmax_base_2 | weighted_sum);
    testing::compare_with_reference<float>(engine, scaled_dot | causal | above_mean | weighted_sum);
    testing::compare_with_reference<float>(engine, scaled_dot | causal | keep(half_range) | softmax | weighted_sum);
    //! [laws]

    tensor<float, 4> const long_rows({1, 1, 512, 64});
    auto const loop_of = [&](auto const& normalizer) {
        return explain(scaled_dot | normalizer | weighted_sum, long_rows, long_rows, long_rows);
    };
    require(loop_of(softmax_base_2).find("query_lanes_scores.hpp") != std::string::npos, "many rows are folded at once");
    require(loop_of(l2_weights).find("query_lanes_scores.hpp") == std::string::npos, "one row is folded at a time");

    tensor<float, 1> const bias({2}, 3);
    tensor<float, 4> const x({1, 2, 4, 8}, 0.5f);
    tensor<float, 4> y(x.extents), s({1, 2, 4, 4});
    attend(dot | head_bias(bias) | softmax | weighted_sum, x, x, x, y, scores(s));
    require(is_near(s(0, 1, 2, 3), 8 * 0.25 + 3), "a bias is added");
}
