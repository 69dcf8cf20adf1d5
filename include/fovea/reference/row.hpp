// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/spec/row.hpp>
#include <fovea/spec/whole_row.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

namespace fovea::FOVEA_SET::reference {

/// row: the scores of one query as plain numbers; a score_row without any vector.
template <class T>
struct row {
    using value_type = T;
    std::span<T> scores;
    std::span<index_t const> keys;  // which key each score belongs to

    T max() const {
        T greatest = excluded<T>;
        for (T const s : scores)
            if (s > greatest) greatest = s;
        return greatest;
    }

    bool any_above(T limit) const { return max() > limit; }

    /// Ties go to the lowest key, wherever it stands in the row.
    located<T> first_max() const {
        located<T> best;
        for (index_t i = 0; i < size(); ++i)
            if ((*this)[i] > best.value || ((*this)[i] == best.value && best.key >= 0 && key(i) < best.key))
                best = {(*this)[i], key(i)};
        return best;
    }

    void map(auto f) const {
        for (T& s : scores) s = s == excluded<T> ? T(0) : static_cast<T>(f(s));
    }

    T map_and_sum(auto f) const {
        map(f);
        T total = 0;
        for (T const weight : scores) total += weight;
        return total;
    }

    void rescale(T factor) const {
        for (T& weight : scores) weight *= factor;
    }

    T sum(auto f) const {
        T total = 0;
        for (T const s : scores)
            if (s != excluded<T>) total += static_cast<T>(f(s));
        return total;
    }

    auto sums(auto f) const {
        decltype(f(T{})) total{};
        std::array<cascade_sum<T>, std::tuple_size_v<decltype(total)>> sums;
        for (T const s : scores) {
            if (s == excluded<T>) continue;
            auto const terms = f(s);
            for (std::size_t n = 0; n < terms.size(); ++n) sums[n].add(terms[n]);
        }
        for (std::size_t n = 0; n < total.size(); ++n) total[n] = sums[n].total(T(0));
        return total;
    }

    row at_least(T limit, row_scratch<T>& scratch) const {
        std::size_t count = 0;
        for (T const s : scores) {
            if (s == excluded<T> || s < limit) continue;
            if (count == scratch.size) return *this;
            scratch.scores[count++] = s;
        }
        return {std::span<T>(scratch.scores, count), {}};
    }

    T max_of(auto f) const {
        T greatest = excluded<T>;
        for (T const s : scores)
            if (s != excluded<T>) greatest = std::max(greatest, static_cast<T>(f(s)));
        return greatest;
    }

    T reached_by(index_t k) const {
        std::vector<T> sorted;
        std::copy_if(scores.begin(), scores.end(), std::back_inserter(sorted), [](T s) { return s == s; });
        if (k < 1 || k > std::ssize(sorted)) return excluded<T>;
        std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end(), [](T a, T b) { return a > b; });
        return sorted[static_cast<std::size_t>(k - 1)];
    }

    void map_from(T limit, auto f) const {
        for (T& s : scores) s = s == excluded<T> || s < limit ? T(0) : static_cast<T>(f(s));
    }

    row exclude_below(T limit) const {
        for (T& s : scores)
            if (s < limit) s = excluded<T>;
        return *this;
    }
    row keep_from(T limit, kept_scratch<T>&) const { return exclude_below(limit); }
    void put_back(row const&, kept_scratch<T> const&) const {}  // they stand where they stood

    index_t size() const { return static_cast<index_t>(scores.size()); }
    T& operator[](index_t i) const { return scores[static_cast<std::size_t>(i)]; }
    index_t key(index_t i) const { return keys[static_cast<std::size_t>(i)]; }
};
static_assert(score_row<row<double>>);

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
