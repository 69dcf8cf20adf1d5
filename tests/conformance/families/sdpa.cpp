// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scaled dot-product attention on (batch, head, position, feature): bool masks are tables in where, float masks tables
// in rescore, an explicit scale is a factor in compare. Inputs of 16 bits are widened, which changes no value.

#include "engines.hpp"
#include "load.hpp"
#include "runner.hpp"

#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace conformance {
namespace {

using namespace fovea::placeholders;

template <class T, class Use>
void with_mask(test_case const& subject, auto const& scored, Use const& use) {
    auto const& query = subject["q"].shape;
    fovea::extents_t<4> const pairs{query[0], query[1], query[2], subject["k"].shape[2]};
    auto const causal = subject.attribute<std::string>("causal");
    if (!subject.has("mask")) {
        if (causal == "top_left") use(scored | fovea::causal);
        else if (causal == "bottom_right") use(scored | fovea::causal_at_end);
        else use(scored);
        return;
    }
    auto const use_beside = [&](auto const& masked) {
        auto const offset = causal == "bottom_right" ? pairs[3] - pairs[2] : 0;
        if (causal == "none") use(masked);
        else use(masked | fovea::causal_from(offset));
    };
    if (subject["mask"].dtype == dtype::boolean) {
        auto const mask = broadcast<bool, 4>(subject["mask"], pairs);
        use_beside(scored | fovea::where(fovea::param(mask.view())(batch, head, q_idx, kv_idx)));
    } else {
        auto const mask = broadcast<T, 4>(subject["mask"], pairs);
        use_beside(scored | fovea::rescore(score + fovea::param(mask.view())(batch, head, q_idx, kv_idx)));
    }
}

template <class T, class Use>
void with_specification(test_case const& subject, Use const& use) {
    auto const scale = subject.attribute<double>("scale");
    auto const usual = 1 / std::sqrt(static_cast<double>(subject["q"].shape[3]));
    if (std::abs(scale - usual) < 1e-12) with_mask<T>(subject, fovea::scaled_dot, use);
    else with_mask<T>(subject, fovea::compare(sum(q * k) * static_cast<T>(scale)), use);
}

/// The gradients of queries, keys and values.
template <class Engine, class T>
void compare_gradients(test_case const& subject, checks& all, auto const& attention, fovea::tensor<T, 4> const& query,
                       fovea::tensor<T, 4> const& key, fovea::tensor<T, 4> const& value) {
    auto const d_result = load<T, 4>(subject["d_out"]);
    fovea::tensor<T, 4> d_query(query.extents), d_key(key.extents), d_value(value.extents);
    fovea::gradient(attention, query, key, value, d_result, fovea::grad(query, d_query), fovea::grad(key, d_key),
                    fovea::grad(value, d_value));
    all.compare(Engine::name, Engine::computes, "d_q", d_query);
    all.compare(Engine::name, Engine::computes, "d_k", d_key);
    all.compare(Engine::name, Engine::computes, "d_v", d_value);
}

template <class Engine>
void run_with(test_case const& subject, checks& all) {
    using value = typename Engine::value;
    auto const query = load<value, 4>(subject["q"]), key = load<value, 4>(subject["k"]);
    auto const values = load<value, 4>(subject["v"]);
    fovea::tensor<value, 4> result({query.extent(0), query.extent(1), query.extent(2), values.extent(3)});
    fovea::tensor<value, 4> probabilities({query.extent(0), query.extent(1), query.extent(2), key.extent(2)});

    with_specification<value>(subject, [&](auto const& scored) {
        auto const attention = scored | fovea::softmax | fovea::weighted_sum;
        if (subject.has("weights"))
            Engine::attend(attention, query.view(), key.view(), values.view(), result.view(),
                           fovea::weights(probabilities.view()));
        else Engine::attend(attention, query.view(), key.view(), values.view(), result.view());
        if constexpr (requires { Engine::differentiates; })
            if (subject.has("d_q")) compare_gradients<Engine>(subject, all, attention, query, key, values);
    });
    all.compare(Engine::name, Engine::computes, "out", result);
    if (subject.has("weights")) all.compare(Engine::name, Engine::computes, "weights", probabilities);
}

outcome run(test_case const& subject) {
    return in_each_engine(subject, subject["q"].dtype,
                          [&]<class Engine>(Engine, checks& all) { run_with<Engine>(subject, all); });
}

registration const registered{"sdpa", run};

}  // namespace
}  // namespace conformance
