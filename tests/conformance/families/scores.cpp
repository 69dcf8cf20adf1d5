// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Other score functions than the dot product, each in the form its source has it: as named words, or as an expression
// inside compare.

#include "engines.hpp"
#include "gradients.hpp"
#include "load.hpp"
#include "projected.hpp"
#include "runner.hpp"

#include <fovea/fovea.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace conformance {
namespace {

using namespace fovea::placeholders;
using fovea::index_t;

template <class T>
auto matrix(fovea::tensor<T, 2> const& stored) {  // (out, in), the way the cases have it
    return fovea::linear(fovea::transposed(stored));
}
template <class T>
auto matrix(fovea::tensor<T, 2> const& stored, std::vector<T> const& bias) {
    return fovea::linear(fovea::transposed(stored),
                         fovea::view<T const, 1>(bias.data(), {static_cast<index_t>(bias.size())}));
}
/// The columns first ... first + count of a matrix stored as (out, in).
template <class T>
fovea::view<T const, 2> columns(fovea::tensor<T, 2> const& stored, index_t first, index_t count) {
    return {stored.data() + first, {stored.extent(0), count}, {stored.extent(1), 1}};
}

/// Operands of a case as (batch, position, feature), and what comes out.
template <class Engine>
struct score_call {
    using T = typename Engine::value;
    test_case const& subject;
    checks& all;
    fovea::tensor<T, 3> query, key, value, result;
    fovea::tensor<T, 4> probabilities;
    named_gradients sums{};

    score_call(test_case const& c, checks& to)
        : subject(c),
          all(to),
          query(load<T, 3>(c["query"])),
          key(load<T, 3>(c[c.has("key")      ? "key"
                           : c.has("memory") ? "memory"
                                             : "value"])),
          value(load<T, 3>(c[c.has("value") ? "value" : "memory"])),
          result({query.extent(0), query.extent(1), value.extent(2)}),
          probabilities({query.extent(0), 1, query.extent(1), key.extent(1)}) {}

    std::vector<T> numbers(std::string const& name) const { return subject[name].template as<T>(); }
    fovea::tensor<T, 2> weights_of(std::string const& name) const { return load<T, 2>(subject[name]); }

    /// The attention as it is, over `keys`.
    void attend_over(auto const& attention, auto const& keys) {
        Engine::attend(attention, query, keys, value, result.view(), fovea::weights(probabilities.view()));
        all.compare(Engine::name, Engine::computes, "out", result);
        all.compare(Engine::name, Engine::computes, "weights", probabilities.elements,
                    {query.extent(0), query.extent(1), key.extent(1)});
    }
    /// Adds the gradients of what is named.
    void differentiate(auto const& attention, auto const& keys, auto const&... named) {
        if constexpr (sizeof...(named) > 0)
            add_gradients<Engine>(sums, attention, query, keys, value, load<T, 3>(subject["d_out"]), named...);
    }

    /// A score with those of `keys` that the case lets a query see; `finish` pipes what stands behind.
    void attend_by(auto const& finish, auto const& scored, auto const& keys, auto const&... named) {
        auto const lengths = subject.has("key_len") ? "key_len" : "src_len";
        std::vector<std::int64_t> counts(static_cast<std::size_t>(query.extent(0)), key.extent(1));
        if (subject.has(lengths)) {
            counts = subject[lengths].template as<std::int64_t>();
            attend_over(finish(scored | fovea::key_lengths(counts)), keys);
        } else {
            attend_over(finish(scored), keys);
        }
        differentiate(finish(scored | fovea::key_lengths(counts)), keys, named...);
    }
    /// The same with softmax; the case has the gradients of queries, keys, values and `named`.
    void attend(auto const& scored, auto const&... named) {
        attend_by([](auto const& masked) { return masked | fovea::softmax | fovea::weighted_sum; }, scored, key,
                  of_case{"d_query", query}, of_case{"d_key", key}, of_case{"d_value", value}, named...);
    }
};

template <class Engine>
void run_additive(score_call<Engine>& call) {
    auto const v = call.numbers("v");
    auto const of_query = call.weights_of("w_q"), of_key = call.weights_of("w_k");
    auto const bias = call.subject.has("b") ? call.numbers("b") : decltype(v)(v.size());
    call.attend(fovea::project(matrix(of_query, bias), matrix(of_key), fovea::as_is) | fovea::additive(v),
                of_case{"d_w_q", of_query}, of_case{"d_w_k", of_key}, of_case{"d_v", v}, of_case{"d_b", bias});
}

/// One matrix is read as two halves of its columns.
template <class Engine>
void run_concat(score_call<Engine>& call) {
    auto const v = call.numbers("v");
    auto const both = call.weights_of("w");
    auto const first = call.query.extent(2);
    auto const of_query = columns(both, 0, first), of_key = columns(both, first, call.key.extent(2));
    call.attend(fovea::project(fovea::linear(fovea::transposed(of_query)), fovea::linear(fovea::transposed(of_key)),
                               fovea::as_is)
                    | fovea::concat(v),
                of_case{"d_v", v}, of_case{"left", of_query}, of_case{"right", of_key});
    call.sums.add_beside("d_w", call.sums.take("left"), call.sums.take("right"), both.extent(0));
}

template <class Engine>
void run_bilinear(score_call<Engine>& call) {
    auto const w = call.weights_of("w");
    call.attend(fovea::general(w), of_case{"d_w", w});
}

template <class Engine>
void run_cosine(score_call<Engine>& call) {
    auto const beta = call.numbers("beta");
    call.attend(fovea::cosine | fovea::rescore(fovea::param(beta)[0] * score), of_case{"d_beta", beta});
}

template <class Engine>
void run_gaussian(score_call<Engine>& call) {
    auto const sigma = call.numbers("sigma");
    call.attend(fovea::gaussian(fovea::param(sigma)[0]), of_case{"d_sigma", sigma});
}

template <class Engine>
void run_location(score_call<Engine>& call) {
    auto const rows = call.weights_of("w_a");  // (position, feature)
    call.attend_by([](auto const& masked) { return masked | fovea::softmax | fovea::weighted_sum; },
                   fovea::location(rows), call.value, of_case{"d_query", call.query}, of_case{"d_value", call.value},
                   of_case{"d_w_a", rows});
}

/// The place that a query looks at, then a Gaussian around it over the weights.
template <class Engine>
void run_local(score_call<Engine>& call) {
    using T = typename Engine::value;
    auto const w = call.weights_of("w_p");
    auto const v = call.numbers("v_p");
    auto const batches = call.query.extent(0), queries = call.query.extent(1);
    fovea::tensor<T, 3> const one({batches, 1, 1}, T(1));
    fovea::tensor<T, 3> places({batches, queries, 1});
    auto const where_to_look =
        fovea::compare(static_cast<T>(call.key.extent(1)) * sigmoid(sum(fovea::param(v) * tanh(q))));
    auto const looking = fovea::project(matrix(w), fovea::as_is, fovea::as_is) | where_to_look | fovea::unnormalized
                       | fovea::weighted_sum;
    Engine::attend(looking, call.query, one, one, places.view());

    auto const sigma = static_cast<T>(call.subject.template attribute<double>("window_sigma"));
    auto const distance = kv_idx - fovea::param(places)(batch, q_idx, 0);
    auto const window = fovea::reweight(weight * exp(-square(distance) / (2 * sigma * sigma)));
    call.attend_by([&](auto const& masked) { return masked | fovea::softmax | window | fovea::weighted_sum; },
                   fovea::dot, call.key, of_case{"d_query", call.query}, of_case{"d_key", call.key},
                   of_case{"d_value", call.value}, of_case{"places", places});
    auto d_places = places;
    auto const of_places = call.sums.take("places");
    d_places.elements.assign(of_places.begin(), of_places.end());
    add_gradients<Engine>(call.sums, looking, call.query, one, one, d_places, of_case{"d_query", call.query},
                          of_case{"d_w_p", w}, of_case{"d_v_p", v});
}

template <class Engine>
void run_keras(score_call<Engine>& call) {
    using T = typename Engine::value;
    auto const& subject = call.subject;
    auto const marks = [&](std::string const& name, index_t positions) {
        std::vector<T> result(static_cast<std::size_t>(call.query.extent(0) * positions), T(1));
        if (!subject.has(name)) return result;
        auto const stored = subject[name].template as<std::uint8_t>();
        result.assign(stored.begin(), stored.end());
        return result;
    };
    auto const of_key = marks("value_mask", call.key.extent(1)), of_query = marks("query_mask", call.query.extent(1));
    fovea::view<T const, 2> const seen(of_key.data(), {call.query.extent(0), call.key.extent(1)});
    fovea::view<T const, 2> const kept(of_query.data(), {call.query.extent(0), call.query.extent(1)});
    auto const reach = subject.template attribute<std::string>("causal") == "top_left" ? 0 : call.key.extent(1);
    auto const visible = fovea::where(kv_idx <= q_idx + reach && fovea::param(seen)(batch, kv_idx) != 0);
    auto const attend = [&](auto const& scored, auto const&... named) {
        auto const attention = scored | visible | fovea::softmax | fovea::weighted_sum
                             | fovea::map(out * fovea::param(kept)(batch, q_idx));
        call.attend_over(attention, call.key);
        call.differentiate(attention, call.key, of_case{"d_query", call.query}, of_case{"d_key", call.key},
                           of_case{"d_value", call.value}, named...);
    };
    auto const number = [&](std::string const& name) {
        return subject.has(name) ? call.numbers(name) : std::vector<T>{1};
    };
    auto const mode = subject.template attribute<std::string>("score_mode");
    if (mode == "additive") {
        auto const scale = subject.has("scale") ? call.numbers("scale")
                                                : std::vector<T>(static_cast<std::size_t>(call.query.extent(2)), T(1));
        attend(fovea::additive(scale), of_case{"d_scale", scale});
    } else if (mode == "concat") {
        auto const scale = number("scale"), factor = number("concat_score_weight");
        attend(fovea::compare(fovea::param(factor)[0] * sum(tanh(fovea::param(scale)(0) * (q + k)))),
               of_case{"d_scale", scale}, of_case{"d_concat_score_weight", factor});
    } else if (mode == "dot") {
        auto const scale = number("scale");
        attend(fovea::scaled_by(fovea::param(scale)[0]), of_case{"d_scale", scale});
    } else {
        throw malformed(subject.name() + ": there is no score_mode " + mode);
    }
}

/// The context beside the query through one matrix: out = linear_out([context, q]), as the sum of two products.
template <class Engine>
void run_onmt(score_call<Engine>& call) {
    using T = typename Engine::value;
    auto const& subject = call.subject;
    auto const type = subject.template attribute<std::string>("attn_type");
    auto const joint = call.weights_of("linear_out_weight");
    auto const context = call.value.extent(2), features = call.query.extent(2);
    auto const left = columns(joint, 0, context), right = columns(joint, context, features);
    auto beside = projected<Engine>(fovea::linear(fovea::transposed(right)), call.query);
    if (subject.has("linear_out_bias")) {
        auto const bias = call.numbers("linear_out_bias");
        for (index_t i = 0; i < beside.size(); ++i)
            beside.elements[static_cast<std::size_t>(i)] += bias[static_cast<std::size_t>(i % joint.extent(0))];
    }
    auto const of_context = fovea::linear(fovea::transposed(left));
    auto const whole = out + fovea::param(beside)(batch, q_idx);
    call.result = fovea::tensor<T, 3>({call.query.extent(0), call.query.extent(1), joint.extent(0)});

    auto const function = subject.template attribute<std::string>("attn_func");
    auto const attend = [&](auto const& scored, auto const& normalizer, auto const& last, auto const&... named) {
        call.attend_by(
            [&](auto const& masked) {
                return masked | normalizer | fovea::weighted_sum | fovea::output(of_context) | fovea::map(last);
            },
            scored, call.key, of_case{"d_query", call.query}, of_case{"d_memory", call.key},
            of_case{"d_memory", call.value}, of_case{"left", left}, of_case{"beside", beside}, named...);
    };
    auto const attend_with = [&](auto const& normalizer) {
        if (type == "mlp") {
            auto const of_query = call.weights_of("linear_query_weight"),
                       of_key = call.weights_of("linear_context_weight");
            auto const bias = call.numbers("linear_query_bias"), v = call.numbers("v_weight");
            attend(fovea::project(matrix(of_query, bias), matrix(of_key), fovea::as_is) | fovea::additive(v),
                   normalizer, whole, of_case{"d_linear_query_weight", of_query},
                   of_case{"d_linear_context_weight", of_key}, of_case{"d_linear_query_bias", bias},
                   of_case{"d_v_weight", v});
        } else if (type == "general") {
            auto const of_query = call.weights_of("linear_in_weight");
            attend(fovea::project(matrix(of_query), fovea::as_is, fovea::as_is) | fovea::dot, normalizer, tanh(whole),
                   of_case{"d_linear_in_weight", of_query});
        } else {
            attend(fovea::dot, normalizer, tanh(whole));
        }
    };
    if (function == "softmax") attend_with(fovea::softmax);
    else if (function == "sparsemax") attend_with(fovea::sparsemax);
    else throw malformed(subject.name() + ": there is no attn_func " + function);
    if constexpr (has_gradients<Engine>) {
        fovea::view<double const, 2> const rows(call.query.data(), {call.query.size() / features, features});
        std::vector<double> const no_bias;
        linear_rows{rows, right, no_bias}.add_gradients(call.sums, call.sums.take("beside"), "d_query", "right",
                                                        "d_linear_out_bias");
        call.sums.add_beside("d_linear_out_weight", call.sums.take("left"), call.sums.take("right"), joint.extent(0));
    }
}

template <class Engine>
void run_with(test_case const& subject, checks& all) {
    score_call<Engine> call(subject, all);
    auto const& name = subject.operation();
    if (name == "additive_attention") run_additive(call);
    else if (name == "concat_attention") run_concat(call);
    else if (name == "bilinear_attention") run_bilinear(call);
    else if (name == "cosine_attention") run_cosine(call);
    else if (name == "gaussian_kernel_attention") run_gaussian(call);
    else if (name == "location_attention") run_location(call);
    else if (name == "local_predictive_attention") run_local(call);
    else if (name == "keras_Attention" || name == "keras_AdditiveAttention") run_keras(call);
    else if (name.starts_with("global_attention_")) run_onmt(call);
    else throw malformed("there is no score function named " + name);
    if constexpr (has_gradients<Engine>) call.sums.compare(subject, all);
}

outcome run(test_case const& subject) {
    return in_each_engine(subject, subject["query"].dtype,
                          [&]<class Engine>(Engine, checks& all) { run_with<Engine>(subject, all); });
}

registration const registered{"scores", run};

}  // namespace
}  // namespace conformance
