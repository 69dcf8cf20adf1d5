// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Multi-head attention with projections. Bool masks say who is left out. Further keys (bias_k, bias_v, zeros) come in
// as further rows of the sources: a feature that is 1 for the ordinary rows carries the bias of the projection, another
// one that is 1 for the further row carries bias_k or bias_v, and a row of zeros is projected to zeros.

#include "engines.hpp"
#include "gradients.hpp"
#include "load.hpp"
#include "projected.hpp"
#include "runner.hpp"

#include <fovea/fovea.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace conformance {
namespace {

using namespace fovea::placeholders;
using fovea::index_t;

/// Rows of a source as (batch, position, feature), in whichever order the case stores them.
template <class T>
struct rows {
    fovea::tensor<T, 3> stored;
    bool sequence_first = false;

    index_t batches() const { return stored.extent(sequence_first ? 1 : 0); }
    index_t positions() const { return stored.extent(sequence_first ? 0 : 1); }
    index_t features() const { return stored.extent(2); }
    fovea::view<T const, 3> view() const {
        if (!sequence_first) return stored.view();
        return {stored.data(), {batches(), positions(), features()}, {features(), batches() * features(), 1}};
    }
    fovea::view<T, 3> view() {
        if (!sequence_first) return stored.view();
        return {stored.data(), {batches(), positions(), features()}, {features(), batches() * features(), 1}};
    }
};

template <class T>
rows<T> load_rows(test_case const& subject, std::string const& name) {
    return {load<T, 3>(subject[name]), !subject.attribute<bool>("batch_first")};
}

/// A projection y = x W^T + b; `further` is the row that follows the projected ones, if any.
template <class T>
struct projection {
    std::vector<T> matrix;  // (out, in)
    std::vector<T> bias;    // (out), or empty
    index_t outputs = 0, inputs = 0;

    fovea::view<T const, 2> weights() const { return {matrix.data(), {outputs, inputs}}; }
    auto map() const {
        fovea::view<T const, 1> b;
        if (!bias.empty()) b = {bias.data(), {outputs}};
        return fovea::linear(fovea::transposed(weights()), b);
    }
};

/// `part` is 0 for the query, 1 for the key, 2 for the value.
template <class T>
projection<T> load_projection(test_case const& subject, std::string const& own_name, std::size_t part) {
    bool const packed = subject.attribute<bool>("packed_in_proj");
    auto const& stored = subject[packed ? "in_proj_weight" : own_name];
    auto const outputs = static_cast<std::size_t>(subject.attribute<std::int64_t>("embed_dim"));
    auto const inputs = static_cast<std::size_t>(stored.shape.at(1));

    auto const cut = [](std::vector<T> const& all, std::size_t first, std::size_t count) {
        auto const begin = all.begin() + static_cast<std::ptrdiff_t>(first);
        return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    projection<T> result;
    result.outputs = static_cast<index_t>(outputs);
    result.inputs = static_cast<index_t>(inputs);
    result.matrix = cut(stored.as<T>(), packed ? part * outputs * inputs : 0, outputs * inputs);
    if (subject.has("in_proj_bias")) result.bias = cut(subject["in_proj_bias"].as<T>(), part * outputs, outputs);
    return result;
}

/// Adds to a source, and to the projection that reads it, the further row `bias_row` and a row of zeros.
template <class T>
void add_rows(rows<T>& source, projection<T>& map, std::vector<T> const& bias_row, bool zero_row) {
    if (bias_row.empty() && !zero_row) return;
    auto const inputs = map.inputs;
    projection<T> wider{{}, {}, map.outputs, inputs + 2};
    for (index_t c = 0; c < map.outputs; ++c) {
        auto const row = map.matrix.begin() + c * inputs;
        wider.matrix.insert(wider.matrix.end(), row, row + inputs);
        wider.matrix.push_back(map.bias.empty() ? T{} : map.bias[static_cast<std::size_t>(c)]);
        wider.matrix.push_back(bias_row.empty() ? T{} : bias_row[static_cast<std::size_t>(c)]);
    }
    map = std::move(wider);

    auto const before = source.positions();
    auto const after = before + (bias_row.empty() ? 0 : 1) + (zero_row ? 1 : 0);
    rows<T> longer{fovea::tensor<T, 3>({source.batches(), after, inputs + 2}), false};
    auto const from = std::as_const(source).view();
    for (index_t b = 0; b < source.batches(); ++b) {
        for (index_t i = 0; i < before; ++i) {
            for (index_t c = 0; c < inputs; ++c) longer.stored(b, i, c) = from(b, i, c);
            longer.stored(b, i, inputs) = 1;
        }
        if (!bias_row.empty()) longer.stored(b, before, inputs + 1) = 1;
    }
    source = std::move(longer);
}

/// A mask over (batch, head, query, key); the keys that the case's mask does not know are allowed.
template <class T>
table<T, 4> load_mask(tensor const& mask, fovea::extents_t<4> const& pairs) {
    auto const known = mask.shape.back();
    auto flat = mask;
    if (mask.name == "key_padding_mask")
        flat.shape = {mask.shape.size() == 1 ? 1 : mask.shape[0], 1, mask.shape.size() == 3 ? mask.shape[1] : 1, known};
    else if (mask.shape.size() == 3) flat.shape = {pairs[0], pairs[1], pairs[2], known};
    auto const table_of_known = broadcast<T, 4>(flat, {pairs[0], pairs[1], pairs[2], known});

    auto const count = static_cast<std::size_t>(pairs[0] * pairs[1] * pairs[2]);
    auto const from = static_cast<std::size_t>(known), to = static_cast<std::size_t>(pairs[3]);
    table<T, 4> result{std::make_unique<T[]>(count * to), pairs};
    for (std::size_t row = 0; row < count; ++row)
        std::copy_n(table_of_known.elements.get() + row * from, from, result.elements.get() + row * to);
    return result;
}

/// The masks of one kind together, as tables over all pairs; empty where there is no such mask.
template <class T>
table<T, 4> load_masks(test_case const& subject, fovea::extents_t<4> const& pairs) {
    table<T, 4> joined;
    for (auto const* name : {"attn_mask", "key_padding_mask"}) {
        if (!subject.has(name) || (subject[name].dtype == dtype::boolean) != std::is_same_v<T, bool>) continue;
        auto next = load_mask<T>(subject[name], pairs);
        auto const count = static_cast<std::size_t>(pairs[0] * pairs[1] * pairs[2] * pairs[3]);
        if (joined.elements)
            for (std::size_t i = 0; i < count; ++i)
                next.elements[i] = static_cast<T>(next.elements[i] + joined.elements[i]);  // or, for masks of bool
        joined = std::move(next);
    }
    return joined;
}

/// Calls `use` with the score and the masks of a case.
template <class T, class Use>
void with_mask(test_case const& subject, fovea::extents_t<4> const& pairs, auto const& scored, Use const& use) {
    auto const pair = [](auto const& masks) { return fovea::param(masks.view())(batch, head, q_idx, kv_idx); };
    auto const left_out = load_masks<bool>(subject, pairs);
    auto const added = load_masks<T>(subject, pairs);
    auto const visible = fovea::where(!pair(left_out));
    auto const biased = fovea::rescore(score + pair(added));
    if (left_out.elements && added.elements) use(scored | biased | visible);
    else if (left_out.elements) use(scored | visible);
    else if (added.elements) use(scored | biased);
    else use(scored);
}

/// A source and its projection.
template <class T>
struct projected_source {
    rows<T> const& source;
    projection<T> map;
};

/// The gradients of everything that a case reads. What the masks say is one table that is added.
template <class Engine>
void compare_gradients(test_case const& subject, checks& all, std::array<projected_source<double>, 3> parts,
                       projection<double> output_map, auto const& heads) {
    auto const& [query, key, value] = parts;
    fovea::tensor<double, 4> mask({query.source.batches(), subject.attribute<std::int64_t>("num_heads"),
                                   query.source.positions(), key.source.positions()});
    auto const left_out = load_masks<bool>(subject, mask.extents);
    auto const added = load_masks<double>(subject, mask.extents);
    for (std::size_t i = 0; i < mask.elements.size(); ++i) {
        if (added.elements) mask.elements[i] = added.elements[i];
        if (left_out.elements && left_out.elements[i]) mask.elements[i] = -std::numeric_limits<double>::infinity();
    }
    for (auto* each : {&parts[0].map, &parts[1].map, &parts[2].map, &output_map})
        if (each->bias.empty()) each->bias.assign(static_cast<std::size_t>(each->outputs), 0);

    auto const attention = fovea::project(query.map.map(), key.map.map(), value.map.map(), heads) | fovea::scaled_dot
                         | fovea::rescore(score + fovea::param(mask)(batch, head, q_idx, kv_idx)) | fovea::softmax
                         | fovea::weighted_sum | fovea::output(output_map.map());
    rows<double> const d_out{load<double, 3>(subject["d_out"]), query.source.sequence_first};
    auto const compare = [&](std::string const& name, std::vector<double> const& got) {
        if (subject.has(name)) all.compare(Engine::name, Engine::computes, name, got, subject[name].shape);
    };
    // Columns of a wider map are those of the matrix, of the bias and of the further row.
    auto const apart = [&](auto const& d_matrix, auto const& d_bias, char const* source) {
        auto const inputs = subject[source].shape.back();
        std::array<std::vector<double>, 3> result;
        for (index_t c = 0; c < d_matrix.extent(0); ++c)
            for (index_t i = 0; i < d_matrix.extent(1); ++i)
                result[static_cast<std::size_t>(i < inputs ? 0 : i - inputs + 1)].push_back(d_matrix(c, i));
        if (d_matrix.extent(1) == inputs) result[1] = d_bias.elements;
        return result;
    };
    auto const compare_rows = [&](std::string const& name, fovea::tensor<double, 3> const& got) {
        rows<double> stored{fovea::tensor<double, 3>(extents<3>(subject[name])), query.source.sequence_first};
        for (index_t b = 0; b < got.extent(0); ++b)
            for (index_t n = 0; n < stored.positions(); ++n)
                for (index_t c = 0; c < stored.features(); ++c) stored.view()(b, n, c) = got(b, n, c);
        compare(name, stored.stored.elements);
    };
    auto const joined = [](auto const& a, auto const& b, auto const& c) {
        auto all_three = a;
        all_three.insert(all_three.end(), b.begin(), b.end());
        all_three.insert(all_three.end(), c.begin(), c.end());
        return all_three;
    };
    with_gradients<Engine>(
        attention, query.source.view(), key.source.view(), value.source.view(), d_out.view(),
        [&](auto const& d_q, auto const& d_k, auto const& d_v, auto const& d_wq, auto const& d_wk, auto const& d_wv,
            auto const& d_bq, auto const& d_bk, auto const& d_bv, auto const& d_wo, auto const& d_bo) {
            compare_rows("d_query", d_q);
            compare_rows("d_key", d_k);
            compare_rows("d_value", d_v);
            auto const of_query = apart(d_wq, d_bq, "query"), of_key = apart(d_wk, d_bk, "key"),
                       of_value = apart(d_wv, d_bv, "value");
            compare("d_q_proj_weight", of_query[0]);
            compare("d_k_proj_weight", of_key[0]);
            compare("d_v_proj_weight", of_value[0]);
            compare("d_in_proj_weight", joined(of_query[0], of_key[0], of_value[0]));
            compare("d_in_proj_bias", joined(of_query[1], of_key[1], of_value[1]));
            compare("d_bias_k", of_key[2]);
            compare("d_bias_v", of_value[2]);
            compare("d_out_proj_weight", d_wo.elements);
            compare("d_out_proj_bias", d_bo.elements);
        },
        query.source.view(), key.source.view(), value.source.view(), query.map.weights(), key.map.weights(),
        value.map.weights(), query.map.bias, key.map.bias, value.map.bias, output_map.weights(), output_map.bias);
}

template <class Engine>
void run_with(test_case const& subject, checks& all) {
    using T = typename Engine::value;
    auto const query = load_rows<T>(subject, "query");
    auto key = load_rows<T>(subject, "key"), value = load_rows<T>(subject, "value");
    auto const query_map = load_projection<T>(subject, "q_proj_weight", 0);
    auto key_map = load_projection<T>(subject, "k_proj_weight", 1);
    auto value_map = load_projection<T>(subject, "v_proj_weight", 2);
    bool const zero_row = subject.attribute<bool>("add_zero_attn");
    auto const further = [&](char const* name) { return subject.has(name) ? subject[name].as<T>() : std::vector<T>{}; };
    add_rows(key, key_map, further("bias_k"), zero_row);
    add_rows(value, value_map, further("bias_v"), zero_row);

    projection<T> output_map;
    output_map.matrix = subject["out_proj_weight"].as<T>();
    output_map.outputs = output_map.inputs = query_map.outputs;
    if (subject.has("out_proj_bias")) output_map.bias = subject["out_proj_bias"].as<T>();

    auto const head_count = subject.attribute<std::int64_t>("num_heads");
    fovea::extents_t<4> const pairs{query.batches(), head_count, query.positions(), key.positions()};
    rows<T> result{fovea::tensor<T, 3>(query.stored.extents), query.sequence_first};
    fovea::tensor<T, 4> probabilities(pairs);

    auto const attend = [&](auto const& scored, auto const& q_rows, auto const& k_rows, auto const& v_rows) {
        with_mask<T>(subject, pairs, scored, [&](auto const& masked) {
            auto const attention = masked | fovea::softmax | fovea::weighted_sum | fovea::output(output_map.map());
            Engine::attend(attention, q_rows, k_rows, v_rows, result.view(), fovea::weights(probabilities.view()));
        });
    };
    if constexpr (has_gradients<Engine>)
        if (subject.has("d_out"))
            with_heads<1, 2, 3, 4, 5, 8>(
                head_count,
                [&](auto const& heads) {
                    compare_gradients<Engine>(subject, all, {{{query, query_map}, {key, key_map}, {value, value_map}}},
                                              output_map, heads);
                },
                [] {});
    auto const keys = std::as_const(key).view(), values = std::as_const(value).view();
    with_heads<1, 2, 4, 8>(
        head_count,
        [&](auto const& heads) {
            attend(fovea::project(query_map.map(), key_map.map(), value_map.map(), heads) | fovea::scaled_dot,
                   query.view(), keys, values);
        },
        [&] {
            auto const q_rows = projected<Engine>(query_map.map(), query.view());
            auto const k_rows = projected<Engine>(key_map.map(), keys),
                       v_rows = projected<Engine>(value_map.map(), values);
            attend(fovea::scaled_dot, split(q_rows, head_count), split(k_rows, head_count), split(v_rows, head_count));
        });

    auto const& query_shape = subject["query"].shape;
    all.compare(Engine::name, Engine::computes, "out", result.stored.elements, query_shape);

    // The case has the weights of each head or their mean, without a batch axis where the inputs have none.
    std::vector<T> weights = probabilities.elements;
    shape weights_shape(pairs.begin(), pairs.end());
    if (subject.attribute<bool>("average_attn_weights")) {
        fovea::tensor<T, 3> mean({pairs[0], pairs[2], pairs[3]});
        for (index_t b = 0; b < pairs[0]; ++b)
            for (index_t h = 0; h < pairs[1]; ++h)
                for (index_t i = 0; i < pairs[2]; ++i)
                    for (index_t j = 0; j < pairs[3]; ++j)
                        mean(b, i, j) += probabilities(b, h, i, j) / static_cast<T>(pairs[1]);
        weights = mean.elements;
        weights_shape = {pairs[0], pairs[2], pairs[3]};
    }
    if (query_shape.size() == 2) weights_shape.erase(weights_shape.begin());
    all.compare(Engine::name, Engine::computes, "weights", weights, weights_shape);
}

outcome run(test_case const& subject) {
    return in_each_engine(subject, dtype::f32,
                          [&]<class Engine>(Engine, checks& all) { run_with<Engine>(subject, all); });
}

registration const registered{"mha", run};

}  // namespace
}  // namespace conformance
