// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gradient in passes over whole rows: every normalizer, selection and reweighting gives what the definition says, under
// a mask that leaves gaps, with heads that share keys, at sizes that fill no vector.
#include "score_gradient_case.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using score_gradient_case::at_sizes;
using score_gradient_case::table;
using score_gradient_case::worst;

namespace {

/// Keys before and after a gap, of which some queries see none.
constexpr auto gaps = where(q_idx != 3 && (kv_idx < q_idx || kv_idx % 5 == 2));

/// The worst difference of weights that a normalizer makes.
template <class N, class Of, class... Tables>
double through(N const& normalize, Of const& of, Tables const&... tables) {
    return worst(scaled_dot | gaps | normalize | weighted_sum, of, tables...);
}

}  // namespace

TEST_CASE("passes over whole rows take every normalizer with a rule of its own", "[driver]") {
    at_sizes<float>([](auto const& of, testing::dice&, score_gradient_case::sizes const&, double tolerance) {
        CHECK(through(sparsemax, of) < tolerance);
        CHECK(through(entmax15, of) < tolerance);
        CHECK(through(entmax(1.25), of) < tolerance);
        CHECK(through(softmax_plus_one, of) < tolerance);
        CHECK(through(uniform, of) < tolerance);
        CHECK(through(l1_weights, of) < tolerance);
        CHECK(through(straight_through, of) < tolerance);
        CHECK(worst(compare(8 + sum(q * k)) | gaps | proportional | weighted_sum, of) < tolerance);
        CHECK(through(keep(threshold(-0.5)) | keep(top_k(5)) | sparsemax, of) < tolerance);
    });
}

TEST_CASE("passes over whole rows take weights that go by key", "[driver]") {
    at_sizes<float>([](auto const& of, testing::dice& dice, score_gradient_case::sizes const& n, double tolerance) {
        auto const shifts = table(of, dice, n.heads);
        CHECK(through(unnormalized, of) < tolerance);
        CHECK(through(weigh(square(relu(score))), of) < tolerance);
        CHECK(through(weigh(sigmoid(score - param(shifts)[head])), of, shifts) < tolerance);
        CHECK(through(normalized(exp(score * param(shifts)[head]), 1e-6), of, shifts) < tolerance);
        CHECK(through(keep(top_k(3)) | averaged(silu(score - param(shifts)[head])), of, shifts) < tolerance);
    });
}

TEST_CASE("passes over whole rows give tables of normalizers, reweightings and scores their gradients", "[driver]") {
    at_sizes<double>([](auto const& of, testing::dice& dice, score_gradient_case::sizes const& n, double tolerance) {
        auto const sinks = table(of, dice, n.heads), caps = table(of, dice, n.heads);
        auto const gates = table(of, dice, n.queries, n.keys);
        CHECK(worst(scaled_dot | softcap(param(caps)[head]) | rescore(score * param(gates)(q_idx, kv_idx)) | gaps
                        | softmax_with_sink(sinks) | weighted_sum,
                    of, sinks, caps, gates)
              < tolerance);
        CHECK(worst(compare(sum(square(q - k)) * param(caps)[head] + sum(q * k)) | gaps | entmax15
                        | reweight(tanh(weight + param(gates)(q_idx, kv_idx))) | weighted_sum,
                    of, caps, gates)
              < tolerance);
        CHECK(through(
                  softmax | reweight(weight * param(sinks)[head]) | reweight(weight * select(random(3) < 0.2, 0, 1.25)),
                  of, sinks)
              < tolerance);
    });
}
