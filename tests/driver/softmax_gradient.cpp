// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient pass: what it leaves is what the differences of the definition say, whatever is masked, grouped or
// empty, and in however many threads.
#include <fovea/driver/dense/softmax_gradient.hpp>
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include "catch.hpp"
#include "support/worst.hpp"

#include <fovea/testing/random.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// The operands of a call, the gradient of its result, and what the pass computes.
template <class T>
struct problem {
    tensor<T, 4> query, key, value, d_result, d_query, d_key, d_value;

    problem(testing::dice& dice, index_t batch, index_t heads, index_t key_heads, index_t queries, index_t keys,
            index_t features, index_t value_features)
        : query(testing::random_tensor<T>(dice, extents_t<4>{batch, heads, queries, features})),
          key(testing::random_tensor<T>(dice, extents_t<4>{batch, key_heads, keys, features})),
          value(testing::random_tensor<T>(dice, extents_t<4>{batch, key_heads, keys, value_features})),
          d_result(testing::random_tensor<T>(dice, extents_t<4>{batch, heads, queries, value_features})),
          d_query(query.extents, std::numeric_limits<T>::quiet_NaN()),
          d_key(key.extents, std::numeric_limits<T>::quiet_NaN()),
          d_value(value.extents, std::numeric_limits<T>::quiet_NaN()) {}

    /// The pass.
    template <class Arch, class A, class Executor = serial_t>
    void differentiate(A const& a, Executor const& executor = {}) {
        workspace scratch;
        scratch.prepare(executor.workers());
        plan::lowered_score const spec{plan::lower_for<false>(a.score.expression()), a.mask.predicate()};
        driver::score_operands<T, view<T const, 4>> const operands{query.view(), key.view()};
        driver::gradient_operands<T, view<T const, 4>> const further{value.view(), d_result.view(), d_query.view(),
                                                                     d_key.view(), d_value.view()};
        index_t const key_heads = operands.batches() * operands.key.extent(1);
        driver::table_sums<T> const no_tables({}, {}, {}, scratch.shared(),
                                              key_heads * plan::row_splits(key_heads, operands.query.extent(2)));
        driver::run_softmax_gradient<T, Arch>(executor, scratch, spec, a.normalize, operands, further, no_tables);
    }

    /// The loss of which d_result is the gradient, by the definition.
    template <class A>
    long double loss(A const& a) {
        tensor<T, 4> out(d_result.extents);
        reference::attend(a, query, key, value, out);
        long double sum = 0;
        for (std::size_t i = 0; i < out.elements.size(); ++i)
            sum += static_cast<long double>(out.elements[i]) * static_cast<long double>(d_result.elements[i]);
        return sum;
    }

    /// The worst difference between gradients and central differences of some elements.
    template <class A>
    double worst(testing::dice& dice, A const& a) {
        double most = 0;
        auto const look = [&](tensor<T, 4>& x, tensor<T, 4> const& gradient) {
            for (int n = 0; n < 12 && !x.elements.empty(); ++n) {
                auto const i = static_cast<std::size_t>(dice.between(0, static_cast<index_t>(x.elements.size()) - 1));
                T const before = x.elements[i], step = static_cast<T>(1e-5);
                x.elements[i] = before + step;
                long double const above = loss(a);
                x.elements[i] = before - step;
                long double const below = loss(a);
                x.elements[i] = before;
                double const expected = static_cast<double>((above - below) / (2 * static_cast<long double>(step)));
                double const off = std::abs(static_cast<double>(gradient.elements[i]) - expected);
                most = worse(most, off);
            }
        };
        look(query, d_query);
        look(key, d_key);
        look(value, d_value);
        return most;
    }
};

}  // namespace

TEST_CASE("gradients are the differences of the definition", "[driver]") {
    testing::dice dice(41);
    auto const check = [&](auto const& a, problem<double> of) {
        of.differentiate<arch::best>(a);
        CHECK(of.worst(dice, a) < 1e-7);
    };
    auto const plain = scaled_dot | softmax | weighted_sum;
    auto const masked = scaled_dot | causal | softmax | weighted_sum;
    auto const sloped = compare(0.3 * sum(q * k)) | rescore(score - 0.1 * abs(q_idx - kv_idx)) | softmax | weighted_sum;
    auto const ranged = compare(sum(q * k, features(1, 4))) | softmax | weighted_sum;
    for (index_t queries : {1, 5, 13, 40})
        for (index_t keys : {1, 7, 33}) {
            check(plain, {dice, 1, 2, 2, queries, keys, 5, 3});
            check(ranged, {dice, 1, 2, 1, queries, keys, 6, 3});  // those beside the range are 0
            check(masked, {dice, 2, 1, 1, queries, keys, 8, 9});
            check(sloped, {dice, 1, 4, 2, queries, keys, 3, 4});  // heads that share keys
        }
    using shape = plan::key_lanes_blocking<double, arch::best>;
    check(masked, {dice, 1, 1, 1, shape::block_rows + 3, shape::block_keys + 5, 2, 1});
}

TEST_CASE("what is masked reaches no gradient, and a query without keys has gradients of zero", "[driver]") {
    testing::dice dice(43);
    auto const a = scaled_dot | where(kv_idx < q_idx) | softmax | weighted_sum;  // query 0 sees nothing
    index_t const queries = 9, keys = 20;
    problem<float> of(dice, 1, 1, 1, queries, keys, 4, 3);
    for (index_t k = queries - 1; k < keys; ++k) {
        of.key(0, 0, k, 1) = std::numeric_limits<float>::quiet_NaN();
        of.value(0, 0, k, 0) = std::numeric_limits<float>::infinity();
    }
    for (bool const queries_too : {false, true}) {
        CAPTURE(queries_too);
        if (queries_too) {
            of.query(0, 0, 0, 2) = std::numeric_limits<float>::quiet_NaN();
            of.d_result(0, 0, 0, 1) = std::numeric_limits<float>::infinity();
        }
        of.differentiate<arch::best>(a);
        auto const is_finite = [](float x) { return std::isfinite(x); };
        CHECK(std::all_of(of.d_query.elements.begin(), of.d_query.elements.end(), is_finite));
        CHECK(std::all_of(of.d_key.elements.begin(), of.d_key.elements.end(), is_finite));
        CHECK(std::all_of(of.d_value.elements.begin(), of.d_value.elements.end(), is_finite));
        for (index_t c = 0; c < 4; ++c) CHECK(of.d_query(0, 0, 0, c) == 0);
        for (index_t k = queries - 1; k < keys; ++k) CHECK((of.d_key(0, 0, k, 0) == 0 && of.d_value(0, 0, k, 1) == 0));
    }
}

TEST_CASE("gradients have the same bits in any number of threads", "[driver]") {
    testing::dice dice(47);
    auto const a = scaled_dot | causal | softmax | weighted_sum;
    problem<float> of(dice, 2, 6, 3, 100, 150, 16, 8);
    of.differentiate<arch::best>(a);
    auto const d_query = of.d_query.elements, d_key = of.d_key.elements, d_value = of.d_value.elements;
    for (int n : {2, 5}) {
        of.differentiate<arch::best>(a, threads(n));
        CHECK(of.d_query.elements == d_query);
        CHECK(of.d_key.elements == d_key);
        CHECK(of.d_value.elements == d_value);
    }
}
