// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled twice, for two instruction sets and with two names for ATTEND and COMPUTE_ALL: what a program of many
// specifications instantiates.
#include <fovea/fovea.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

using input = view<float const, 4>;

namespace {

/// A normalizer of a user's own, of whole rows.
struct halved_t : stage<role::normalizer> {
    template <class Row>
    static void normalize(Row const& row) {
        for (index_t i = 0; i < row.size(); ++i) row[i] = row[i] == excluded<typename Row::value_type> ? 0 : row[i] / 2;
    }
};

void further_outputs(input q, input k, input v, view<float, 4> out) {
    extents_t<3> const queries{q.extent(0), q.extent(1), q.extent(2)}, keys{q.extent(0), q.extent(1), k.extent(2)};
    tensor<float, 3> sums(queries), spread(queries), columns(keys);
    tensor<std::int32_t, 3> best(queries);
    tensor<float, 4> pairs({q.extent(0), q.extent(1), q.extent(2), k.extent(2)});
    attend(scaled_dot | softmax | weighted_sum, q, k, v, out, lse(sums), weights(pairs), entropy(spread),
           best_key(best), column_sums(columns));
    attend(threads(2), scaled_dot | rescore(score * 2.f) | causal | softmax | weighted_sum, q, k, v, out,
           scores<score_stage::raw>(pairs));
    merge(out, sums, q, sums, out, sums);
    attend(scaled_dot | top_k_softmax(3) | weighted_sum, q, k, v, out);
    attend(l1_distance(2.f) | sliding_window(8, 8) | sparsemax | max_pool, q, k, v, out);
    attend(cosine | entmax(1.5) | weighted_sum, q, k, v, out);
    attend(additive(view<float const, 1>(q.data, {q.extent(3)})) | halved_t{} | weighted_sum, q, k, v, out);
    reference::attend(scaled_dot | causal | softmax | weighted_sum, q, k, v, out);
}

void tables(input q, input k, input v, view<float, 4> out, std::vector<std::int32_t> const& ids,
            tensor<bool, 2> const& mask, tensor<float, 2> const& biases) {
    std::vector<float> const slopes(static_cast<std::size_t>(q.extent(1)), 0.5f);
    std::vector<std::int32_t> const lengths(static_cast<std::size_t>(q.extent(0)), 5);
    attend(scaled_dot | bias(biases) | document(ids) | mask_tensor(mask) | softmax | weighted_sum, q, k, v, out);
    attend(scaled_dot | alibi(slopes) | softcap(50) | key_lengths(lengths) | softmax_with_sink(0.5f) | weighted_sum, q,
           k, v, out);
    attend(scaled_dot | (sliding_window(4, 0) || global_tokens(2)) | softmax | weighted_sum, q, k, v, out);
    attend(scaled_dot | where(q_idx / 4 == kv_idx / 4) | hardmax | weighted_sum, q, k, v, out);
}

void graphs(input q, input k, input v, view<float, 4> out, graph const& edges) {
    tensor<float, 2> const a({q.extent(1), q.extent(3)}, 1);
    attend(threads(3), scaled_dot | neighbors(edges) | softmax | weighted_sum, q, k, v, out);
    attend(gat_score(a, a, 0.2f) | neighbors(edges) | softmax | weighted_sum, q, k, v, out);
}

void projections(tensor<float, 3> const& x, tensor<float, 3>& y) {
    index_t const n = x.extent(2);
    tensor<float, 2> const w({n, n}, 0.5f), half({n, n / 2}, 0.25f);
    attend(project(w, half, half, heads<4, 2>) | scaled_dot | softmax | weighted_sum | map(elu(out)) | output(w)
               | residual,
           x, y);
    auto const turned = project(w | rms_normalized | rotary, half | l2_normalized | rotary, half, heads<4, 2>);
    attend(turned | scaled_dot | softmax | weighted_sum | concat_heads, x, y);
    tensor<float, 3> means({x.extent(0), x.extent(1), n / 2});
    attend(project(w, w, w, heads<2>) | scaled_dot | softmax | weighted_sum | mean_heads, queries(x), memory(x), means);
}

void caches(input q, input v, view<float, 4> out, tensor<bfloat16, 4> const& pages,
            tensor<std::int32_t, 2> const& table) {
    attend(scaled_dot | causal_at_end | softmax | weighted_sum, q, paged(pages, table), paged(pages, table), out);
    std::vector<index_t> const offsets{0, 5, v.extent(2)};
    attend(threads(2), ragged(offsets), scaled_dot | causal | softmax | weighted_sum, q, v, v, out);
    extents_t<4> of_states{q.extent(0), q.extent(1), q.extent(3), v.extent(3)};
    tensor<float, 4> const state(of_states, 1);
    ++of_states[3];
    tensor<float, 4> sums(of_states);
    extents_t<3> const steps{q.extent(0), q.extent(1), q.extent(2)};
    tensor<float, 3> const decay(steps, -0.5f), rate(steps, 0.03f);
    constexpr auto linear = feature_map(elu(placeholders::q) + 1) | causal;
    attend(linear | proportional | running_state, q, v, v, out, present_state(sums));
    attend(linear | unnormalized | running_state | gated(decay), q, v, v, out, past_state(state));
    attend(linear | unnormalized | running_state | delta(rate), q, v, v, out);
}

}  // namespace

void ATTEND(workspace& scratch, input query, input key, input value, view<float, 4> result) {
    attend(threads(2), scratch, scaled_dot | causal | softmax | weighted_sum, query, key, value, result);
}

std::string COMPUTE_ALL(input operand, view<float, 4> result, tensor<float, 3> const& x, tensor<float, 3>& y,
                        tensor<bfloat16, 4> const& pages, tensor<std::int32_t, 2> const& table,
                        tensor<bool, 2> const& mask, std::vector<std::int32_t> const& ids, graph const& edges) {
    index_t const n = operand.extent(2);
    further_outputs(operand, operand, operand, result);
    tables(operand, operand, operand, result, ids, mask, tensor<float, 2>({n, n}, 0.5f));
    graphs(operand, operand, operand, result, edges);
    projections(x, y);
    caches(operand, operand, result, pages, table);
    auto const spec = scaled_dot | sliding_window(16, 0) | softmax | weighted_sum;
    return explain(spec, operand, operand, operand) + text(spec);
}
