// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients in passes over whole rows: what is masked reaches none, rows without keys give zeros, operands of few bits
// are read as numbers, and results have the same bits in any number of threads.
#include "score_gradient_case.hpp"

#include <fovea/core/bfloat16.hpp>

#include <limits>

using namespace fovea;
using namespace fovea::placeholders;
using score_gradient_case::difference;
using score_gradient_case::table;

TEST_CASE("what a mask excludes reaches no gradient of any normalizer", "[driver]") {
    testing::dice dice(53);
    for (index_t const queries : {5, 37}) {
        CAPTURE(queries);
        index_t const keys = queries + 20;
        score_gradient_case::operands<float> of(dice, {1, 2, 2, queries, keys});
        auto sinks = table(of, dice, index_t{2});
        auto gates = table(of, dice, queries, keys);
        auto const check = [&](auto const& a) {
            tensor<float, 4> d_q(of.query.extents), d_k(of.key.extents), d_v(of.value.extents);
            tensor<float, 1> d_sinks(sinks.extents);
            tensor<float, 2> d_gates(gates.extents);
            gradient(a, of.query, of.key, of.value, of.d_result, grad(of.query, d_q), grad(of.key, d_k),
                     grad(of.value, d_v), grad(sinks, d_sinks), grad(gates, d_gates));
            auto const finite = [](auto const& x) {
                return std::all_of(x.elements.begin(), x.elements.end(), [](float y) { return std::isfinite(y); });
            };
            CHECK((finite(d_q) && finite(d_k) && finite(d_v) && finite(d_sinks) && finite(d_gates)));
            for (index_t key = queries; key < keys; ++key) CHECK((d_k(0, 1, key, 1) == 0 && d_v(0, 0, key, 0) == 0));
            for (index_t c = 0; c < 6; ++c) CHECK((d_q(0, 0, 0, c) == 0 && d_q(0, 1, 0, c) == 0));
            for (index_t key = 0; key < keys; ++key) CHECK(d_gates(0, key) == 0);
        };
        for (index_t key = queries - 1; key < keys; ++key) {  // beyond what any query sees
            of.key(0, 1, key, 1) = std::numeric_limits<float>::quiet_NaN();
            of.value(0, 0, key, 0) = std::numeric_limits<float>::infinity();
            gates(0, key) = std::numeric_limits<float>::infinity();
        }
        of.query(0, 1, 0, 2) = std::numeric_limits<float>::quiet_NaN();  // query 0 sees nothing
        of.key(0, 0, 1, 1) = std::numeric_limits<float>::quiet_NaN();    // and none sees key 1
        of.value(0, 1, 1, 2) = std::numeric_limits<float>::quiet_NaN();
        auto const seen = where(kv_idx < q_idx && kv_idx != 1);
        auto const gate = reweight(weight * param(gates)(q_idx, kv_idx));
        check(scaled_dot | seen | softmax_with_sink(sinks) | gate | weighted_sum);
        check(scaled_dot | rescore(tanh(score)) | seen | weigh(sigmoid(score + param(sinks)[head])) | gate
              | weighted_sum);
    }
}

TEST_CASE("gradients of normalizers have the same bits in any number of threads", "[driver]") {
    testing::dice dice(59);
    score_gradient_case::operands<float> const of(dice, {3, 14, 7, 40, 50});
    auto const sinks = table(of, dice, index_t{14});
    auto const shifts = table(of, dice, index_t{40});
    auto const a =
        scaled_dot | rescore(score + param(shifts)[q_idx]) | causal | softmax_with_sink(sinks) | weighted_sum;
    auto const run = [&](auto const& executor) {
        tensor<float, 1> d_sinks(sinks.extents), d_shifts(shifts.extents);
        tensor<float, 4> d_q(of.query.extents), d_k(of.key.extents);
        gradient(executor, a, of.query, of.key, of.value, of.d_result, grad(of.query, d_q), grad(of.key, d_k),
                 grad(sinks, d_sinks), grad(shifts, d_shifts));
        auto all = d_q.elements;
        for (auto const* each : {&d_k.elements, &d_sinks.elements, &d_shifts.elements})
            all.insert(all.end(), each->begin(), each->end());
        return all;
    };
    auto const once = run(threads(1));
    for (int n : {2, 5}) CHECK(run(threads(n)) == once);
}

namespace {

/// The worst difference from the definition, with features that fill a vector and some more, where most ds are not 0.
template <class Stored>
double worst_of_stored() {
    testing::dice dice(67);
    score_gradient_case::operands<Stored> const of(dice, {1, 4, 2, 19, 45, 20, 5});
    tensor<float, 4> d_q(of.query.extents), d_k(of.key.extents), d_v(of.value.extents);
    tensor<double, 4> e_q(of.query.extents), e_k(of.key.extents), e_v(of.value.extents);
    auto const a = scaled_dot | causal | softmax_plus_one | weighted_sum;
    gradient(a, of.query, of.key, of.value, of.d_result, grad(of.query, d_q), grad(of.key, d_k), grad(of.value, d_v));
    reference::gradient(a, of.query, of.key, of.value, of.d_result, grad(of.query, e_q), grad(of.key, e_k),
                        grad(of.value, e_v));
    return worse(difference(d_q, e_q), difference(d_k, e_k), difference(d_v, e_v));
}

}  // namespace

TEST_CASE("gradients of normalizers sum numbers of the arithmetic, whatever is stored", "[driver]") {
    CHECK(worst_of_stored<float>() < 3e-5);
    CHECK(worst_of_stored<bfloat16>() < 3e-5);
}
