// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of the library that a program with strict warnings instantiates: every traversal, storage and kind of table.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

void dense(view<float const, 4> x, view<float, 4> result, view<double const, 4> wide, view<double, 4> wide_result,
           view<float, 3> sums, view<float, 4> pairs, view<std::int32_t, 3> best) {
    attend(scaled_dot | causal | softmax | weighted_sum, x, x, x, result, lse(sums));
    attend(threads(2), compare(sum(q * k) / 8) | where(q_idx - kv_idx < 7) | top_k_softmax(3) | weighted_sum, wide,
           wide, wide, wide_result);
    attend(dot | sparsemax | max_pool, x, x, x, result, weights(pairs), best_key(best));
    attend(dot | sliding_window(3, 1) | weigh(sigmoid(score)) | weighted_sum, x, x, x, result, scores(pairs));
    attend(l1_distance(2) | softmax | weighted_sum, x, x, x, result, entropy(sums));
}

void stored(view<float const, 4> x, view<bfloat16 const, 4> half, view<float16 const, 4> other,
            view<std::int8_t const, 4> bytes, view<std::int32_t const, 2> table, view<float, 4> result) {
    attend(scaled_dot | causal | softmax | weighted_sum, half, half, half, result);
    attend(scaled_dot | softmax | weighted_sum, x, other, bytes, result);
    attend(scaled_dot | softmax | weighted_sum, x, paged(half, table), paged(half, table), result);
}

void tables(view<float const, 4> x, view<float, 4> result, std::vector<int> const& ids,
            std::vector<float> const& slopes, view<float const, 2> distances, view<bool const, 2> visible,
            graph const& edges) {
    attend(scaled_dot | alibi(slopes) | document(ids) | entmax15 | weighted_sum, x, x, x, result);
    attend(additive(slopes) | bias(distances) | mask_tensor(visible) | softmax | weighted_sum, x, x, x, result);
    attend(scaled_dot | neighbors(edges) | softmax | weighted_sum, x, x, x, result);
    attend(gatv2_score(distances) | neighbors(edges) | softmax | weighted_sum, x, x, x, result);
}

void projected(view<float const, 3> x, view<float, 3> result, view<float const, 2> w, view<float const, 1> gain,
               view<int const, 1> offsets, view<float, 4> state) {
    attend(project(w | rms_normalized(gain) | rotary, w | l2_normalized, transposed(w), heads<4>) | scaled_dot | causal
               | softmax | weighted_sum | output(w, gain) | residual,
           x, result);
    attend(ragged(offsets), scaled_dot | softmax | weighted_sum, x, result);
    attend(dot | causal | proportional | running_state | gated(-0.1), x, x, x, result, past_state(state),
           present_state(state));
    attend(dot | causal | unnormalized | running_state | delta(gain), x, x, x, result);
}

void others(view<float, 3> a, view<float, 2> b, view<float, 3> result) {
    merge(a, b, a, b, result);
    constexpr auto spec = dot | hardmax | weighted_sum;
    static_cast<void>(explain(spec, a));
    reference::attend(spec | concat_heads | map(elu(out)), a, result);
}

void gradients(view<float const, 4> x, view<float const, 3> rows, view<float const, 2> w, view<float const, 1> slopes,
               graph const& edges, view<float, 4> d_x, view<float, 3> d_rows, view<float, 2> d_w,
               view<float, 1> d_slopes) {
    gradient(threads(2), scaled_dot | alibi(slopes) | causal | softmax | weighted_sum, x, x, x, x, grad(x, d_x),
             grad(slopes, d_slopes));
    gradient(dot | softcap(30) | sparsemax | weighted_sum, x, x, x, x, grad(x, d_x));
    gradient(additive(slopes) | neighbors(edges) | softmax | weighted_sum, x, x, x, x, grad(slopes, d_slopes));
    gradient(project(w, w, w, heads<4>) | scaled_dot | softmax | weighted_sum | output(w) | residual, rows, rows,
             grad(rows, d_rows), grad(w, d_w));
}
