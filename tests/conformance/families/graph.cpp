// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attention over the incoming edges of each node: the node that looks is the query, the one it looks at the key.

#include "engines.hpp"
#include "gradients.hpp"
#include "load.hpp"
#include "projected.hpp"
#include "runner.hpp"

#include <fovea/fovea.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace conformance {
namespace {

using namespace fovea::placeholders;
using fovea::index_t;

/// The edges that attention runs over, in the order of the case's `alpha`, and what is known of each, if anything.
template <class T>
struct edge_list {
    std::vector<fovea::graph::edge> edges;
    fovea::tensor<T, 2> features;  // (edge, feature)

    explicit edge_list(test_case const& subject) {
        auto const& stored = subject["edge_index"];
        auto const ends = stored.as<std::int64_t>();  // sources, then targets
        auto const count = static_cast<std::size_t>(stored.shape.at(1));
        auto const given =
            subject.has("edge_attr") ? load<T, 2>(subject["edge_attr"]) : fovea::tensor<T, 2>({stored.shape[1], 0});
        bool const add_loops = subject.attribute<bool>("add_self_loops");
        index_t const size = given.extent(1);
        for (std::size_t e = 0; e < count; ++e) {
            if (add_loops && ends[e] == ends[count + e]) continue;
            edges.push_back({ends[count + e], ends[e]});
            auto const from = given.begin() + static_cast<index_t>(e) * size;
            features.elements.insert(features.elements.end(), from, from + size);
        }
        auto const listed = edges;
        auto const nodes = add_loops ? subject.attribute<std::int64_t>("num_nodes") : 0;
        for (index_t node = 0; node < nodes; ++node) {
            edges.push_back({node, node});
            for (index_t c = 0; c < size; ++c) features.elements.push_back(filled_in(subject, listed, node, c, size));
        }
        features.extents = {static_cast<index_t>(edges.size()), size};
    }

private:
    /// Feature c of a self loop that has been added: a number, or made of those of the edges into the node.
    T filled_in(test_case const& subject, std::vector<fovea::graph::edge> const& listed, index_t node, index_t c,
                index_t size) const {
        std::string rule = "mean";
        try {
            rule = subject.attribute<std::string>("fill_value", rule);
        } catch (malformed const&) {
            return static_cast<T>(subject.attribute<double>("fill_value"));
        }
        std::vector<T> found;
        for (std::size_t e = 0; e < listed.size(); ++e)
            if (listed[e].to == node)
                found.push_back(features.elements[e * static_cast<std::size_t>(size) + static_cast<std::size_t>(c)]);
        if (found.empty()) return T(0);
        if (rule == "min") return *std::min_element(found.begin(), found.end());
        if (rule == "max") return *std::max_element(found.begin(), found.end());
        T const sum = std::accumulate(found.begin(), found.end(), T(0));
        if (rule == "add" || rule == "sum") return sum;
        if (rule == "mean") return sum / static_cast<T>(found.size());
        throw malformed(subject.name() + ": there is no fill_value " + rule);
    }
};

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

    projection(fovea::tensor<T, 2> m, std::vector<T> b) : matrix(std::move(m)), bias(std::move(b)) {}
    projection(test_case const& subject, std::string const& name) : matrix(load<T, 2>(subject[name + "_weight"])) {
        if (subject.has(name + "_bias")) bias = subject[name + "_bias"].as<T>();
    }
    auto map() const {
        fovea::view<T const, 1> b;
        if (!bias.empty()) b = {bias.data(), {static_cast<index_t>(bias.size())}};
        return fovea::linear(fovea::transposed(matrix), b);
    }
    /// The map of a row and further features behind it: the sum of what both maps give.
    projection beside(fovea::tensor<T, 2> const& further) const {
        index_t const first = matrix.extent(1);
        fovea::tensor<T, 2> both({matrix.extent(0), first + further.extent(1)});
        for (index_t i = 0; i < both.extent(0); ++i)
            for (index_t c = 0; c < both.extent(1); ++c) both(i, c) = c < first ? matrix(i, c) : further(i, c - first);
        return {both, bias};
    }
};

/// No bias is a bias of zeros.
template <class T>
std::vector<T> load_bias(test_case const& subject) {
    if (subject.has("bias")) return subject["bias"].as<T>();
    return std::vector<T>(static_cast<std::size_t>(subject["out"].shape.at(1)));
}

/// One layer: who looks at what along which edges, and what comes out. Where edges have features, the keys of a node
/// are its edges: each brings the features of the node it comes from.
template <class Engine>
class layer {
public:
    using T = typename Engine::value;

    layer(test_case const& subject, checks& all, fovea::tensor<T, 2> const& to, fovea::tensor<T, 2> const& from)
        : subject_(subject),
          all_(all),
          list_(subject),
          heads_(subject.attribute<std::int64_t>("heads")),
          by_edge_(list_.features.extent(1) > 0),
          graph_(to.extent(0), by_edge_ ? to_edges() : list_.edges),
          targets_(to),
          memory_(by_edge_ ? rows_of_edges(from) : from),
          result({to.extent(0), subject["out"].shape.at(1)}),
          weights_({heads_, to.extent(0), memory_.extent(0)}) {}

    index_t heads() const { return heads_; }
    bool by_edge() const { return by_edge_; }
    fovea::tensor<T, 2> const& targets() const { return targets_; }
    fovea::tensor<T, 2> const& edge_features() const { return list_.features; }

    /// Projects, scores, joins the heads and finishes; with `Counts`, these numbers of heads are made by project.
    template <int... Counts>
    void attend(auto const& query, auto const& key, auto const& value, auto const& scored, auto const& last) {
        with_heads<Counts...>(
            heads_,
            [&](auto const& heads) {
                join(fovea::project(query, key, value, heads) | scored, last, [&](auto const& attention) {
                    Engine::attend(attention, fovea::queries(targets_), fovea::memory(memory_), result.view(),
                                   fovea::weights(weights_.view()));
                });
            },
            [&] {
                auto const q_rows = projected<Engine>(query, targets_), k_rows = projected<Engine>(key, memory_);
                auto const v_rows = projected<Engine>(value, memory_);
                join(fovea::empty_attention{} | scored, last, [&](auto const& attention) {
                    Engine::attend(attention, split(q_rows, heads_), split(k_rows, heads_), split(v_rows, heads_),
                                   result.view(), fovea::weights(weights_.view()));
                });
            });
    }

    /// Compares the gradients of the nodes and of `named`, for numbers of heads that project makes.
    template <int... Counts>
    void differentiate(auto const& query, auto const& key, auto const& scored, auto const& last,
                       auto const&... named) const {
        if constexpr (has_gradients<Engine>) {
            auto const& sources = subject_.has("x_src") ? memory_ : targets_;  // one array where the case has one
            auto const d_out = load<T, 2>(subject_["d_out"]);
            with_heads<Counts...>(
                heads_,
                [&](auto const& heads) {
                    join(fovea::project(query, key, key, heads) | scored, last, [&](auto const& attention) {
                        compare_gradients<Engine>(subject_, all_, attention, targets_, sources, sources, d_out,
                                                  of_case{"d_x", targets_}, of_case{"d_x_dst", targets_},
                                                  of_case{"d_x_src", sources}, named...);
                    });
                },
                [] {});
        }
    }

    void compare() {
        all_.compare(Engine::name, Engine::computes, "out", result);
        if (!subject_.has("alpha")) return;
        auto const edges = static_cast<index_t>(list_.edges.size());
        all_.compare(Engine::name, Engine::computes, "alpha",
                     weights_of_edges(weights_, by_edge_ ? to_edges() : list_.edges));
        fovea::tensor<std::int64_t, 2> ends({2, edges});
        for (index_t e = 0; e < edges; ++e) {
            ends(0, e) = list_.edges[static_cast<std::size_t>(e)].from;
            ends(1, e) = list_.edges[static_cast<std::size_t>(e)].to;
        }
        all_.compare(Engine::name, Engine::computes, "alpha_edge_index", ends);
    }

private:
    std::vector<fovea::graph::edge> to_edges() const {
        auto edges = list_.edges;
        for (std::size_t e = 0; e < edges.size(); ++e) edges[e].from = static_cast<index_t>(e);
        return edges;
    }
    fovea::tensor<T, 2> rows_of_edges(fovea::tensor<T, 2> const& nodes) const {
        index_t const of_node = nodes.extent(1);
        fovea::tensor<T, 2> rows({list_.features.extent(0), of_node + list_.features.extent(1)});
        for (index_t e = 0; e < rows.extent(0); ++e)
            for (index_t c = 0; c < rows.extent(1); ++c)
                rows(e, c) = c < of_node ? nodes(list_.edges[static_cast<std::size_t>(e)].from, c)
                                         : list_.features(e, c - of_node);
        return rows;
    }
    void join(auto const& scored, auto const& last, auto const& run) const {
        auto const aggregated = scored | fovea::neighbors(graph_) | fovea::softmax | fovea::weighted_sum;
        if (subject_.attribute<bool>("concat")) run(aggregated | fovea::concat_heads | last);
        else run(aggregated | fovea::mean_heads | last);
    }

    test_case const& subject_;
    checks& all_;
    edge_list<T> list_;
    index_t heads_;
    bool by_edge_;
    fovea::graph graph_;
    fovea::tensor<T, 2> targets_, memory_;

public:
    fovea::tensor<T, 2> result;

private:
    fovea::tensor<T, 3> weights_;
};

template <class Engine>
void run_gat(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    bool const bipartite = subject.has("x_src");
    layer<Engine> nodes(subject, all, load<T, 2>(subject[bipartite ? "x_dst" : "x"]),
                        load<T, 2>(subject[bipartite ? "x_src" : "x"]));
    projection<T> const to(subject, bipartite ? "lin_dst" : "lin"), from(subject, bipartite ? "lin_src" : "lin");
    auto const of_target = load_per_head<T>(subject["att_dst"]), of_source = load_per_head<T>(subject["att_src"]);
    auto const slope = static_cast<T>(subject.attribute<double>("negative_slope"));
    auto const bias = load_bias<T>(subject);
    auto const attend = [&](auto const& last) {
        if (nodes.by_edge()) {
            all.leave_gradients("features of edges are put beside those of nodes, or are projected by another call");
            auto const of_edge = load_per_head<T>(subject["att_edge"]);
            auto const rows = projected<Engine>(projection<T>(subject, "lin_edge").map(), nodes.edge_features());
            fovea::tensor<T, 2> terms({rows.extent(0), nodes.heads()});
            for (index_t e = 0; e < rows.extent(0); ++e)
                for (index_t c = 0; c < rows.extent(1); ++c)
                    terms(e, c / of_edge.extent(1)) += rows(e, c) * of_edge.elements[static_cast<std::size_t>(c)];
            auto const total = sum(fovea::param(of_target)[head] * q) + sum(fovea::param(of_source)[head] * k)
                             + fovea::param(terms)(edge, head);
            auto const wider =
                from.beside(fovea::tensor<T, 2>({from.matrix.extent(0), nodes.edge_features().extent(1)}));
            nodes.template attend<>(to.map(), wider.map(), wider.map(), fovea::compare(leaky_relu(total, slope)), last);
        } else {
            nodes.template attend<1, 2, 8>(to.map(), from.map(), from.map(),
                                           fovea::gat_score(of_target, of_source, slope), last);
        }
    };
    if (subject.has("res_weight")) {
        all.leave_gradients("the nodes are projected beside the attention by another call");
        auto const residual = projected<Engine>(projection<T>(subject, "res").map(), nodes.targets());
        attend(fovea::map(out + fovea::param(residual)[q_idx] + fovea::param(bias)));
    } else {
        auto const last = fovea::map(out + fovea::param(bias));
        attend(last);
        auto const& looking = bipartite ? to : from;
        if (!nodes.by_edge())
            nodes.template differentiate<1, 2, 3, 4, 8>(
                looking.map(), from.map(), fovea::gat_score(of_target, of_source, slope), last, of_case{"d_bias", bias},
                of_case{"d_att_dst", of_target}, of_case{"d_att_src", of_source}, of_case{"d_lin_weight", from.matrix},
                of_case{"d_lin_dst_weight", looking.matrix}, of_case{"d_lin_src_weight", from.matrix});
    }
    nodes.compare();
}

template <class Engine>
void run_gatv2(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    bool const shared = subject.attribute<bool>("share_weights", false), bipartite = subject.has("x_src");
    layer<Engine> nodes(subject, all, load<T, 2>(subject[bipartite ? "x_dst" : "x"]),
                        load<T, 2>(subject[bipartite ? "x_src" : "x"]));
    projection<T> const to(subject, shared ? "lin_l" : "lin_r"), from(subject, "lin_l");
    auto const of_pair = load_per_head<T>(subject["att"]);
    auto const slope = static_cast<T>(subject.attribute<double>("negative_slope"));
    auto const bias = load_bias<T>(subject);
    auto const scored = fovea::gatv2_score(of_pair, slope);
    auto const attend = [&](auto const& last) {
        if (nodes.by_edge()) {
            all.leave_gradients("features of edges are put beside those of nodes, or are projected by another call");
            projection<T> const of_edge(subject, "lin_edge");
            auto const key = from.beside(of_edge.matrix),
                       value = from.beside(fovea::tensor<T, 2>(of_edge.matrix.extents));
            nodes.template attend<>(to.map(), key.map(), value.map(), scored, last);
        } else {
            nodes.template attend<2>(to.map(), from.map(), from.map(), scored, last);
        }
    };
    if (subject.has("res_weight")) {
        auto const residual = projected<Engine>(projection<T>(subject, "res").map(), nodes.targets());
        attend(fovea::map(out + fovea::param(residual)[q_idx] + fovea::param(bias)));
    } else {
        auto const last = fovea::map(out + fovea::param(bias));
        attend(last);
        auto const& looking = shared ? from : to;
        if (!nodes.by_edge())
            nodes.template differentiate<2, 3>(
                looking.map(), from.map(), scored, last, of_case{"d_bias", bias}, of_case{"d_att", of_pair},
                of_case{"d_lin_l_weight", from.matrix}, of_case{"d_lin_l_bias", from.bias},
                of_case{"d_lin_r_weight", looking.matrix}, of_case{"d_lin_r_bias", looking.bias});
    }
    nodes.compare();
}

template <class Engine>
void run_transformer(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    bool const bipartite = subject.has("x_src");
    layer<Engine> nodes(subject, all, load<T, 2>(subject[bipartite ? "x_dst" : "x"]),
                        load<T, 2>(subject[bipartite ? "x_src" : "x"]));
    all.leave_gradients("the nodes are projected beside the attention by another call");
    projection<T> const query(subject, "lin_query"), key(subject, "lin_key"), value(subject, "lin_value");
    auto const attend = [&](auto const& last) {
        if (nodes.by_edge()) {
            projection<T> const of_edge(subject, "lin_edge");
            auto const k_map = key.beside(of_edge.matrix), v_map = value.beside(of_edge.matrix);
            nodes.template attend<>(query.map(), k_map.map(), v_map.map(), fovea::scaled_dot, last);
        } else {
            nodes.template attend<2>(query.map(), key.map(), value.map(), fovea::scaled_dot, last);
        }
    };
    fovea::tensor<T, 2> skip(nodes.result.extents);
    if (subject.attribute<bool>("root_weight", true))
        skip = projected<Engine>(projection<T>(subject, "lin_skip").map(), nodes.targets());
    else
        for (auto const* unused : {"lin_skip_weight", "lin_skip_bias"}) subject.leave_out(unused);
    attend(fovea::map(out + fovea::param(skip)[q_idx]));
    if (subject.attribute<bool>("beta", false)) {
        // The gate between both needs all features of a row: it is a row map of [out, skip, out - skip].
        index_t const features = skip.extent(1);
        fovea::tensor<T, 2> rows({skip.extent(0), 3 * features});
        for (index_t i = 0; i < rows.extent(0); ++i)
            for (index_t c = 0; c < features; ++c) {
                rows(i, c) = nodes.result(i, c) - skip(i, c);
                rows(i, features + c) = skip(i, c);
                rows(i, 2 * features + c) = rows(i, c) - skip(i, c);
            }
        auto const gates = projected<Engine>(projection<T>(subject, "lin_beta").map(), rows);
        auto const gate = sigmoid(fovea::param(gates)(q_idx, 0));
        attend(fovea::map(out + gate * (fovea::param(skip)[q_idx] - out)));
    }
    nodes.compare();
}

template <class Engine>
void run_agnn(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    auto const x = load<T, 2>(subject["x"]);
    layer<Engine> nodes(subject, all, x, x);
    auto const beta = subject["beta"].as<T>();
    auto const bias = load_bias<T>(subject);
    auto const scored = fovea::compare(fovea::cosine.expression() * fovea::param(beta)[0]);
    auto const last = fovea::map(out + fovea::param(bias));
    nodes.template attend<1>(fovea::as_is, fovea::as_is, fovea::as_is, scored, last);
    nodes.template differentiate<1>(fovea::as_is, fovea::as_is, scored, last, of_case{"d_beta", beta});
    nodes.compare();
}

outcome run(test_case const& subject) {
    auto const kind = subject.attribute<std::string>("conv");
    checks all(subject);
    auto const each_engine = [&](auto const& run_with) {
        run_with(float32_engine{});
        run_with(float64_engine{});
        in_definition(run_with);
    };
    if (kind == "gat") each_engine([&]<class Engine>(Engine) { run_gat<Engine>(subject, all); });
    else if (kind == "gatv2") each_engine([&]<class Engine>(Engine) { run_gatv2<Engine>(subject, all); });
    else if (kind == "transformer") each_engine([&]<class Engine>(Engine) { run_transformer<Engine>(subject, all); });
    else if (kind == "agnn") each_engine([&]<class Engine>(Engine) { run_agnn<Engine>(subject, all); });
    else throw malformed("there is no layer named " + kind);
    return all.finish();
}

registration const registered{"graph", run};

}  // namespace
}  // namespace conformance
