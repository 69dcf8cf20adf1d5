// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PyTorch's C++ library: its own attention function from version 2 on, before that step by step.
#include "bench/peer/peer.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/version.h>
#include <cmath>
#include <limits>

namespace bench::peer {
namespace {

using steps_t = unfused::steps<float>;

at::Tensor seen(fovea::tensor<float, 4>& t) {
    return at::from_blob(t.data(), {t.extent(0), t.extent(1), t.extent(2), t.extent(3)});
}

/// 0 for pairs that see each other, minus infinity for the others; undefined where all do.
at::Tensor mask_of(steps_t const& steps, fovea::index_t queries, fovea::index_t keys) {
    if (!steps.causal) return {};
    auto const visible = at::ones({queries, keys}).tril();
    auto const near = steps.window > 0 ? visible.triu(1 - steps.window) : visible;
    return at::zeros({queries, keys}).masked_fill(near == 0, -std::numeric_limits<float>::infinity());
}

at::Tensor attention(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v, at::Tensor const& mask,
                     bool causal) {
#if TORCH_VERSION_MAJOR >= 2
    if (causal) return at::scaled_dot_product_attention(q, k, v, {}, 0, true);
    return at::scaled_dot_product_attention(q, k, v, mask.defined() ? c10::optional<at::Tensor>(mask) : c10::nullopt);
#else
    static_cast<void>(causal);
    auto scores = at::matmul(q * (1 / std::sqrt(static_cast<double>(q.size(3)))), k.transpose(2, 3));
    if (mask.defined()) scores += mask;
    return at::matmul(scores.softmax(3), v);
#endif
}

bool able(steps_t const& steps, bool grouped) { return steps.alibi_slopes.empty() && steps.softcap == 0 && !grouped; }

entry<float> const singles({"libtorch", able, [](request<float> const& asked) {
                                at::set_num_threads(1);
                                auto& o = asked.o;
                                auto const q = seen(o.query), k = seen(o.key), v = seen(o.value),
                                           result = seen(o.result);
                                bool const causal = asked.steps.causal && asked.steps.window == 0;
                                return [=, mask = mask_of(asked.steps, q.size(2), k.size(2))] {
                                    at::NoGradGuard const no_gradients;
                                    result.copy_(attention(q, k, v, mask, causal));
                                };
                            }});

}  // namespace
}  // namespace bench::peer
