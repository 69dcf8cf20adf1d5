// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Multi-head attention with projections. Bool masks say who is left out. Further keys (bias_k, bias_v, zeros) come in
// as further rows of the sources: a feature that is 1 for the ordinary rows carries the bias of the projection, another
// one that is 1 for the further row carries bias_k or bias_v, and a row of zeros is projected to zeros.

#include "engines.hpp"
#include "load.hpp"
#include "runner.hpp"

#include <fovea/fovea.hpp>

#include <cstddef>
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

    auto map() const {
        fovea::view<T const, 1> b;
        if (!bias.empty()) b = {bias.data(), {outputs}};
        return fovea::linear(fovea::transposed(fovea::view<T const, 2>(matrix.data(), {outputs, inputs})), b);
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
    if (mask.name == "key_padding_mask") flat.shape = {mask.shape[0], 1, 1, known};
    else if (mask.shape.size() == 3) flat.shape = {pairs[0], pairs[1], pairs[2], known};
    auto const table_of_known = broadcast<T, 4>(flat, {pairs[0], pairs[1], pairs[2], known});

    auto const count = static_cast<std::size_t>(pairs[0] * pairs[1] * pairs[2]);
    auto const from = static_cast<std::size_t>(known), to = static_cast<std::size_t>(pairs[3]);
    table<T, 4> result{std::make_unique<T[]>(count * to), pairs};
    for (std::size_t row = 0; row < count; ++row)
        std::copy_n(table_of_known.elements.get() + row * from, from, result.elements.get() + row * to);
    return result;
}

/// Calls `use` with the score and the mask that a case describes.
template <class T, class Use>
void with_mask(test_case const& subject, fovea::extents_t<4> const& pairs, auto const& scored, Use const& use) {
    auto const pair = [](auto const& masked) { return fovea::param(masked.view())(batch, head, q_idx, kv_idx); };
    auto const kind = [&](char const* name) {
        return !subject.has(name) ? 'n' : subject[name].dtype == dtype::boolean ? 'b' : 'f';
    };
    auto const attention = kind("attn_mask"), padding = kind("key_padding_mask");
    if (attention == 'n' && padding == 'n') {
        use(scored);
    } else if (attention == 'b' && padding == 'n') {
        auto const left_out = load_mask<bool>(subject["attn_mask"], pairs);
        use(scored | fovea::where(!pair(left_out)));
    } else if (attention == 'n' && padding == 'b') {
        auto const left_out = load_mask<bool>(subject["key_padding_mask"], pairs);
        use(scored | fovea::where(!pair(left_out)));
    } else if (attention == 'f' && padding == 'n') {
        auto const added = load_mask<T>(subject["attn_mask"], pairs);
        use(scored | fovea::rescore(score + pair(added)));
    } else if (attention == 'f' && padding == 'f') {
        auto const added = load_mask<T>(subject["attn_mask"], pairs);
        auto const added_to_keys = load_mask<T>(subject["key_padding_mask"], pairs);
        use(scored | fovea::rescore(score + pair(added)) | fovea::rescore(score + pair(added_to_keys)));
    } else {
        throw malformed(subject.name() + ": these two masks together are not expressed");
    }
}

/// Calls `use` with the number of heads as a constant.
template <int... Counts>
void with_heads(std::int64_t count, auto const& use) {
    bool const found = ((count == Counts && (use(fovea::heads<Counts>), true)) || ...);
    if (!found) throw malformed(std::to_string(count) + " heads are not among those that are compiled");
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
    auto result = query;
    fovea::tensor<T, 4> probabilities(pairs);

    with_heads<1, 2, 3, 4, 5, 8>(head_count, [&](auto const& heads) {
        auto const projected =
            fovea::project(query_map.map(), key_map.map(), value_map.map(), heads) | fovea::scaled_dot;
        with_mask<T>(subject, pairs, projected, [&](auto const& masked) {
            auto const attention = masked | fovea::softmax | fovea::weighted_sum | fovea::output(output_map.map());
            Engine::attend(attention, query.view(), std::as_const(key).view(), std::as_const(value).view(),
                           result.view(), fovea::weights(probabilities.view()));
        });
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
    checks all(subject);
    run_with<float32_engine>(subject, all);
    run_with<float64_engine>(subject, all);
    run_with<reference_engine>(subject, all);
    return all.finish();
}

registration const registered{"mha", run};

}  // namespace
}  // namespace conformance
