// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/reference/row.hpp>
#include <fovea/spec/whole_row.hpp>

#include <cstddef>
#include <vector>

namespace fovea::FOVEA_SET::reference {

/// normalize: turns the scores of a whole row into its weights; returns the log-sum-exp, or what stands for it.
///
/// The words of the normalizer are used as they are, on numbers; excluded scores become weight 0, whatever the others
/// are.
template <normalizer N, class T>
T normalize(N const& n, row<T> const& r) {
    T log_sum = excluded<T>;
    if constexpr (one_hot_normalizer<N> || streaming_normalizer<N>) {
        typename N::template state<T> state{};
        if constexpr (one_hot_normalizer<N>) {
            n.fold(state, r);
            auto left = n.selected(state);
            for (index_t i = 0; i < r.size(); ++i) {
                bool const best = left >= 0 && r.key(i) == left;
                r[i] = best ? T(1) : T(0);
                if (best) left = -1;  // a key that is listed twice wins once
            }
        } else {
            std::vector<bool> takes_part;
            for (T const score : r.scores) takes_part.push_back(score != excluded<T>);
            n.fold(state, r);
            T const factor = n.finish(state);
            for (std::size_t i = 0; i < takes_part.size(); ++i)
                if (takes_part[i]) r.scores[i] *= factor;  // the factor may be NaN
        }
        if constexpr (requires { n.log_sum(state); }) log_sum = n.log_sum(state);
    } else if constexpr (elementwise_normalizer<N>) {
        r.map([&](auto s) { return n.weight(s); });
    } else if constexpr (log_sum_returning_normalizer<N>) {
        log_sum = n.normalize(r);
    } else {
        n.normalize(r);
    }
    return log_sum;
}

}  // namespace fovea::FOVEA_SET::reference
