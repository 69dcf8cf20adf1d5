// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/gradient.hpp>
#include <fovea/keep/keep.hpp>
#include <fovea/keep/top_k.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/hardmax.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/straight_through.hpp>
#include <fovea/normalize/uniform.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/gumbel.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"

#include <cmath>
#include <limits>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// Operands with keys that a causal mask hides, which hold no numbers.
struct problem {
    tensor<double, 4> q, k, v, d;

    explicit problem(unsigned seed)
        : q(made(seed, 5, 3)), k(made(seed + 1, 9, 3)), v(made(seed + 2, 9, 4)), d(made(seed + 3, 5, 4)) {
        for (index_t j = 5; j < 9; ++j) k(0, 1, j, 0) = v(0, 0, j, 2) = std::numeric_limits<double>::quiet_NaN();
    }
    static tensor<double, 4> made(unsigned seed, index_t positions, index_t features) {
        testing::dice dice(seed);
        return testing::random_tensor<double>(dice, extents_t<4>{1, 2, positions, features});
    }
};

/// The gradients of queries, keys and values.
struct gradients {
    tensor<double, 4> q, k, v;

    template <class A>
    gradients(problem const& of, A const& a) : q(of.q.extents), k(of.k.extents), v(of.v.extents) {
        reference::gradient(a, of.q, of.k, of.v, of.d, grad(of.q, q), grad(of.k, k), grad(of.v, v));
    }
};

bool near(tensor<double, 4> const& a, tensor<double, 4> const& b) {
    for (std::size_t i = 0; i < a.elements.size(); ++i)
        if (!(std::abs(a.elements[i] - b.elements[i]) <= 1e-13)) return false;
    return true;
}

}  // namespace

TEST_CASE("straight_through keeps the laws of a normalizer", "[normalize]") {
    testing::check_normalizer_laws(straight_through);
}

TEST_CASE("straight_through attends as hardmax does", "[normalize]") {
    problem const of(7);
    tensor<double, 4> result(of.d.extents), hard(of.d.extents);
    attend(dot | causal | straight_through | weighted_sum, of.q, of.k, of.v, result);
    attend(dot | causal | hardmax | weighted_sum, of.q, of.k, of.v, hard);
    CHECK(result.elements == hard.elements);
}

TEST_CASE("its gradients of scores are those of softmax, its gradients of values those of hardmax", "[normalize]") {
    auto const check = [](auto const& scores) {
        for (unsigned seed : {1u, 11u, 21u}) {
            problem const of(seed);
            tensor<double, 4> result(of.d.extents), chosen({1, 2, 5, 9});
            reference::attend(scores | hardmax | weighted_sum, of.q, of.k, of.v, result, weights(chosen));
            auto const best = where(param(chosen)(batch, head, q_idx, kv_idx) != 0);
            gradients const found(of, scores | straight_through | weighted_sum),
                soft(of, scores | softmax | weighted_sum), hard(of, dot | best | uniform | weighted_sum);
            CHECK(near(found.q, soft.q));
            CHECK(near(found.k, soft.k));
            CHECK(near(found.v, hard.v));
        }
    };
    check(dot | causal);
    check(dot | gumbel(5) | causal);
    check(dot | where(kv_idx < q_idx && kv_idx != 1));  // a query without keys
    check(dot | causal | keep(top_k(2)));
}

TEST_CASE("scores of any size have finite gradients of straight_through", "[normalize]") {
    problem of(3);
    for (double& x : of.q.elements) x *= 1e150;
    tensor<float, 2> x({2, 1}), d_result({2, 1}, 1), d_x({2, 1});
    x.elements = {1e18f, -1e18f};
    gradient(dot | straight_through | weighted_sum, x, d_result, grad(x, d_x));
    for (float const e : d_x.elements) CHECK(std::isfinite(e));
    for (double const e : gradients(of, dot | causal | straight_through | weighted_sum).q.elements)
        CHECK(std::isfinite(e));
}

TEST_CASE("a hard choice hands its gradient to the scores", "[normalize]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({2, 1}), value({2, 1}), result({1, 1}), d_result({1, 1}, 1), d_key({2, 1});
    key.elements = {0.5f, 0.5f};
    value.elements = {1, 3};
    auto const spec = dot | straight_through | weighted_sum;
    attend(spec, query, key, value, result);                        // result is 1
    gradient(spec, query, key, value, d_result, grad(key, d_key));  // d_key is {-0.5, 0.5}: the second is better
    //! [example]
    CHECK(result(0, 0) == 1);
    CHECK(d_key.elements == std::vector<float>{-0.5f, 0.5f});
}
