// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PyTorch's C++ library: its own attention function from version 2 on, before that step by step.
#include "bench/peer/peer.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>
#include <cmath>
#include <limits>
#include <memory>

namespace bench::peer {
namespace {

using steps_t = unfused::steps<float>;

template <class T>
constexpr auto element = at::kFloat;
template <>
constexpr auto element<fovea::bfloat16> = at::kBFloat16;
template <>
constexpr auto element<fovea::float16> = at::kHalf;

template <class T>
at::Tensor seen(fovea::tensor<T, 4>& t) {
    return at::from_blob(t.data(), {t.extent(0), t.extent(1), t.extent(2), t.extent(3)}, at::TensorOptions(element<T>));
}

/// The bias of the scores: slopes times distances, and minus infinity for pairs that do not see each other;
/// undefined where there is nothing to add.
at::Tensor mask_of(steps_t const& steps, fovea::index_t queries, fovea::index_t keys) {
    at::Tensor mask;
    if (!steps.alibi_slopes.empty()) {
        auto const heads = static_cast<fovea::index_t>(steps.alibi_slopes.size());
        auto const slopes = at::empty({1, heads, 1, 1});
        std::copy(steps.alibi_slopes.begin(), steps.alibi_slopes.end(), slopes.data_ptr<float>());
        mask = slopes * (at::arange(keys).view({1, keys}) - at::arange(queries).view({queries, 1}));
    }
    if (!steps.causal) return mask;
    auto const visible = at::ones({queries, keys}).tril();
    auto const near = steps.window > 0 ? visible.triu(1 - steps.window) : visible;
    if (!mask.defined()) mask = at::zeros({queries, keys});
    return mask.masked_fill(near == 0, -std::numeric_limits<float>::infinity());
}

#if TORCH_VERSION_MAJOR >= 2
at::Tensor attention(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v, at::Tensor const& mask,
                     bool causal) {
    bool const grouped = q.size(1) != k.size(1);
    if (mask.defined()) return at::scaled_dot_product_attention(q, k, v, mask, 0, false, {}, grouped);
    return at::scaled_dot_product_attention(q, k, v, {}, 0, causal, {}, grouped);
}
constexpr bool takes_groups = true;
constexpr index_t longest = 4096;
#else
at::Tensor attention(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v, at::Tensor const& mask, bool) {
    auto scores = at::matmul(q * (1 / std::sqrt(static_cast<double>(q.size(3)))), k.transpose(2, 3));
    if (mask.defined()) scores += mask;
    return at::matmul(scores.softmax(3), v);
}
constexpr bool takes_groups = false;
constexpr index_t longest = 2048;
#endif

bool able(steps_t const& steps, shape const& s) {
    return steps.softcap == 0 && (takes_groups || s.heads == s.key_heads());
}

/// With elements of 16 bits, as Debian builds it, the function is faster without its fused kernel.
template <class T>
void choose_kernel() {
#if TORCH_VERSION_MAJOR >= 2
    at::globalContext().setSDPUseFlash(std::is_same_v<T, float>);
#endif
}

template <class T>
program prepare(request<T> const& asked) {
    at::set_num_threads(1);
    choose_kernel<T>();
    auto& o = asked.o;
    auto const q = seen(o.query), k = seen(o.key), v = seen(o.value), result = seen(o.result);
    bool const flag_alone =
        takes_groups && asked.steps.causal && asked.steps.window == 0 && asked.steps.alibi_slopes.empty();
    auto mask = flag_alone ? at::Tensor() : mask_of(asked.steps, q.size(2), k.size(2));
    if (mask.defined()) mask = mask.to(q.scalar_type());
    auto const computed = std::make_shared<at::Tensor>();
    return {[=] {
                c10::InferenceMode const no_gradients;
                *computed = attention(q, k, v, mask, flag_alone);
            },
            [=] { result.copy_(*computed); }};
}

#if TORCH_VERSION_MAJOR >= 2
/// softmax(c tanh(S / c)) V step by step: the function takes no such scores.
at::Tensor softcapped(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v, double cap) {
    auto const scores = at::matmul(q, k.transpose(2, 3)) * (1 / std::sqrt(static_cast<double>(q.size(3))) / cap);
    return at::matmul((scores.tanh() * cap).softmax(3), v);
}

template <class T>
program prepare_training(request<T> const& asked, gradients<T>& d) {
    at::set_num_threads(1);
    choose_kernel<T>();
    auto const steps = asked.steps;
    auto const group = asked.o.query.extent(1) / asked.o.key.extent(1);
    auto const q = seen(asked.o.query).requires_grad_(), k = seen(asked.o.key).requires_grad_(),
               v = seen(asked.o.value).requires_grad_(), d_result = seen(d.d_result);
    auto const mask = steps.alibi_slopes.empty() ? at::Tensor() : mask_of(steps, q.size(2), k.size(2));
    auto const computed = std::make_shared<torch::autograd::variable_list>();
    return {[=] {
                // The fused kernel takes no groups: copies of their keys are faster than what does.
                auto const keys = group == 1 ? k : k.repeat_interleave(group, 1),
                           values = group == 1 ? v : v.repeat_interleave(group, 1);
                auto const result = steps.softcap != 0 ? softcapped(q, keys, values, static_cast<double>(steps.softcap))
                                                       : attention(q, keys, values, mask, steps.causal);
                *computed = torch::autograd::grad({result}, {q, k, v}, {d_result});
            },
            [=, &d] {
                fovea::tensor<T, 4>* const to[]{&d.d_query, &d.d_key, &d.d_value};
                for (std::size_t i = 0; i < 3; ++i) seen(*to[i]).copy_((*computed)[i]);
            }};
}
#endif

template <class T>
library<T> libtorch() {
#if TORCH_VERSION_MAJOR >= 2
    return {"libtorch", TORCH_VERSION, able, prepare<T>, longest, prepare_training<T>};
#else
    return {"libtorch", TORCH_VERSION, able, prepare<T>, longest};
#endif
}

entry<float> const singles(libtorch<float>());
#if TORCH_VERSION_MAJOR >= 2
entry<fovea::bfloat16> const pairs_of_bytes(libtorch<fovea::bfloat16>());
entry<fovea::float16> const halves(libtorch<fovea::float16>());
#endif

}  // namespace
}  // namespace bench::peer
