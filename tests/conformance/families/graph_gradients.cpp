// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradients of the graph family. What a layer computes beside its attention, such as a residual, is a table of the
// attention, whose gradient goes on to what it was computed from.

#include "gradients.hpp"
#include "graph.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace conformance {
namespace {

using namespace fovea::placeholders;
using rows = fovea::tensor<double, 2>;
template <int...>
struct counts {};  // of heads, which are constants of a projection

class layer_gradients {
public:
    layer_gradients(test_case const& subject, checks& all)
        : subject_(subject),
          all_(all),
          bipartite(subject.has("x_src")),
          nodes(subject, all, load<double, 2>(subject[bipartite ? "x_dst" : "x"]),
                load<double, 2>(subject[bipartite ? "x_src" : "x"])),
          d_out(load<double, 2>(subject["d_out"])) {}

    /// Adds the gradients of the nodes, of features of edges, and of `named`, for numbers of heads that project makes.
    template <int... Counts>
    void add(auto const& query, auto const& key, auto const& value, auto const& scored, auto const& last,
             rows const& d_result, auto const&... named) {
        bool const apart = bipartite || nodes.by_edge();  // otherwise one array is queries, keys and values
        auto const& sources = apart ? nodes.memory() : nodes.targets();
        with_heads<Counts...>(
            nodes.heads(),
            [&](auto const& heads) {
                nodes.join(fovea::project(query, key, value, heads) | scored, last, [&](auto const& attention) {
                    add_gradients<float64_engine>(sums, attention, nodes.targets(), sources, sources, d_result,
                                                  of_case{bipartite ? "d_x_dst" : "d_x", nodes.targets()},
                                                  of_case{bipartite ? "d_x_src" : "memory", sources}, named...);
                });
            },
            [&] { throw malformed(subject_.name() + ": no gradient is compiled for this number of heads"); });
        auto const d_memory = sums.take("memory");
        if (nodes.by_edge()) add_rows_of_edges(d_memory);
    }
    /// Adds those of what features of edges are multiplied by.
    void add_features(rows const& d_features) { sums.add("d_edge_attr", nodes.edges().of_given(subject_, d_features)); }
    /// Those of a map of nodes that stands beside those of their edges' features.
    void take_wide(std::string const& name, std::string const& of_nodes, std::string const& of_features) {
        sums.take_columns(name, nodes.memory().extent(1), nodes.targets().extent(1), of_nodes, of_features);
    }
    void compare() { sums.compare(subject_, all_); }

private:
    test_case const& subject_;
    checks& all_;

    /// A row is that of the node that an edge comes from, and then its features.
    void add_rows_of_edges(std::vector<double> const& d_rows) {
        index_t const of_node = nodes.targets().extent(1), width = nodes.memory().extent(1);
        rows d_nodes(nodes.targets().extents), d_features(nodes.edge_features().extents);
        for (index_t e = 0; e < d_features.extent(0); ++e)
            for (index_t c = 0; c < width; ++c)
                (c < of_node ? d_nodes(nodes.edges().edges[static_cast<std::size_t>(e)].from, c)
                             : d_features(e, c - of_node)) += d_rows[static_cast<std::size_t>(e * width + c)];
        sums.add("d_x", d_nodes.elements);
        add_features(d_features);
    }

public:
    bool bipartite;
    layer<float64_engine> nodes;
    rows d_out;
    named_gradients sums;
};

/// The features of edges take no part in what is multiplied by zeros.
projection<double> beside_zeros(layer_gradients const& of, projection<double> const& map) {
    return map.beside(rows({map.matrix.extent(0), of.nodes.edge_features().extent(1)}));
}
/// The matrix of the features of edges.
rows edge_weights(layer_gradients const& of, test_case const& subject, projection<double> const& like) {
    return of.nodes.by_edge() ? load<double, 2>(subject["lin_edge_weight"]) : rows({like.matrix.extent(0), 0});
}

void gat_gradients(test_case const& subject, layer_gradients& of) {
    projection<double> const to(subject, of.bipartite ? "lin_dst" : "lin"),
        from(subject, of.bipartite ? "lin_src" : "lin");
    auto const wide = beside_zeros(of, from);
    auto const of_target = load_per_head<double>(subject["att_dst"]),
               of_source = load_per_head<double>(subject["att_src"]);
    auto const slope = subject.attribute<double>("negative_slope");
    auto const bias = load_bias<double>(subject);
    std::vector<double> const no_bias;
    bool const has_residual = subject.has("res_weight");
    auto const of_residual = has_residual ? load<double, 2>(subject["res_weight"]) : rows({0, 0});
    linear_rows const residual{of.nodes.targets(), of_residual, no_bias};
    auto const added = has_residual ? residual.result() : rows(of.d_out.extents);
    auto const last = fovea::map(out + fovea::param(added)[q_idx] + fovea::param(bias));
    auto const add = [&]<int... Counts>(counts<Counts...>, auto const& scored, auto const&... tables) {
        of.add<Counts...>(to.map(), wide.map(), wide.map(), scored, last, of.d_out, of_case{"d_bias", bias},
                          of_case{"residual", added}, of_case{"d_att_dst", of_target}, of_case{"d_att_src", of_source},
                          of_case{of.bipartite ? "d_lin_dst_weight" : "d_lin_weight", to.matrix},
                          of_case{"wide", wide.matrix}, tables...);
    };
    if (of.nodes.by_edge()) {
        auto const of_edge = load_per_head<double>(subject["att_edge"]);
        auto const matrix = load<double, 2>(subject["lin_edge_weight"]);
        linear_rows const projecting{of.nodes.edge_features(), matrix, no_bias};
        auto const projected_features = projecting.result();
        rows terms({projected_features.extent(0), of.nodes.heads()});
        auto const for_each_product = [&](auto const& use) {  // of a feature of an edge and its factor
            for (index_t e = 0; e < terms.extent(0); ++e)
                for (index_t c = 0; c < matrix.extent(0); ++c) use(e, c, c / of_edge.extent(1));
        };
        auto const factor = [&](index_t c) { return of_edge.elements[static_cast<std::size_t>(c)]; };
        for_each_product([&](index_t e, index_t c, index_t h) { terms(e, h) += projected_features(e, c) * factor(c); });
        auto const total = sum(fovea::param(of_target)[head] * q) + sum(fovea::param(of_source)[head] * k)
                         + fovea::param(terms)(edge, head);
        add(counts<2>{}, fovea::compare(leaky_relu(total, slope)), of_case{"terms", terms});
        rows d_features(projected_features.extents), d_terms(terms.extents);
        d_terms.elements = of.sums.take("terms");
        std::vector<double> d_factors(of_edge.elements.size());
        for_each_product([&](index_t e, index_t c, index_t h) {
            d_features(e, c) += d_terms(e, h) * factor(c);
            d_factors[static_cast<std::size_t>(c)] += d_terms(e, h) * projected_features(e, c);
        });
        of.sums.add("d_att_edge", d_factors);
        projecting.add_gradients(of.sums, d_features.elements, "features", "d_lin_edge_weight");
        d_features = rows(of.nodes.edge_features().extents);
        d_features.elements = of.sums.take("features");
        of.add_features(d_features);
    } else {
        add(counts<1, 2, 3, 4, 8>{}, fovea::gat_score(of_target, of_source, slope));
    }
    of.take_wide("wide", of.bipartite ? "d_lin_src_weight" : "d_lin_weight", "unused");
    auto const d_residual = of.sums.take("residual");
    if (has_residual) residual.add_gradients(of.sums, d_residual, "d_x", "d_res_weight");
}

void gatv2_gradients(test_case const& subject, layer_gradients& of) {
    bool const shared = subject.attribute<bool>("share_weights", false);
    projection<double> const to(subject, shared ? "lin_l" : "lin_r"), from(subject, "lin_l");
    auto const key = from.beside(edge_weights(of, subject, from)), value = beside_zeros(of, from);
    auto const of_pair = load_per_head<double>(subject["att"]);
    auto const bias = load_bias<double>(subject);
    std::string const looking = shared ? "d_lin_l_" : "d_lin_r_";
    of.add<2, 3>(
        to.map(), key.map(), value.map(), fovea::gatv2_score(of_pair, subject.attribute<double>("negative_slope")),
        fovea::map(out + fovea::param(bias)), of.d_out, of_case{"d_bias", bias}, of_case{"d_att", of_pair},
        of_case{looking + "weight", to.matrix}, of_case{looking + "bias", to.bias}, of_case{"key", key.matrix},
        of_case{"d_lin_l_bias", key.bias}, of_case{"value", value.matrix}, of_case{"d_lin_l_bias", value.bias});
    of.take_wide("key", "d_lin_l_weight", "d_lin_edge_weight");
    of.take_wide("value", "d_lin_l_weight", "unused");
}

/// The gate between what attention gives and the skipped rows: a map of [out, skip, out - skip].
rows gate_rows(rows const& given, rows const& skip) {
    index_t const features = skip.extent(1);
    rows beside({skip.extent(0), 3 * features});
    for (index_t i = 0; i < beside.extent(0); ++i)
        for (index_t c = 0; c < features; ++c) {
            beside(i, c) = given(i, c);
            beside(i, features + c) = skip(i, c);
            beside(i, 2 * features + c) = given(i, c) - skip(i, c);
        }
    return beside;
}

void transformer_gradients(test_case const& subject, layer_gradients& of) {
    auto const& nodes = of.nodes;
    projection<double> const query(subject, "lin_query"), key(subject, "lin_key"), value(subject, "lin_value"),
        own(subject, "lin_skip");
    auto const of_edge = edge_weights(of, subject, key);
    auto const wide_key = key.beside(of_edge), wide_value = value.beside(of_edge);
    linear_rows const skipping{nodes.targets(), own.matrix, own.bias};
    auto const skip = subject.attribute<bool>("root_weight", true) ? skipping.result() : rows(of.d_out.extents);
    auto const add = [&]<int... Counts>(counts<Counts...>, auto const& last, rows const& d_result,
                                        auto const&... tables) {
        of.add<Counts...>(query.map(), wide_key.map(), wide_value.map(), fovea::scaled_dot, last, d_result,
                          of_case{"d_lin_query_weight", query.matrix}, of_case{"d_lin_query_bias", query.bias},
                          of_case{"key", wide_key.matrix}, of_case{"d_lin_key_bias", wide_key.bias},
                          of_case{"value", wide_value.matrix}, of_case{"d_lin_value_bias", wide_value.bias}, tables...);
    };
    auto const plain = fovea::map(out + fovea::param(skip)[q_idx]);
    if (!subject.attribute<bool>("beta", false)) {
        add(counts<2>{}, plain, of.d_out, of_case{"skip", skip});
    } else {
        rows given(of.d_out.extents);
        nodes.join(fovea::project(query.map(), wide_key.map(), wide_value.map(), fovea::heads<3>) | fovea::scaled_dot,
                   fovea::map(out),
                   [&](auto const& attention) { fovea::reference::attend(attention, nodes.targets(), given.view()); });
        auto const beside = gate_rows(given, skip), of_gate = load<double, 2>(subject["lin_beta_weight"]);
        std::vector<double> const no_bias;
        linear_rows const gating{beside, of_gate, no_bias};
        auto const gates = gating.result();
        auto const gate = sigmoid(fovea::param(gates)(q_idx, 0));
        add(counts<3>{}, fovea::map(out + gate * (fovea::param(skip)[q_idx] - out)), of.d_out, of_case{"skip", skip},
            of_case{"gates", gates});
        gating.add_gradients(of.sums, of.sums.take("gates"), "beside", "d_lin_beta_weight");
        // Through the gate to what attention gives, and to the skipped rows.
        auto const d_beside = of.sums.take("beside");
        rows d_given(given.extents), d_skip(given.extents);
        for (std::size_t i = 0; i < given.elements.size(); ++i) {
            auto const features = static_cast<std::size_t>(given.extent(1));
            auto const* row = d_beside.data() + i / features * 3 * features + i % features;
            d_given.elements[i] = row[0] + row[2 * features];
            d_skip.elements[i] = row[features] - row[2 * features];
        }
        add(counts<3>{}, fovea::map(out), d_given);
        of.sums.add("skip", d_skip.elements);
    }
    of.take_wide("key", "d_lin_key_weight", "d_lin_edge_weight");
    of.take_wide("value", "d_lin_value_weight", "d_lin_edge_weight");
    auto d_skip = of.sums.take("skip");
    if (!subject.attribute<bool>("root_weight", true)) d_skip.assign(d_skip.size(), 0);  // it takes no part
    skipping.add_gradients(of.sums, d_skip, "d_x", "d_lin_skip_weight", "d_lin_skip_bias");
}

void agnn_gradients(test_case const& subject, layer_gradients& of) {
    auto const beta = subject["beta"].as<double>();
    of.add<1>(fovea::as_is, fovea::as_is, fovea::as_is,
              fovea::compare(fovea::cosine.expression() * fovea::param(beta)[0]), fovea::map(out), of.d_out,
              of_case{"d_beta", beta});
}

}  // namespace

void compare_graph_gradients(test_case const& subject, checks& all) {
    layer_gradients of(subject, all);
    auto const kind = subject.attribute<std::string>("conv");
    if (kind == "gat") gat_gradients(subject, of);
    else if (kind == "gatv2") gatv2_gradients(subject, of);
    else if (kind == "transformer") transformer_gradients(subject, of);
    else agnn_gradients(subject, of);
    of.compare();
}

}  // namespace conformance
