// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every traversal with some threads.
#include "support/random_graph.hpp"
#include "threads/same_everywhere.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("queries in lanes, keys in lanes and whole rows on several threads", "[threads]") {
    random_operands const x({2, 4, 130, 12}, 2, 150);
    auto const check = [&](auto const& spec) {
        check_same_bits(x.result, [&](auto const& executor, workspace& scratch, auto& out) {
            attend(executor, scratch, spec, x.q, x.k, x.v, out);
        });
    };
    check(scaled_dot | causal | softmax | weighted_sum);
    check(l1_distance(2.f) | softmax | weighted_sum);
    check(scaled_dot | sliding_window(20, 0) | sparsemax | weighted_sum);
}

TEST_CASE("keys in parts on several threads", "[threads]") {
    random_operands const x({1, 4, 1, 12}, 2, 6000);
    check_same_bits(x.result, [&](auto const& executor, workspace& scratch, auto& out) {
        attend(executor, scratch, scaled_dot | causal_at_end | softmax | weighted_sum, x.q, x.k, x.v, out);
    });
}

TEST_CASE("graphs and further outputs on several threads", "[threads]") {
    random_operands const x({2, 4, 1500, 8}, 4, 1500);
    auto const edges = random_graph(1500, 1500, 6000);
    auto const spec = scaled_dot | neighbors(edges) | softmax | weighted_sum;
    check_same_bits(x.result, [&](auto const& executor, workspace& scratch, auto& out) {
        tensor<float, 3> sums({2, 4, 1500});
        attend(executor, scratch, spec, x.q, x.k, x.v, out, lse(sums));
    });
    random_operands const y({1, 4, 70, 8}, 2, 90);
    check_same_bits(y.result, [&](auto const& executor, workspace& scratch, auto& out) {
        tensor<float, 4> pairs({1, 4, 70, 90});
        tensor<float, 3> columns({1, 4, 90});
        attend(executor, scratch, scaled_dot | softmax | weighted_sum, y.q, y.k, y.v, out, weights(pairs),
               column_sums(columns));
    });
}

TEST_CASE("running states on several threads", "[threads]") {
    random_operands const x({2, 4, 90, 8}, 4, 90);
    auto const check = [&](auto const& spec) {
        check_same_bits(x.result, [&](auto const& executor, workspace& scratch, auto& out) {
            attend(executor, scratch, spec, x.q, x.k, x.v, out);
        });
    };
    check(feature_map(elu(q) + 1) | causal | proportional | running_state);
    check(feature_map(q) | causal | unnormalized | running_state | gated(-0.1f));
}

TEST_CASE("projections and finishes on several threads", "[threads]") {
    testing::dice random(31);
    auto const x = testing::random_tensor<float>(random, extents_t<4>{1, 2, 120, 10});
    auto const w = testing::random_tensor<float>(random, std::array<index_t, 2>{10, 16});
    auto const back = testing::random_tensor<float>(random, std::array<index_t, 2>{16, 10});
    auto const spec = project(w | rms_normalized | rotary, w | rotary, w, heads<4>) | scaled_dot | softmax
                    | weighted_sum | map(elu(out)) | output(back) | residual;
    view<float const, 3> const source(x.data(), {2, 120, 10});
    check_same_bits({1, 2, 120, 10}, [&](auto const& executor, workspace& scratch, auto& result) {
        attend(executor, scratch, spec, source, view<float, 3>(result.data(), {2, 120, 10}));
    });
}

TEST_CASE("ragged batches and merged parts on several threads", "[threads]") {
    random_operands const x({1, 4, 90, 8}, 4, 90);
    for (auto const& offsets :
         {std::vector<index_t>{0, 40, 90}, std::vector<index_t>{0, 5, 9, 9, 30, 31, 50, 60, 70, 90}})
        check_same_bits(x.result, [&](auto const& executor, workspace& scratch, auto& out) {
            attend(executor, scratch, ragged(offsets), scaled_dot | causal | softmax | weighted_sum, x.q, x.k, x.v,
                   out);
        });
    tensor<float, 3> const sums({1, 4, 90}, 0.5f);
    tensor<float, 4> const first(x.result, 1), second(x.result, 2);
    check_same_bits(x.result, [&](auto const& executor, workspace&, auto& out) {
        merge(executor, first, sums, second, sums, out);
    });
}
