// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attention over the incoming edges of each node: the node that looks is the query, the one it looks at the key.

#include "graph.hpp"
#include "gradients.hpp"
#include "runner.hpp"

#include <cstdint>
#include <string>

namespace conformance {
namespace {

using namespace fovea::placeholders;

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
        auto const residual = projected<Engine>(projection<T>(subject, "res").map(), nodes.targets());
        attend(fovea::map(out + fovea::param(residual)[q_idx] + fovea::param(bias)));
    } else {
        attend(fovea::map(out + fovea::param(bias)));
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
        attend(fovea::map(out + fovea::param(bias)));
    }
    nodes.compare();
}

template <class Engine>
void run_transformer(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    bool const bipartite = subject.has("x_src");
    layer<Engine> nodes(subject, all, load<T, 2>(subject[bipartite ? "x_dst" : "x"]),
                        load<T, 2>(subject[bipartite ? "x_src" : "x"]));
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
    nodes.compare();
}

outcome run(test_case const& subject) {
    auto const kind = subject.attribute<std::string>("conv");
    return in_each_engine(subject, dtype::f32, [&]<class Engine>(Engine, checks& all) {
        if (kind == "gat") run_gat<Engine>(subject, all);
        else if (kind == "gatv2") run_gatv2<Engine>(subject, all);
        else if (kind == "transformer") run_transformer<Engine>(subject, all);
        else if (kind == "agnn") run_agnn<Engine>(subject, all);
        else throw malformed("there is no layer named " + kind);
        if constexpr (has_gradients<Engine>) compare_graph_gradients(subject, all);
    });
}

registration const registered{"graph", run};

}  // namespace
}  // namespace conformance
