// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attention over the incoming edges of each node: the node that looks is the query, the one it looks at the key.

#include "engines.hpp"
#include "load.hpp"
#include "runner.hpp"

#include <fovea/fovea.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace conformance {
namespace {

using namespace fovea::placeholders;
using fovea::index_t;

/// The edges that attention runs over, in the order of the case's `alpha`.
std::vector<fovea::graph::edge> load_edges(test_case const& subject) {
    auto const& stored = subject["edge_index"];
    auto const ends = stored.as<std::int64_t>();  // sources, then targets
    auto const count = static_cast<std::size_t>(stored.shape.at(1));
    bool const add_loops = subject.attribute<bool>("add_self_loops");
    std::vector<fovea::graph::edge> edges;
    for (std::size_t e = 0; e < count; ++e)
        if (!add_loops || ends[e] != ends[count + e]) edges.push_back({ends[count + e], ends[e]});
    auto const nodes = add_loops ? subject.attribute<std::int64_t>("num_nodes") : 0;
    for (index_t node = 0; node < nodes; ++node) edges.push_back({node, node});
    return edges;
}

/// Weights over (head, query, key) as the case has them, (edge, head); edges that are listed twice share a weight.
template <class T>
fovea::tensor<T, 2> weights_of_edges(fovea::tensor<T, 3> const& weights, std::vector<fovea::graph::edge> const& edges) {
    std::map<std::pair<index_t, index_t>, index_t> listed;
    for (auto const& each : edges) ++listed[{each.to, each.from}];
    fovea::tensor<T, 2> result({static_cast<index_t>(edges.size()), weights.extent(0)});
    for (index_t e = 0; e < result.extent(0); ++e) {
        auto const& edge = edges[static_cast<std::size_t>(e)];
        for (index_t h = 0; h < result.extent(1); ++h)
            result(e, h) = weights(h, edge.to, edge.from) / static_cast<T>(listed[{edge.to, edge.from}]);
    }
    return result;
}

/// (1, heads, features) as (heads, features).
template <class T>
fovea::tensor<T, 2> load_per_head(tensor const& stored) {
    fovea::tensor<T, 2> loaded({stored.shape.at(1), stored.shape.at(2)});
    loaded.elements = stored.as<T>();
    return loaded;
}

/// x W^T + b; without bias if the case has none.
template <class T>
struct projection {
    fovea::tensor<T, 2> matrix;
    std::vector<T> bias;

    projection(test_case const& subject, std::string const& name) : matrix(load<T, 2>(subject[name + "_weight"])) {
        if (subject.has(name + "_bias")) bias = subject[name + "_bias"].as<T>();
    }
    auto map() const {
        fovea::view<T const, 1> b;
        if (!bias.empty()) b = {bias.data(), {static_cast<index_t>(bias.size())}};
        return fovea::linear(fovea::transposed(matrix), b);
    }
};

/// No bias is a bias of zeros.
template <class T>
std::vector<T> load_bias(test_case const& subject) {
    if (subject.has("bias")) return subject["bias"].as<T>();
    return std::vector<T>(static_cast<std::size_t>(subject["out"].shape.at(1)));
}

template <int... Counts>
void with_heads(std::int64_t count, auto const& use) {
    bool const found = ((count == Counts && (use(fovea::heads<Counts>), true)) || ...);
    if (!found) throw malformed(std::to_string(count) + " heads are not among those that are compiled");
}

/// The rows of the nodes through a projection: each node attends to itself alone.
template <class Engine, class T>
fovea::tensor<T, 2> projected(projection<T> const& projection, fovea::tensor<T, 2> const& nodes) {
    fovea::tensor<T, 2> result({nodes.extent(0), projection.matrix.extent(0)});
    auto const attention = fovea::project(fovea::as_is, fovea::as_is, projection.map()) | fovea::dot |
                           fovea::where(q_idx == kv_idx) | fovea::softmax | fovea::weighted_sum;
    Engine::attend(attention, nodes, result.view());
    return result;
}

/// Runs `scored` (projection and score) over the edges, joins the heads, lets `last` finish the result and compares.
template <class Engine, class T>
void finish(test_case const& subject, checks& all, auto const& scored, auto const& last,
            fovea::tensor<T, 2> const& targets, fovea::tensor<T, 2> const& sources) {
    auto const edges = load_edges(subject);
    fovea::graph const graph(targets.extent(0), edges);
    auto const heads = subject.attribute<std::int64_t>("heads");
    auto const channels = subject.attribute<std::int64_t>("out_channels");
    bool const concat = subject.attribute<bool>("concat");
    fovea::tensor<T, 2> result({targets.extent(0), concat ? heads * channels : channels});
    fovea::tensor<T, 3> weights({heads, targets.extent(0), sources.extent(0)});

    auto const aggregated = scored | fovea::neighbors(graph) | fovea::softmax | fovea::weighted_sum;
    auto const attend = [&](auto const& attention) {
        Engine::attend(attention, fovea::queries(targets), fovea::memory(sources), result.view(),
                       fovea::weights(weights.view()));
    };
    if (concat) attend(aggregated | fovea::concat_heads | last);
    else attend(aggregated | fovea::mean_heads | last);

    all.compare(Engine::name, Engine::computes, "out", result);
    if (!subject.has("alpha")) return;
    all.compare(Engine::name, Engine::computes, "alpha", weights_of_edges(weights, edges));
    fovea::tensor<std::int64_t, 2> ends({2, static_cast<index_t>(edges.size())});
    for (std::size_t e = 0; e < edges.size(); ++e) {
        ends(0, static_cast<index_t>(e)) = edges[e].from;
        ends(1, static_cast<index_t>(e)) = edges[e].to;
    }
    all.compare(Engine::name, Engine::computes, "alpha_edge_index", ends);
}

template <class Engine>
void run_gat(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    bool const bipartite = subject.has("x_src");
    auto const targets = load<T, 2>(subject[bipartite ? "x_dst" : "x"]);
    auto const sources = load<T, 2>(subject[bipartite ? "x_src" : "x"]);
    projection<T> const target_map(subject, bipartite ? "lin_dst" : "lin");
    projection<T> const source_map(subject, bipartite ? "lin_src" : "lin");
    auto const of_target = load_per_head<T>(subject["att_dst"]), of_source = load_per_head<T>(subject["att_src"]);
    auto const slope = static_cast<T>(subject.attribute<double>("negative_slope"));
    auto const bias = load_bias<T>(subject);
    auto const run_with = [&](auto const& last) {
        return [&](auto const& heads) {
            auto const scored = fovea::project(target_map.map(), source_map.map(), source_map.map(), heads) |
                                fovea::gat_score(of_target, of_source, slope);
            finish<Engine>(subject, all, scored, last, targets, sources);
        };
    };
    auto const heads = subject.attribute<std::int64_t>("heads");
    if (subject.has("res_weight")) {
        auto const residual = projected<Engine>(projection<T>(subject, "res"), targets);
        auto const add_both = fovea::map(out + fovea::param(residual)[q_idx] + fovea::param(bias));
        with_heads<2>(heads, run_with(add_both));
    } else {
        auto const add_bias = fovea::map(out + fovea::param(bias));
        with_heads<1, 2, 3, 4, 8>(heads, run_with(add_bias));
    }
}

template <class Engine>
void run_gatv2(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    bool const shared = subject.attribute<bool>("share_weights", false);
    auto const nodes = load<T, 2>(subject["x"]);
    projection<T> const target_map(subject, shared ? "lin_l" : "lin_r"), source_map(subject, "lin_l");
    auto const of_pair = load_per_head<T>(subject["att"]);
    auto const slope = static_cast<T>(subject.attribute<double>("negative_slope"));
    auto const bias = load_bias<T>(subject);
    with_heads<2, 3>(subject.attribute<std::int64_t>("heads"), [&](auto const& heads) {
        auto const scored = fovea::project(target_map.map(), source_map.map(), source_map.map(), heads) |
                            fovea::gatv2_score(of_pair, slope);
        finish<Engine>(subject, all, scored, fovea::map(out + fovea::param(bias)), nodes, nodes);
    });
}

template <class Engine>
void run_transformer(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    auto const nodes = load<T, 2>(subject["x"]);
    projection<T> const query(subject, "lin_query"), key(subject, "lin_key"), value(subject, "lin_value");
    auto skip = projected<Engine>(projection<T>(subject, "lin_skip"), nodes);
    if (!subject.attribute<bool>("root_weight", true)) std::fill(skip.elements.begin(), skip.elements.end(), T{});
    with_heads<2>(subject.attribute<std::int64_t>("heads"), [&](auto const& heads) {
        auto const scored = fovea::project(query.map(), key.map(), value.map(), heads) | fovea::scaled_dot;
        finish<Engine>(subject, all, scored, fovea::map(out + fovea::param(skip)[q_idx]), nodes, nodes);
    });
}

template <class Engine>
void run_agnn(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    auto const nodes = load<T, 2>(subject["x"]);
    auto const beta = subject["beta"].as<T>().at(0);
    auto const scored = fovea::project(fovea::as_is, fovea::as_is, fovea::as_is) | fovea::cosine |
                        fovea::rescore(score * fovea::param(beta));
    auto const bias = load_bias<T>(subject);
    finish<Engine>(subject, all, scored, fovea::map(out + fovea::param(bias)), nodes, nodes);
}

outcome run(test_case const& subject) {
    auto const kind = subject.attribute<std::string>("conv");
    if (subject.has("edge_attr")) return skipped{"features of edges are not expressed yet"};
    if (subject.attribute<bool>("beta", false))
        return skipped{"a gate over whole rows of the result is not expressed yet"};

    checks all(subject);
    auto const each_engine = [&](auto const& run_with) {
        run_with(float32_engine{});
        run_with(float64_engine{});
        run_with(reference_engine{});
    };
    if (kind == "gat") each_engine([&]<class Engine>(Engine) { run_gat<Engine>(subject, all); });
    else if (kind == "gatv2") each_engine([&]<class Engine>(Engine) { run_gatv2<Engine>(subject, all); });
    else if (kind == "transformer") each_engine([&]<class Engine>(Engine) { run_transformer<Engine>(subject, all); });
    else if (kind == "agnn") each_engine([&]<class Engine>(Engine) { run_agnn<Engine>(subject, all); });
    else return skipped{kind + " is not expressed yet"};
    return all.finish();
}

registration const registered{"graph", run};

}  // namespace
}  // namespace conformance
