// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rule of a normalizer on the keys of one query, all of its heads.
#pragma once

#include <fovea/core/graph.hpp>
#include <fovea/driver/call/backward/row_rule.hpp>
#include <fovea/driver/graph/backward/gradient_layout.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The scores of the keys of one query become weights, and the gradients of these those of the scores: a row for each
/// head, one after the other. Numbers of pairs lie as (key, head lanes); lanes without a pair get 0.
template <class Call>
class listed_rule {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Tables = typename Call::tables;
    using normalize = std::remove_const_t<decltype(Call::spec::normalize)>;
    using reweight = std::remove_const_t<decltype(Call::spec::reweight)>;
    static constexpr index_t width = kernel::pack<T, Arch>::lanes;

public:
    listed_rule(typename Call::spec const& spec, kernel::head_lanes const& lanes, arena& memory, index_t longest)
        : lanes_(lanes),
          rule_(memory, spec.normalize, spec.reweight, round_up(longest, width)),
          scores_(memory.template take<T>(round_up(longest, width))),
          gradients_(memory.template take<T>(round_up(longest, width))),
          keys_(memory.template take<std::int32_t>(round_up(longest, width))) {}

    /// An expression may read the `numbers` of the edges, of which there is a vector more.
    void apply(kernel::row_facts facts, graph_view const& graph, index_t* numbers, T* weights, T* gradients,
               Tables const& tables) const {
        auto const listed = graph.of(facts.q_idx);
        index_t const n = std::ssize(listed), padded = round_up(n, width), pairs = lanes_.pairs(n);
        if constexpr (Call::numbers_edges) std::fill_n(numbers + n, width, numbers[n - 1]);
        facts.edges = numbers;
        std::copy(listed.begin(), listed.end(), keys_);
        std::fill(keys_ + n, keys_ + padded, listed.back());
        for (index_t h = 0; h < lanes_.heads; ++h) {
            for (index_t e = 0; e < n; ++e) {
                scores_[e] = weights[lanes_.pairs(e) + h];
                gradients_[e] = gradients[lanes_.pairs(e) + h];
            }
            std::fill(scores_ + n, scores_ + padded, excluded<T>);
            std::fill(gradients_ + n, gradients_ + padded, T{0});
            facts.head = h;
            rule_.apply(facts, {scores_, padded / width, {keys_}}, gradients_, tables, [](T const*, T*) {});
            for (index_t e = 0; e < n; ++e) {
                weights[lanes_.pairs(e) + h] = scores_[e];
                gradients[lanes_.pairs(e) + h] = gradients_[e];
            }
        }
        for (index_t e = 0; e < n; ++e)
            for (index_t h = lanes_.heads; h < lanes_.padded_heads; ++h)
                weights[lanes_.pairs(e) + h] = gradients[lanes_.pairs(e) + h] = T{0};
        std::fill(weights + pairs, weights + round_up(pairs, width), T{0});
        std::fill(gradients + pairs, gradients + round_up(pairs, width), T{0});
    }

private:
    kernel::head_lanes const& lanes_;
    row_rule<T, Arch, normalize, reweight, Tables, kernel::listed_keys> rule_;
    T *scores_, *gradients_;  // of one head
    std::int32_t* keys_;      // the last one repeated
};

}  // namespace fovea::FOVEA_SET::driver
