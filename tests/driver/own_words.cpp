// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of a user's own, of every class that the engine knows, against the definition.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

using namespace fovea;

namespace {

/// Elementwise: each weight depends on one score alone.
struct softplus_t : stage<role::normalizer> {
    template <class V>
    static V weight(V const& score) {
        using std::exp, std::log;
        return log(exp(score) + V(1));
    }
};

/// Whole rows: the projection of the scores on the simplex.
struct simplex_t : stage<role::normalizer> {
    template <class Row>
    static void normalize(Row const& row) {
        using T = typename Row::value_type;
        std::vector<T> sorted;
        for (index_t i = 0; i < row.size(); ++i)
            if (row[i] != excluded<T>) sorted.push_back(row[i]);
        std::sort(sorted.begin(), sorted.end(), std::greater<>{});
        T sum = 0, threshold = 0;
        for (std::size_t j = 0; j < sorted.size(); ++j) {
            sum += sorted[j];
            T const candidate = (sum - T{1}) / static_cast<T>(j + 1);
            if (sorted[j] > candidate) threshold = candidate;
        }
        for (index_t i = 0; i < row.size(); ++i)
            row[i] = row[i] == excluded<T> ? T{0} : std::max(row[i] - threshold, T{0});
    }
};

/// Not linear: the greatest product of weight and value.
struct greatest_t : stage<role::aggregator> {
    template <class V, class W>
    static constexpr V step(V const& sum, W const& weight, V const& value) {
        using std::max;
        return max(sum, V(weight * value));
    }
};

}  // namespace

TEST_CASE("an elementwise normalizer of one's own, fused", "[driver]") {
    check_fused<float>(scaled_dot | causal | softplus_t{} | weighted_sum);
}

TEST_CASE("a normalizer of whole rows of one's own, fused", "[driver]") {
    check_fused<float>(scaled_dot | causal | simplex_t{} | weighted_sum);
}

TEST_CASE("an aggregator of one's own, fused", "[driver]") {
    check_fused<float>(scaled_dot | causal | softplus_t{} | greatest_t{});
}
