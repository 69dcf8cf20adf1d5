// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradients of the graph family, for any number of heads: those of the attention on heads, and of the rows that its
// projections, a residual and a gate are made of.

#include "gradients.hpp"
#include "graph.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace conformance {
namespace {

using namespace fovea::placeholders;
using rows = fovea::tensor<double, 2>;

/// The gradients of the rows of queries, keys and values, the heads side by side.
struct operand_gradients {
    rows query, key, value;
};

class layer_gradients {
public:
    layer_gradients(test_case const& subject, checks& all)
        : subject_(subject),
          all_(all),
          bipartite(subject.has("x_src")),
          nodes(subject, all, load<double, 2>(subject[bipartite ? "x_dst" : "x"]),
                load<double, 2>(subject[bipartite ? "x_src" : "x"])),
          d_out(load<double, 2>(subject["d_out"])) {}

    std::string of_targets() const { return bipartite ? "d_x_dst" : "d_x"; }
    std::string of_sources() const { return bipartite ? "d_x_src" : "d_x"; }

    /// The result of the heads, side by side or their mean.
    rows attend(auto const& scored, rows const& query, rows const& key, rows const& value) const {
        rows result(d_out.extents);
        nodes.join(fovea::empty_attention{} | scored, fovea::map(out), [&](auto const& attention) {
            index_t const heads = nodes.heads();
            fovea::reference::attend(attention, split(query, heads), split(key, heads), split(value, heads),
                                     result.view());
        });
        return result;
    }
    /// The gradients of the attention on heads from that of its result; those of `named` tables are added.
    operand_gradients differentiate(auto const& scored, rows const& query, rows const& key, rows const& value,
                                    rows const& d_result, auto const&... named) {
        index_t const heads = nodes.heads();
        operand_gradients all{rows(query.extents), rows(key.extents), rows(value.extents)};
        nodes.join(fovea::empty_attention{} | scored, fovea::map(out), [&](auto const& attention) {
            with_gradients<float64_engine>(
                attention, split(query, heads), split(key, heads), split(value, heads), d_result,
                [&](auto const& q, auto const& k, auto const& v, auto const&... tables) {
                    put_beside(q, all.query);
                    put_beside(k, all.key);
                    put_beside(v, all.value);
                    (sums.add(named.gradient, tables.elements), ...);
                },
                split(query, heads), split(key, heads), split(value, heads), named.array...);
        });
        return all;
    }
    /// From the rows that keys or values were made of: those of sources, or of edges with their features behind.
    void add_memory(std::string const& name) {
        auto const d_memory = sums.take(name);
        if (nodes.by_edge()) add_rows_of_edges(d_memory);
        else sums.add(of_sources(), d_memory);
    }
    /// Adds those of what features of edges are multiplied by.
    void add_features(rows const& d_features) { sums.add("d_edge_attr", nodes.edges().of_given(subject_, d_features)); }
    /// Those of a map of nodes that stands beside those of their edges' features.
    void take_wide(std::string const& name, std::string const& of_nodes, std::string const& of_features) {
        index_t const features = nodes.edge_features().extent(1), width = nodes.memory().extent(1);
        sums.take_columns(name, width, nodes.by_edge() ? width - features : width, of_nodes, of_features);
    }
    /// The sum of each column, the gradient of what is added to all rows.
    static std::vector<double> column_sums(rows const& d) {
        std::vector<double> all(static_cast<std::size_t>(d.extent(1)));
        for (index_t i = 0; i < d.extent(0); ++i)
            for (index_t c = 0; c < d.extent(1); ++c) all[static_cast<std::size_t>(c)] += d(i, c);
        return all;
    }
    void compare() { sums.compare(subject_, all_); }

private:
    test_case const& subject_;
    checks& all_;

    /// (1, head, position, feature) with the heads side by side.
    static void put_beside(fovea::tensor<double, 4> const& of_heads, rows& beside) {
        index_t const features = of_heads.extent(3);
        for (index_t h = 0; h < of_heads.extent(1); ++h)
            for (index_t i = 0; i < of_heads.extent(2); ++i)
                for (index_t c = 0; c < features; ++c) beside(i, h * features + c) = of_heads(0, h, i, c);
    }
    /// A row is that of the node that an edge comes from, and then its features.
    void add_rows_of_edges(std::vector<double> const& d_rows) {
        index_t const features = nodes.edge_features().extent(1), width = nodes.memory().extent(1),
                      of_node = width - features;
        rows d_nodes({subject_[bipartite ? "x_src" : "x"].shape.at(0), of_node}),
            d_features(nodes.edge_features().extents);
        for (index_t e = 0; e < d_features.extent(0); ++e)
            for (index_t c = 0; c < width; ++c)
                (c < of_node ? d_nodes(nodes.edges().edges[static_cast<std::size_t>(e)].from, c)
                             : d_features(e, c - of_node)) += d_rows[static_cast<std::size_t>(e * width + c)];
        sums.add(of_sources(), d_nodes.elements);
        add_features(d_features);
    }

public:
    bool bipartite;
    layer<float64_engine> nodes;
    rows d_out;
    named_gradients sums;
};

linear_rows through(rows const& x, projection<double> const& map) { return {x, map.matrix, map.bias}; }

/// The features of edges take no part in what is multiplied by zeros.
projection<double> beside_zeros(layer_gradients const& of, projection<double> const& map) {
    return map.beside(rows({map.matrix.extent(0), of.nodes.edge_features().extent(1)}));
}
/// The matrix of the features of edges.
rows edge_weights(layer_gradients const& of, test_case const& subject, projection<double> const& like) {
    return of.nodes.by_edge() ? load<double, 2>(subject["lin_edge_weight"]) : rows({like.matrix.extent(0), 0});
}

/// The gradients of the bias, which is added to all rows, and of a projected residual.
void add_last(test_case const& subject, layer_gradients& of) {
    of.sums.add("d_bias", layer_gradients::column_sums(of.d_out));
    if (!subject.has("res_weight")) return;
    auto const matrix = load<double, 2>(subject["res_weight"]);
    std::vector<double> const no_bias;
    linear_rows const residual{of.nodes.targets(), matrix, no_bias};
    residual.add_gradients(of.sums, of.d_out.elements, of.of_targets(), "d_res_weight");
}

void gat_gradients(test_case const& subject, layer_gradients& of) {
    auto const& nodes = of.nodes;
    projection<double> const to(subject, of.bipartite ? "lin_dst" : "lin"),
        from(subject, of.bipartite ? "lin_src" : "lin");
    auto const wide = beside_zeros(of, from);
    auto const of_target = load_per_head<double>(subject["att_dst"]),
               of_source = load_per_head<double>(subject["att_src"]);
    auto const slope = subject.attribute<double>("negative_slope");
    auto const querying = through(nodes.targets(), to), keying = through(nodes.memory(), wide);
    auto const query = querying.result(), key = keying.result(), value = key;
    std::string const name_to = of.bipartite ? "d_lin_dst_" : "d_lin_",
                      name_from = of.bipartite ? "d_lin_src_" : "d_lin_";
    auto const add = [&](auto const& scored, auto const&... tables) {
        auto d = of.differentiate(scored, query, key, value, of.d_out, of_case{"d_att_dst", of_target},
                                  of_case{"d_att_src", of_source}, tables...);
        for (std::size_t i = 0; i < d.key.elements.size(); ++i) d.key.elements[i] += d.value.elements[i];
        querying.add_gradients(of.sums, d.query.elements, of.of_targets(), name_to + "weight", name_to + "bias");
        keying.add_gradients(of.sums, d.key.elements, "memory", "wide", name_from + "bias");
        of.add_memory("memory");
        of.take_wide("wide", name_from + "weight", "unused");
    };
    if (nodes.by_edge()) {
        auto const of_edge = load_per_head<double>(subject["att_edge"]);
        auto const matrix = load<double, 2>(subject["lin_edge_weight"]);
        std::vector<double> const no_bias;
        linear_rows const projecting{nodes.edge_features(), matrix, no_bias};
        auto const projected_features = projecting.result();
        rows terms({projected_features.extent(0), nodes.heads()});
        auto const for_each_product = [&](auto const& use) {  // of a feature of an edge and its factor
            for (index_t e = 0; e < terms.extent(0); ++e)
                for (index_t c = 0; c < matrix.extent(0); ++c) use(e, c, c / of_edge.extent(1));
        };
        auto const factor = [&](index_t c) { return of_edge.elements[static_cast<std::size_t>(c)]; };
        for_each_product([&](index_t e, index_t c, index_t h) { terms(e, h) += projected_features(e, c) * factor(c); });
        auto const total = sum(fovea::param(of_target)[head] * q) + sum(fovea::param(of_source)[head] * k)
                         + fovea::param(terms)(edge, head);
        add(fovea::compare(leaky_relu(total, slope)), of_case{"terms", terms});
        rows d_features(projected_features.extents), d_terms(terms.extents);
        d_terms.elements = of.sums.take("terms");
        std::vector<double> d_factors(of_edge.elements.size());
        for_each_product([&](index_t e, index_t c, index_t h) {
            d_features(e, c) += d_terms(e, h) * factor(c);
            d_factors[static_cast<std::size_t>(c)] += d_terms(e, h) * projected_features(e, c);
        });
        of.sums.add("d_att_edge", d_factors);
        projecting.add_gradients(of.sums, d_features.elements, "features", "d_lin_edge_weight");
        d_features = rows(nodes.edge_features().extents);
        d_features.elements = of.sums.take("features");
        of.add_features(d_features);
    } else {
        add(fovea::gat_score(of_target, of_source, slope));
    }
    add_last(subject, of);
}

void gatv2_gradients(test_case const& subject, layer_gradients& of) {
    bool const shared = subject.attribute<bool>("share_weights", false);
    projection<double> const to(subject, shared ? "lin_l" : "lin_r"), from(subject, "lin_l");
    auto const key_map = from.beside(edge_weights(of, subject, from)), value_map = beside_zeros(of, from);
    auto const of_pair = load_per_head<double>(subject["att"]);
    auto const querying = through(of.nodes.targets(), to), keying = through(of.nodes.memory(), key_map),
               valuing = through(of.nodes.memory(), value_map);
    auto const d =
        of.differentiate(fovea::gatv2_score(of_pair, subject.attribute<double>("negative_slope")), querying.result(),
                         keying.result(), valuing.result(), of.d_out, of_case{"d_att", of_pair});
    std::string const looking = shared ? "d_lin_l_" : "d_lin_r_";
    querying.add_gradients(of.sums, d.query.elements, of.of_targets(), looking + "weight", looking + "bias");
    keying.add_gradients(of.sums, d.key.elements, "memory", "key", "d_lin_l_bias");
    valuing.add_gradients(of.sums, d.value.elements, "memory", "value", "d_lin_l_bias");
    of.add_memory("memory");
    of.take_wide("key", "d_lin_l_weight", "d_lin_edge_weight");
    of.take_wide("value", "d_lin_l_weight", "unused");
    add_last(subject, of);
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
/// out + gate (skip - out) with one gate for each row: the gradients of what attention gave and of the skipped rows.
struct gated {
    rows d_given, d_skip;

    gated(test_case const& subject, layer_gradients& of, rows const& given, rows const& skip)
        : d_given(given.extents), d_skip(given.extents) {
        index_t const features = given.extent(1);
        auto const beside = gate_rows(given, skip), matrix = load<double, 2>(subject["lin_beta_weight"]);
        std::vector<double> const no_bias;
        linear_rows const gating{beside, matrix, no_bias};
        auto const inputs = gating.result();
        rows d_inputs(inputs.extents);
        for (index_t i = 0; i < given.extent(0); ++i) {
            double const gate = 1 / (1 + std::exp(-inputs(i, 0)));
            for (index_t c = 0; c < features; ++c) {
                double const d = of.d_out(i, c);
                d_given(i, c) = d * (1 - gate);
                d_skip(i, c) = d * gate;
                d_inputs(i, 0) += d * (skip(i, c) - given(i, c)) * gate * (1 - gate);
            }
        }
        gating.add_gradients(of.sums, d_inputs.elements, "beside", "d_lin_beta_weight");
        auto const d_beside = of.sums.take("beside");
        for (index_t i = 0; i < given.extent(0); ++i)
            for (index_t c = 0; c < features; ++c) {
                auto const* const row = d_beside.data() + i * 3 * features;
                d_given(i, c) += row[c] + row[2 * features + c];
                d_skip(i, c) += row[features + c] - row[2 * features + c];
            }
    }
};

void transformer_gradients(test_case const& subject, layer_gradients& of) {
    auto const& nodes = of.nodes;
    projection<double> const query_map(subject, "lin_query"), key_map(subject, "lin_key"),
        value_map(subject, "lin_value");
    auto const of_edge = edge_weights(of, subject, key_map);
    auto const wide_key = key_map.beside(of_edge), wide_value = value_map.beside(of_edge);
    auto const querying = through(nodes.targets(), query_map), keying = through(nodes.memory(), wide_key),
               valuing = through(nodes.memory(), wide_value);
    auto const query = querying.result(), key = keying.result(), value = valuing.result();

    auto d_given = of.d_out;
    if (subject.attribute<bool>("root_weight", true)) {
        projection<double> const own(subject, "lin_skip");
        auto const skipping = through(nodes.targets(), own);
        auto d_skip = of.d_out;
        if (subject.attribute<bool>("beta", false)) {
            gated const both(subject, of, of.attend(fovea::scaled_dot, query, key, value), skipping.result());
            d_given = both.d_given, d_skip = both.d_skip;
        }
        skipping.add_gradients(of.sums, d_skip.elements, of.of_targets(), "d_lin_skip_weight", "d_lin_skip_bias");
    } else {
        for (std::string const name : {"lin_skip_weight", "lin_skip_bias"})  // it takes no part
            if (subject.has(name)) of.sums.add("d_" + name, std::vector<double>(subject[name].as<double>().size()));
    }
    auto const d = of.differentiate(fovea::scaled_dot, query, key, value, d_given);
    querying.add_gradients(of.sums, d.query.elements, of.of_targets(), "d_lin_query_weight", "d_lin_query_bias");
    keying.add_gradients(of.sums, d.key.elements, "memory", "key", "d_lin_key_bias");
    valuing.add_gradients(of.sums, d.value.elements, "memory", "value", "d_lin_value_bias");
    of.add_memory("memory");
    of.take_wide("key", "d_lin_key_weight", "d_lin_edge_weight");
    of.take_wide("value", "d_lin_value_weight", "d_lin_edge_weight");
}

void agnn_gradients(test_case const& subject, layer_gradients& of) {
    auto const beta = subject["beta"].as<double>();
    auto const& x = of.nodes.targets();
    auto const d = of.differentiate(fovea::compare(fovea::cosine.expression() * fovea::param(beta)[0]), x, x, x,
                                    of.d_out, of_case{"d_beta", beta});
    of.sums.add("d_x", d.query.elements);  // one array, which has the sum of all three
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
