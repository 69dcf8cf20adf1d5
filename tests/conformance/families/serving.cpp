// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Needs of servers of language models: sequences packed one after the other, sinks, rotations, biases by distance,
// partial results that are merged.

#include "engines.hpp"
#include "gradients.hpp"
#include "load.hpp"
#include "runner.hpp"

#include <fovea/fovea.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace conformance {
namespace {

using namespace fovea::placeholders;
using fovea::index_t;

/// (position, head, feature), seen as (1, head, position, feature).
template <class T>
struct packed_rows {
    fovea::tensor<T, 3> stored;

    explicit packed_rows(tensor const& t) : stored(load<T, 3>(t)) {}
    packed_rows(index_t positions, index_t heads, index_t features) : stored({positions, heads, features}) {}

    index_t positions() const { return stored.extent(0); }
    index_t heads() const { return stored.extent(1); }
    index_t features() const { return stored.extent(2); }
    fovea::view<T const, 4> view() const { return {stored.data(), sizes(), steps()}; }
    fovea::view<T, 4> view() { return {stored.data(), sizes(), steps()}; }

private:
    fovea::extents_t<4> sizes() const { return {1, heads(), positions(), features()}; }
    fovea::extents_t<4> steps() const { return {stored.size(), features(), heads() * features(), 1}; }
};

template <class Engine>
struct packed_call {
    using T = typename Engine::value;
    packed_rows<T> const query, key, value;
    packed_rows<T> result;
    T scale;

    explicit packed_call(test_case const& subject)
        : query(subject["q"]),
          key(subject["k"]),
          value(subject["v"]),
          result(query.positions(), query.heads(), value.features()),
          scale(static_cast<T>(subject.attribute<double>("scale"))) {}

    auto scored() const { return fovea::scaled_by(scale); }
};

/// The gradients of packed queries, keys and values, which sequences add one after another.
template <class Engine>
struct packed_gradients {
    using T = typename Engine::value;
    struct positions {
        index_t first, count;
        template <class Rows>
        auto of(Rows& rows) const {
            auto some = rows.view();
            some.data += first * some.stride(2);
            some.extents[2] = count;
            return some;
        }
    };
    packed_call<Engine> const& call;
    packed_rows<T> const d_result;
    packed_rows<T> query, key, value;

    packed_gradients(test_case const& subject, packed_call<Engine> const& of)
        : call(of), d_result(subject["d_out"]), query(of.query), key(of.key), value(of.value) {}

    /// Those of one sequence; `further` are asked for as well.
    void add(auto const& attention, positions const& queries, positions const& keys, auto const&... further) {
        if constexpr (has_gradients<Engine>) {
            auto const q = queries.of(call.query), k = keys.of(call.key), v = keys.of(call.value);
            fovea::reference::gradient(attention, q, k, v, queries.of(d_result), fovea::grad(q, queries.of(query)),
                                       fovea::grad(k, keys.of(key)), fovea::grad(v, keys.of(value)), further...);
        }
    }
    void compare(test_case const& subject, checks& all) const {
        if constexpr (has_gradients<Engine>) {
            all.compare(Engine::name, Engine::computes, "d_q", query.stored.elements, subject["d_q"].shape);
            all.compare(Engine::name, Engine::computes, "d_k", key.stored.elements, subject["d_k"].shape);
            all.compare(Engine::name, Engine::computes, "d_v", value.stored.elements, subject["d_v"].shape);
        }
    }
};

template <class Engine>
void run_sink(test_case const& subject, checks& all) {
    packed_call<Engine> call(subject);
    auto const of_queries = subject["q_offsets"].as<std::int64_t>(), of_keys = subject["k_offsets"].as<std::int64_t>();
    auto const sinks = load<typename Engine::value, 1>(subject["sink"]);
    auto const attend = [&](auto const& masked) {
        Engine::attend(fovea::ragged(of_queries, of_keys),
                       masked | fovea::softmax_with_sink(fovea::param(sinks)[head]) | fovea::weighted_sum,
                       call.query.view(), call.key.view(), call.value.view(), call.result.view());
        if (!subject.has("d_out")) return;
        packed_gradients<Engine> gradients(subject, call);
        fovea::tensor<typename Engine::value, 1> d_sinks(sinks.extents), d_these(sinks.extents);
        for (std::size_t s = 0; s + 1 < of_queries.size(); ++s) {
            gradients.add(masked | fovea::softmax_with_sink(fovea::param(sinks)[head]) | fovea::weighted_sum,
                          {of_queries[s], of_queries[s + 1] - of_queries[s]}, {of_keys[s], of_keys[s + 1] - of_keys[s]},
                          fovea::grad(sinks, d_these));
            for (std::size_t h = 0; h < d_sinks.elements.size(); ++h) d_sinks.elements[h] += d_these.elements[h];
        }
        gradients.compare(subject, all);
        if constexpr (has_gradients<Engine>) all.compare(Engine::name, Engine::computes, "d_sink", d_sinks);
    };
    bool const causal = subject.attribute<std::string>("causal") == "bottom_right";
    auto const left = subject.attribute<std::int64_t>("window_left");
    if (left < 0) {
        if (causal) attend(call.scored() | fovea::causal_at_end);
        else attend(call.scored());
    } else {
        auto const ahead = causal ? 0 : call.key.positions();
        auto const distance = kv_idx - q_idx - (kv_len - q_len);
        attend(call.scored() | fovea::where(distance <= ahead && distance >= -left));
    }
    all.compare(Engine::name, Engine::computes, "out", call.result.stored);
}

template <class Engine>
void run_alibi(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    packed_call<Engine> call(subject);
    auto const heads = call.query.heads();
    auto const published = fovea::alibi_slopes(heads);  // rounded to float
    std::vector<T> slopes;
    index_t regular = 1;  // the slopes of a power of two, then every other one of twice as many
    while (2 * regular <= heads) regular *= 2;
    for (index_t h = 0; h < heads; ++h) {
        auto const step = static_cast<double>(h < regular ? 2 * (h + 1) : 2 * (h - regular) + 1);
        slopes.push_back(static_cast<T>(std::exp2(-4 * step / static_cast<double>(regular))));
    }
    auto const biased = call.scored() | fovea::alibi(slopes);
    auto const attend = [&](auto const& masked) {
        auto const attention = masked | fovea::softmax | fovea::weighted_sum;
        Engine::attend(attention, call.query.view(), call.key.view(), call.value.view(), call.result.view());
        packed_gradients<Engine> gradients(subject, call);
        gradients.add(attention, {0, call.query.positions()}, {0, call.key.positions()});
        gradients.compare(subject, all);
    };
    auto const causal = subject.attribute<std::string>("causal");
    if (causal == "bottom_right") attend(biased | fovea::causal_at_end);
    else if (causal == "top_left") attend(biased | fovea::causal);
    else attend(biased);
    all.compare(Engine::name, Engine::computes, "out", call.result.stored);
    if (subject.has("slopes")) all.compare(Engine::name, Engine::computes, "slopes", published, {heads});
}

/// Values that are turned, in an attention in which each position sees itself.
template <class Engine>
void run_rotary(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    auto const positions = subject["positions"].as<std::int64_t>();
    fovea::view<std::int64_t const, 1> const table(positions.data(), {static_cast<index_t>(positions.size())});
    auto const halves = fovea::rotary.base(subject.attribute<double>("base"))
                            .features(subject.attribute<std::int64_t>("rotary_dim"))
                            .positions(table);
    auto const turning = subject.attribute<std::string>("pairs") == "interleaved" ? halves.interleaved() : halves;
    auto const attention = fovea::project(fovea::as_is, fovea::as_is, fovea::as_is | turning) | fovea::dot
                         | fovea::where(q_idx == kv_idx) | fovea::hardmax | fovea::weighted_sum;
    for (std::string const name : {"q", "k"}) {
        packed_rows<T> const rows(subject[name]);
        packed_rows<T> turned(rows.positions(), rows.heads(), rows.features());
        Engine::attend(attention, rows.view(), turned.view());
        all.compare(Engine::name, Engine::computes, name + "_rotated", turned.stored);
    }
}

/// The definition of a merge: a softmax over the parts, whose scores are their log-sum-exps.
template <class T>
void merge_by_definition(std::vector<fovea::tensor<T, 4>> const& results, std::vector<fovea::tensor<T, 3>> const& sums,
                         fovea::tensor<T, 4>& result, fovea::tensor<T, 3>& log_sums) {
    auto const rows = log_sums.size(), parts = static_cast<index_t>(results.size()), features = result.extent(3);
    fovea::tensor<T, 3> const queries({rows, 1, 1}), keys({rows, parts, 1});
    fovea::tensor<T, 3> values({rows, parts, features});
    fovea::tensor<T, 2> scores({rows, parts});
    for (index_t row = 0; row < rows; ++row)
        for (index_t p = 0; p < parts; ++p) {
            auto const part = static_cast<std::size_t>(p);
            scores(row, p) = sums[part].elements[static_cast<std::size_t>(row)];
            std::copy_n(results[part].data() + row * features, features, &values(row, p, 0));
        }
    auto const attention = fovea::compare(fovea::param(scores)(batch, kv_idx)) | fovea::softmax | fovea::weighted_sum;
    fovea::reference::attend(attention, queries, keys, values, fovea::view<T, 3>(result.data(), {rows, 1, features}),
                             fovea::lse(fovea::view<T, 3>(log_sums.data(), {rows, 1, 1})));
}

template <class Engine>
void run_merge(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    std::vector<fovea::tensor<T, 4>> results;
    std::vector<fovea::tensor<T, 3>> sums;
    for (int part = 1; subject.has("out_" + std::to_string(part)); ++part) {
        results.push_back(load<T, 4>(subject["out_" + std::to_string(part)]));
        sums.push_back(load<T, 3>(subject["lse_" + std::to_string(part)]));
    }
    fovea::tensor<T, 4> result(results.at(0).extents);
    fovea::tensor<T, 3> log_sums(sums.at(0).extents);
    if constexpr (std::is_same_v<Engine, reference_engine>) {
        merge_by_definition(results, sums, result, log_sums);
    } else {
        fovea::merge(results[0], sums[0], results.at(1), sums[1], result, log_sums);
        for (std::size_t part = 2; part < results.size(); ++part)
            fovea::merge(result, log_sums, results[part], sums[part], result, log_sums);
    }
    all.compare(Engine::name, Engine::computes, "out", result);
    all.compare(Engine::name, Engine::computes, "lse", log_sums);
}

template <class Engine>
void run_with(test_case const& subject, checks& all) {
    auto const& name = subject.operation();
    if (name == "sink_attention") run_sink<Engine>(subject, all);
    else if (name == "alibi_attention") run_alibi<Engine>(subject, all);
    else if (name == "rotary_embedding") run_rotary<Engine>(subject, all);
    else if (name == "merge_attention") run_merge<Engine>(subject, all);
    else throw malformed("there is no operator named " + name);
}

outcome run(test_case const& subject) {
    return in_each_engine(subject, subject[subject.has("q") ? "q" : "out_1"].dtype,
                          [&]<class Engine>(Engine, checks& all) { run_with<Engine>(subject, all); });
}

registration const registered{"serving", run};

}  // namespace
}  // namespace conformance
