// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The laws find the words that break them.
#include <fovea/testing/laws.hpp>

#include "catch.hpp"

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Softmax without the shift, right for small scores; each flaw breaks one law.
enum class flaw { none, no_rescaling, wrong_merge, wrong_empty, false_claim };

template <flaw Flaw>
struct exponential_t : stage<role::normalizer> {
    static constexpr bool sums_to_one = Flaw != flaw::none;
    template <class T>
    struct state {
        T max = excluded<T>;
        T sum = 0;
    };
    template <class T, class Row>
    static T fold(state<T>& s, Row const& row) {
        T const before = s.max;
        s.max = std::max(s.max, row.max());
        T const shift = s.max == excluded<T> ? T(0) : s.max;
        T const rescale = before == excluded<T> || Flaw == flaw::no_rescaling ? T(1) : std::exp(before - shift);
        s.sum = s.sum * rescale + row.map_and_sum([shift](auto x) { return std::exp(x - shift); });
        return rescale;
    }
    template <class T>
    static std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        T const max = std::max(s.max, other.max);
        auto const factor = [max](T m) { return m == excluded<T> ? T(0) : std::exp(m - max); };
        std::pair<T, T> const factors{factor(s.max), Flaw == flaw::wrong_merge ? T(1) : factor(other.max)};
        s = {max, s.sum * factors.first + other.sum * factors.second};
        return factors;
    }
    template <class T>
    static T finish(state<T> const& s) {
        if (Flaw == flaw::false_claim) return s.sum == 0 ? T(0) : T(2) / s.sum;
        return Flaw != flaw::wrong_empty && s.sum == 0 ? T(0) : T(1) / s.sum;
    }
    template <class T>
    static T log_sum(state<T> const& s) {
        if (Flaw == flaw::wrong_empty) return std::log(s.sum + 1);
        return s.sum == 0 ? excluded<T> : s.max + std::log(s.sum);
    }
};

struct leaky_t : stage<role::normalizer> {
    static void normalize(auto const& row) {
        for (index_t i = 0; i < row.size(); ++i) row[i] = 1;
    }
};

/// Right for numbers; a NaN among the scores makes a NaN of the 0 of a pair that takes no part.
struct leaky_for_nan_t : stage<role::normalizer> {
    static void normalize(auto const& row) {
        using T = typename std::remove_cvref_t<decltype(row)>::value_type;
        T const sum = row.map_and_sum([](auto s) { return s * s; });
        row.rescale(sum == 0 ? T(0) : T(1) / sum);
    }
};

/// Selections, each of which breaks one law.
struct all_but_largest_t : key_selection {
    static auto least(auto const& row) {
        auto const largest = row.max();
        for (index_t i = 0; i < row.size(); ++i)
            if (row[i] == largest) row[i] = -ieee::infinity<double>;
        return -ieee::infinity<double>;
    }
};
struct from_first_t : key_selection {
    static auto least(auto const& row) { return row.size() == 0 ? 0 : row[0]; }
};
struct none_above_one_t : key_selection {
    static double least(auto const& row) { return (row.max() > 1 ? 1 : -1) * ieee::infinity<double>; }
};
struct numbers_alone_t : key_selection {
    static double least(auto const& row) {
        for (index_t i = 0; i < row.size(); ++i)
            if (row[i] != row[i]) row[i] = -ieee::infinity<double>;
        return -ieee::infinity<double>;
    }
};
struct half_of_range_again_t : key_selection {
    static constexpr bool idempotent = true;
    static auto least(auto const& row) {
        return row.max() / 2 - row.max_of([](auto s) { return -s; }) / 2;
    }
};
struct positive_t : key_selection {
    static constexpr bool keeps_greatest = true;
    static double least() { return 0; }
};

struct one_of_many_t : key_selection {
    static constexpr index_t at_most() { return 1; }
    static double least() { return 0; }
};

struct wrong_sum_t : stage<role::aggregator> {
    static constexpr bool linear = true;
    static double step(double sum, double weight, double value) { return sum + weight * weight * value; }
};

struct root_t : stage<role::score> {
    static constexpr auto expression() { return sqrt(sum(q * k)); }
};
struct distance_t : stage<role::score> {
    static constexpr auto expression() { return sum(square(q - k)); }
};

}  // namespace

TEST_CASE("a sound normalizer keeps the laws, a flawed one is found", "[testing]") {
    CHECK_NOTHROW(testing::check_normalizer_laws(exponential_t<flaw::none>{}));
    CHECK_THROWS_WITH(testing::check_normalizer_laws(exponential_t<flaw::no_rescaling>{}),
                      ContainsSubstring("folding a row in pieces"));
    CHECK_THROWS_WITH(testing::check_normalizer_laws(exponential_t<flaw::wrong_merge>{}),
                      ContainsSubstring("merging pieces gives the whole"));
    CHECK_THROWS_WITH(testing::check_normalizer_laws(exponential_t<flaw::wrong_empty>{}), ContainsSubstring("-inf"));
    CHECK_THROWS_WITH(testing::check_normalizer_laws(exponential_t<flaw::false_claim>{}),
                      ContainsSubstring("sum to one"));
    CHECK_THROWS_WITH(testing::check_normalizer_laws(leaky_t{}), ContainsSubstring("takes no part has weight 0"));
    CHECK_THROWS_WITH(testing::check_normalizer_laws(leaky_for_nan_t{}), ContainsSubstring("whatever the visible"));
}

TEST_CASE("a flawed selection is found", "[testing]") {
    auto const says = [](auto const& flawed, char const* law) {
        CHECK_THROWS_WITH(testing::check_selection_laws(flawed), ContainsSubstring(law));
    };
    says(all_but_largest_t{}, "no key leaves whose score is larger");
    says(from_first_t{}, "the order of the keys changes no score");
    says(none_above_one_t{}, "a key that stays does so with a larger score");
    says(numbers_alone_t{}, "a score that is no number stays");
    says(half_of_range_again_t{}, "all keys that stay do so again");
    says(positive_t{}, "the largest score stays");
    says(one_of_many_t{}, "no more keys stay than are said to");
}

TEST_CASE("an aggregator that is not linear is found", "[testing]") {
    CHECK_THROWS_WITH(testing::check_aggregator_laws(wrong_sum_t{}),
                      ContainsSubstring("a linear step is sum + weight * value"));
}

TEST_CASE("a score that is not a number, or not its formula, is found", "[testing]") {
    CHECK_THROWS_WITH(testing::check_score_laws(root_t{}), ContainsSubstring("a score of numbers is a number"));
    CHECK_NOTHROW(testing::check_score_laws(distance_t{}));
    CHECK_THROWS_WITH(testing::check_score_formula(distance_t{}, [](auto, auto, auto const&) { return 1.0; }),
                      ContainsSubstring("a score is what its formula says"));
}

TEST_CASE("conditions that differ are found", "[testing]") {
    CHECK_THROWS_WITH(
        testing::detail::check_same_condition("the same", kv_idx <= q_idx, kv_idx < q_idx, testing::lengths{}),
        ContainsSubstring("kv_idx <= q_idx and kv_idx < q_idx differ for batch 0, head 0, q_idx 0, kv_idx 0"));
}
