// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/diagnose.hpp>
#include <fovea/expr/operators.hpp>
#include <fovea/score/compare.hpp>

namespace fovea::FOVEA_SET {

/// feature_map: the inner product of query and key after a function is applied to each feature.
///
///     s_ij = sum_c f(q_ic) g(k_jc)
///     feature_map(elu(q) + 1)    feature_map(q * rsqrt(dim), relu(k))
///
/// Shapes: query and key have the same number of features; one map is applied to both, two to one each.
/// Cost: the functions run once per row; then one matrix product, as for `dot`. Since the score is a product, a
/// running_state can replace the keys.
/// Edge cases: the map itself normalizes nothing, so `unnormalized` or `proportional` usually follows.
/// Errors: at compile time, for a first map that uses k or a second map that uses q.
/// Source: Katharopoulos et al. 2020, equations 5 and 7.
template <fovea::expression OfQuery, fovea::expression OfKey>
constexpr auto feature_map(OfQuery const& of_query, OfKey const& of_key) {
    constexpr bool maps_query = uses<OfQuery, q_t> && !uses<OfQuery, k_t>;
    constexpr bool maps_key = uses<OfKey, k_t> && !uses<OfKey, q_t>;
    static_assert(maps_query, "fovea: the first map of feature_map is an expression of q");
    static_assert(maps_key, "fovea: the second map of feature_map is an expression of k");
    if constexpr (maps_query && maps_key) return compare(sum(of_query * of_key));
    else return ill_formed{};
}

template <fovea::expression Map>
constexpr auto feature_map(Map const& of_query) {
    using namespace placeholders;
    return feature_map(of_query, substitute(of_query, q, k));
}
template <class... Others>
    requires(sizeof...(Others) != 1 && sizeof...(Others) != 2)
constexpr ill_formed feature_map(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
