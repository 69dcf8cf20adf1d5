// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Changes of the score in the flex family that are read from tables of the case: learned biases, further features.

#include "flex.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace conformance {
namespace {

using namespace fovea::placeholders;
using fovea::index_t;

/// A table of integers by its extents.
template <int Rank>
struct index_tensor {
    index_table elements;
    fovea::extents_t<Rank> sizes;

    explicit index_tensor(tensor const& stored) : sizes(extents<Rank>(stored)) {
        auto const found = stored.as<std::int64_t>();
        elements.assign(found.begin(), found.end());
    }
    fovea::view<index_t const, Rank> view() const { return {elements.data(), sizes}; }
};

/// The sum over the edges n < length of a path, for paths of at most `Longest` edges.
template <int Longest>
auto edges_of_path(auto const& edge_bias, auto const& types, auto const& length, index_t last) {
    auto const term = [&](index_t n) {
        auto const place = n < last ? n : last;
        return select(n < length, edge_bias(head, place, types(batch, q_idx, kv_idx, place)), 0);
    };
    if constexpr (Longest == 1) return term(0);
    else return edges_of_path<Longest - 1>(edge_bias, types, length, last) + term(Longest - 1);
}

template <class Engine>
void run_graphormer(test_case const& subject, std::string const& name, flex_call<Engine>& call, checks& all,
                    auto const& scored) {
    using T = typename Engine::value;
    if (name == "graphormer_spatial") {
        auto const bias = load<T, 2>(subject["spatial_bias"]);
        index_tensor<3> const distances(subject["distances"]);
        auto const distance = fovea::param(distances)(batch, q_idx, kv_idx);
        auto const rescored = scored | fovea::rescore(score + fovea::param(bias)(head, distance));
        attend_with_mask<composed::no_mask>(subject, call, rescored);
        call.template differentiate<composed::no_mask>(subject, all, rescored, fovea::softmax,
                                                       of_case{"d_spatial_bias", bias});
    } else {
        auto const bias = load<T, 3>(subject["edge_bias"]);
        index_tensor<4> const types(subject["path_edge_types"]);
        index_tensor<3> const lengths(subject["path_lengths"]);
        auto const length = fovea::param(lengths)(batch, q_idx, kv_idx);
        auto const last = types.sizes[3] - 1;
        constexpr int longest = 6;  // what is compiled; a longer path has been added up
        if (last < longest) {
            auto const edges = edges_of_path<longest>(fovea::param(bias), fovea::param(types), length, last);
            auto const rescored = scored | fovea::rescore(score + edges / fovea::max(length, 1));
            attend_with_mask<composed::no_mask>(subject, call, rescored);
            call.template differentiate<composed::no_mask>(subject, all, rescored, fovea::softmax,
                                                           of_case{"d_edge_bias", bias});
        } else {
            fovea::tensor<T, 4> sums(call.pairs);
            for (index_t b = 0; b < sums.extent(0); ++b)
                for (index_t h = 0; h < sums.extent(1); ++h)
                    for (index_t i = 0; i < sums.extent(2); ++i)
                        for (index_t j = 0; j < sums.extent(3); ++j)
                            for (index_t n = 0; n < lengths.view()(b, i, j); ++n)
                                sums(b, h, i, j) += bias(h, n, types.view()(b, i, j, n));
            auto const edges = fovea::param(sums)(batch, head, q_idx, kv_idx);
            attend_with_mask<composed::no_mask>(subject, call,
                                                scored | fovea::rescore(score + edges / fovea::max(length, 1)));
        }
    }
}

/// Further features that query and key are compared by, beside those of q and k.
template <class Engine>
void run_mla_rope(test_case const& subject, flex_call<Engine>& call, checks& all) {
    using T = typename Engine::value;
    auto const query = load<T, 4>(subject["query_rope"]), key = load<T, 4>(subject["key_rope"]);
    index_t const kept = call.query.extent(3), added = query.extent(3);
    auto const side_by_side = [&](auto const& first, auto const& second) {
        auto sizes = first.extents;
        sizes[3] = kept + added;
        fovea::tensor<T, 4> both(sizes);
        for (index_t b = 0; b < sizes[0]; ++b)
            for (index_t h = 0; h < sizes[1]; ++h)
                for (index_t n = 0; n < sizes[2]; ++n)
                    for (index_t c = 0; c < sizes[3]; ++c)
                        both(b, h, n, c) =
                            c < kept ? first(b, h, n, c) : second(b, second.extent(1) == 1 ? 0 : h, n, c - kept);
        return both;
    };
    call.query = side_by_side(call.query, query);
    call.key = side_by_side(call.key, key);
    std::vector<T> scales(static_cast<std::size_t>(kept), call.scale);
    scales.resize(static_cast<std::size_t>(kept + added), static_cast<T>(score_parameter(subject, "scale")));
    auto const scored = fovea::compare(sum(fovea::param(scales) * q * k));
    attend_with_mask<composed::causal>(subject, call, scored);
    with_composed_mask<>(subject, call.pairs, [&](auto const& mask) {
        named_gradients sums;
        add_gradients<Engine>(sums, masked(scored, mask) | fovea::softmax | fovea::weighted_sum, call.query, call.key,
                              call.values, load<T, 4>(subject["d_out"]), of_case{"query", call.query},
                              of_case{"key", call.key}, of_case{"d_v", call.values});
        sums.take_columns("query", kept + added, kept, "d_q", "d_query_rope");
        sums.take_columns("key", kept + added, kept, "d_k", "d_key_rope");
        if constexpr (has_gradients<Engine>) sums.compare(subject, all);
    });
}

/// A bias that depends on the head and the clamped distance.
template <class Engine>
void run_relative_table(test_case const& subject, flex_call<Engine>& call, checks& all, auto const& scored) {
    auto const table = load<typename Engine::value, 2>(subject["table"]);
    attend_with_mask<composed::causal>(subject, call, scored | fovea::relative_bias(table));
    call.differentiate(subject, all, scored | fovea::relative_bias(table), fovea::softmax, of_case{"d_table", table});
}

/// A sum of cosines for each distance, a factor for each head.
template <class Engine>
void run_sandwich(test_case const& subject, flex_call<Engine>& call, checks& all, auto const& scored) {
    using T = typename Engine::value;
    auto const size = score_parameter(subject, "d_bar"), heads = score_parameter(subject, "heads");
    auto const reach = std::max(call.pairs[2], call.pairs[3]) - 1;
    std::vector<T> cosines, factors;
    for (index_t distance = -reach; distance <= reach; ++distance) {
        double total = 0;
        for (int i = 0; i < static_cast<int>(size / 2); ++i)
            total += std::cos(static_cast<double>(distance) / std::pow(10000, 2 * i / size));
        cosines.push_back(static_cast<T>(total));
    }
    for (index_t h = 0; h < call.pairs[1]; ++h)
        factors.push_back(static_cast<T>(heads / (8 * static_cast<double>(h + 1))));
    auto const bias = fovea::param(cosines)[q_idx - kv_idx + reach] * fovea::param(factors)[head];
    attend_with_mask<composed::causal>(subject, call, scored | fovea::rescore(score + bias));
    call.differentiate(subject, all, scored | fovea::rescore(score + bias), fovea::softmax);
}

template <class Engine>
void run_with(test_case const& subject, std::string const& name, checks& all) {
    flex_call<Engine> call(subject);
    auto const scored = fovea::scaled_by(call.scale);
    if (name == "relative_table") run_relative_table(subject, call, all, scored);
    else if (name == "sandwich") run_sandwich(subject, call, all, scored);
    else if (name == "mla_rope") run_mla_rope(subject, call, all);
    else if (name == "graphormer_spatial" || name == "graphormer_edge")
        run_graphormer(subject, name, call, all, scored);
    else throw malformed("there is no change of the score named " + name);
    call.compare(subject, all);
}

}  // namespace

outcome run_rescored_by_tables(test_case const& subject, std::string const& name) {
    return in_each_engine(subject, subject["q"].dtype,
                          [&]<class Engine>(Engine, checks& all) { run_with<Engine>(subject, name, all); });
}

}  // namespace conformance
