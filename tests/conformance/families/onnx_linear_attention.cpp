// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The operator LinearAttention of the ONNX standard: a running state, gated and corrected as the update rule says.

#include "engines.hpp"
#include "load.hpp"
#include "runner.hpp"

#include <fovea/fovea.hpp>

#include <cstdint>
#include <string>

namespace conformance {
namespace {

using namespace fovea::placeholders;
using fovea::index_t;

/// (batch, position, heads * size), seen as (batch, head, position, size).
template <class T>
struct joined_heads {
    fovea::tensor<T, 3> stored;
    index_t heads;

    joined_heads(tensor const& t, index_t h) : stored(load<T, 3>(t)), heads(h) {}
    joined_heads(fovea::extents_t<3> sizes, index_t h) : stored(sizes), heads(h) {}

    fovea::view<T const, 4> view() const { return {stored.data(), sizes(), steps()}; }
    fovea::view<T, 4> view() { return {stored.data(), sizes(), steps()}; }

private:
    index_t size() const { return stored.extent(2) / heads; }
    fovea::extents_t<4> sizes() const { return {stored.extent(0), heads, stored.extent(1), size()}; }
    fovea::extents_t<4> steps() const { return {stored.extent(1) * stored.extent(2), size(), stored.extent(2), 1}; }
};

template <class Engine>
void run_with(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    auto const of_queries = subject.at<std::int64_t>("/resolved/q_num_heads");
    auto const of_keys = subject.at<std::int64_t>("/resolved/kv_num_heads");
    joined_heads<T> const query(subject["query"], of_queries), key(subject["key"], of_keys),
        value(subject["value"], of_keys);
    auto const sizes = value.view().extents;
    joined_heads<T> result({sizes[0], sizes[2], of_queries * sizes[3]}, of_queries);
    fovea::tensor<T, 4> state({sizes[0], of_keys, key.view().extent(3), sizes[3]});
    if (subject.has("past_state")) state = load<T, 4>(subject["past_state"]);

    auto const summed = fovea::compare(sum(q * k) * static_cast<T>(subject.at<double>("/resolved/scale")))
                      | fovea::causal | fovea::unnormalized | fovea::running_state;
    auto const attend = [&](auto const& attention) {
        if (subject.has("past_state"))
            Engine::attend(attention, query.view(), key.view(), value.view(), result.view(), fovea::past_state(state),
                           fovea::present_state(state));
        else
            Engine::attend(attention, query.view(), key.view(), value.view(), result.view(),
                           fovea::present_state(state));
    };
    /// A number for each step, of each head of the keys or of all of them.
    auto const of_steps = [&](std::string const& name) {
        bool const shared = subject[name].shape.back() < of_keys;
        return joined_heads<T>(subject[name], shared ? 1 : of_keys);
    };
    auto const rule = subject.at<std::string>("/resolved/update_rule");
    if (rule == "linear") {
        attend(summed);
    } else if (rule == "gated") {
        auto const decay = of_steps("decay");
        attend(summed | fovea::gated(decay.view()));
    } else if (rule == "delta") {
        auto const beta = of_steps("beta");
        attend(summed | fovea::delta(beta.view()));
    } else if (rule == "gated_delta") {
        auto const decay = of_steps("decay"), beta = of_steps("beta");
        attend(summed | fovea::gated(decay.view()) | fovea::delta(beta.view()));
    } else {
        throw malformed("there is no update rule named " + rule);
    }
    all.compare(Engine::name, Engine::computes, "output", result.stored);
    if (subject.has("present_state")) all.compare(Engine::name, Engine::computes, "present_state", state);
}

outcome run(test_case const& subject) {
    return in_each_engine(subject, subject["query"].dtype,
                          [&]<class Engine>(Engine, checks& all) { run_with<Engine>(subject, all); });
}

registration const registered{"onnx_linear_attention", run};

}  // namespace
}  // namespace conformance
