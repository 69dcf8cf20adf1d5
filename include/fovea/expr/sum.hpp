// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over features, all of them or some.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/expr/features.hpp>
#include <fovea/expr/hidden.hpp>
#include <fovea/expr/operators.hpp>

namespace fovea::FOVEA_SET {

/// sum: adds an expression of q and k (and of parameters) over the features.
template <class Body>
    requires(expression<Body> || viewable<Body const> || detail::like_expression_of_matrices<Body>)
constexpr auto sum(Body const& body) {
    if constexpr (expression<Body>) {
        constexpr bool of_features = !has_sum<Body> && !uses<Body, score_t, weight_t, out_t>;
        static_assert(of_features,
                      "fovea: sum() adds over the features of q and k: it contains no other sum, and no score");
        if constexpr (of_features) return detail::build<operations::sum>(body);
        else return literal<double>{};
    } else {
        return detail::no_placeholder<Body>();
    }
}

/// sum: adds an expression of q and k over some of the features.
template <class Body, class Range>
    requires(expression<Body> || viewable<Body const> || detail::like_expression_of_matrices<Body>)
constexpr auto sum(Body const& body, [[maybe_unused]] Range const& range) {
    using all = decltype(sum(body));
    if constexpr (std::is_same_v<Range, feature_range> && has_sum<all>) {
        constexpr bool of_features = uses<Body, q_t, k_t>;
        static_assert(of_features, "fovea: features(first, end) chooses features of q and k, and this sum has neither");
        if constexpr (of_features) return make_node<operations::sum>(body, range);
        else return literal<double>{};
    } else {
        constexpr bool is_range = std::is_same_v<Range, feature_range> || is_ill_formed<Range> || !has_sum<all>;
        static_assert(is_range,
                      "fovea: the second argument of sum() is a range of features: sum(q * k, features(0, 64))");
        return sum(body);
    }
}

}  // namespace fovea::FOVEA_SET
