// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/reference/row.hpp>
#include <fovea/testing/random.hpp>

#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>
#include <vector>

namespace fovea::FOVEA_SET::testing {

namespace detail {
template <class T>
inline constexpr T unit_of = sizeof(T) == 4 ? T(2e-6) : T(1e-13);

/// Scores of a row; some rows hold ties, great numbers, pairs that do not take part, or nothing at all.
template <class T>
std::vector<T> random_scores(dice& from, int trial) {
    constexpr double sizes[] = {1, 10, 100};
    double const size = sizes[trial % 3];
    double const missing = trial % 4 == 3 ? 1.0 : trial % 4 == 2 ? 0.5 : 0.0;
    std::vector<T> scores(static_cast<std::size_t>(from.between(trial % 5 == 0 ? 0 : 1, 24)));
    for (auto& s : scores) {
        s = static_cast<T>(from.real(-size, size));
        if (trial % 7 == 0) s = std::round(s / static_cast<T>(size));
        if (from.chance(missing)) s = excluded<T>;
    }
    return scores;
}

template <class T>
std::string row_text(std::vector<T> const& row) {
    std::ostringstream text;
    text.precision(10);
    text << "a row of " << row.size() << ":";
    for (T const s : row) text << ' ' << s;
    return text.str();
}

template <class T>
bool near(T a, T b, T scale = 1) {
    return a == b || std::abs(a - b) <= unit_of<T> * (scale + std::abs(a));
}

/// The weights of a row in pieces, joined in the given order of merging: left to right, or right to left.
template <class T, class N>
struct in_pieces {
    using state = typename N::template state<T>;
    struct piece {
        state kept{};
        std::size_t first = 0, last = 0;
    };
    N const& n;
    std::vector<T> weights;
    std::vector<index_t> keys;

    in_pieces(N const& normalizer, std::vector<T> const& scores) : n(normalizer), weights(scores), keys(scores.size()) {
        std::iota(keys.begin(), keys.end(), index_t{0});
    }

    reference::row<T> row(std::size_t first, std::size_t last) {
        return {std::span<T>(weights).subspan(first, last - first),
                std::span<index_t const>(keys).subspan(first, last - first)};
    }
    void scale(piece const& p, T factor) {
        for (auto i = p.first; i < p.last; ++i) weights[i] *= factor;
    }
    /// One more run of scores into a piece: what was there before is rescaled.
    void fold(piece& p, std::size_t last) {
        auto const before = p;
        if constexpr (one_hot_normalizer<N>) n.fold(p.kept, row(p.last, last));
        else scale(before, n.fold(p.kept, row(p.last, last)));
        p.last = last;
    }
    piece merged(piece a, piece const& b) {
        if constexpr (one_hot_normalizer<N>) {
            n.merge(a.kept, b.kept);
        } else {
            auto const before = a;
            auto const factors = n.merge(a.kept, b.kept);
            scale(before, factors.first);
            scale(b, factors.second);
        }
        return {a.kept, std::min(a.first, b.first), std::max(a.last, b.last)};
    }
    void finish(piece const& p) {
        if constexpr (one_hot_normalizer<N>)
            for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = keys[i] == n.selected(p.kept) ? T(1) : T(0);
        else scale(p, n.finish(p.kept));
    }
};

template <class T>
void check_same_weights(char const* sentence, std::vector<T> const& scores, std::vector<T> const& whole,
                        std::vector<T> const& pieces) {
    for (std::size_t i = 0; i < whole.size(); ++i)
        law(near(whole[i], pieces[i]), sentence, [&] {
            return row_text(scores) + ": weight " + std::to_string(i) + " is " + std::to_string(pieces[i]) + " and not "
                 + std::to_string(whole[i]);
        });
}

/// Cuts of 0 .. size into pieces, some of them empty.
inline std::vector<std::size_t> random_cuts(dice& from, std::size_t size) {
    std::vector<std::size_t> cuts{0};
    while (cuts.back() < size)
        cuts.push_back(std::min(size, cuts.back() + static_cast<std::size_t>(from.between(0, 7))));
    return cuts;
}

template <class T, class N>
void check_pieces(N const& n, std::vector<T> const& scores, std::vector<T> const& whole, dice& random) {
    using run = in_pieces<T, N>;
    using piece = typename run::piece;
    auto const cuts = random_cuts(random, scores.size());

    run folded(n, scores);
    piece all;
    for (auto const cut : cuts) folded.fold(all, cut);
    folded.finish(all);
    check_same_weights("folding a row in pieces gives what folding it whole does", scores, whole, folded.weights);

    for (bool const leftwards : {false, true}) {
        run joined(n, scores);
        std::vector<piece> parts;
        for (std::size_t p = 1; p < cuts.size(); ++p) {
            piece part{{}, cuts[p - 1], cuts[p - 1]};
            joined.fold(part, cuts[p]);
            parts.push_back(part);
        }
        piece sum = {{}, leftwards ? scores.size() : 0, leftwards ? scores.size() : 0};  // begins with nothing
        for (std::size_t p = 0; p < parts.size(); ++p)
            sum = leftwards ? joined.merged(parts[parts.size() - 1 - p], sum) : joined.merged(sum, parts[p]);
        sum = joined.merged(sum, {{}, sum.last, sum.last});
        joined.finish(sum);
        check_same_weights("merging pieces gives the whole, in any order, and nothing is its unit", scores, whole,
                           joined.weights);
        if constexpr (requires { n.log_sum(sum.kept); })
            law(near(n.log_sum(sum.kept), n.log_sum(all.kept), T(10)), "log_sum of merged pieces is that of the whole",
                [&] { return row_text(scores); });
    }
}

/// Some visible scores become such that nothing good can come of them.
template <class T, class N>
void check_no_part(N const& n, std::vector<T> scores, dice& random) {
    T const odd[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                     std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()};
    for (T& s : scores)
        if (s != excluded<T> && random.chance(0.3)) s = odd[random.between(0, 3)];
    std::vector<index_t> keys(scores.size());
    std::iota(keys.begin(), keys.end(), index_t{0});
    auto weights = scores;
    reference::normalize(n, reference::row<T>{weights, keys});
    for (std::size_t i = 0; i < scores.size(); ++i)
        law(scores[i] != excluded<T> || weights[i] == 0,
            "a pair that takes no part has weight 0 whatever the visible scores are", [&] { return row_text(scores); });
}

template <class T, class N>
void check_rows(N const& n, unsigned seed) {
    dice random(seed);
    for (int trial = 0; trial < 120; ++trial) {
        auto const scores = random_scores<T>(random, trial);
        auto const text = [&] { return row_text(scores); };
        std::vector<index_t> keys(scores.size());
        std::iota(keys.begin(), keys.end(), index_t{0});
        auto whole = scores;
        T const log_sum = reference::normalize(n, reference::row<T>{whole, keys});
        bool any = false;
        for (std::size_t i = 0; i < scores.size(); ++i) {
            any = any || scores[i] != excluded<T>;
            law(scores[i] != excluded<T> || whole[i] == 0, "a pair that takes no part has weight 0", text);
            law(!std::isnan(whole[i]), "weights of numbers are numbers", text);
        }
        law(any || log_sum == excluded<T>, "a row without keys has log-sum-exp -inf", text);
        check_no_part(n, scores, random);
        if constexpr (streaming_normalizer<N> || one_hot_normalizer<N>) check_pieces(n, scores, whole, random);

        if constexpr (requires { requires N::sums_to_one; }) {
            T const total = std::accumulate(whole.begin(), whole.end(), T(0));
            law(near(total, any ? T(1) : T(0)), "the weights of a row sum to one", text);
        }
        if constexpr (requires { requires N::shift_invariant; }) {
            auto moved = scores;
            for (T& s : moved) s += 2;
            reference::normalize(n, reference::row<T>{moved, keys});
            for (std::size_t i = 0; i < whole.size(); ++i)
                law(std::abs(moved[i] - whole[i]) <= 100 * unit_of<T>,
                    "a constant added to all scores changes no weight", text);
        }
    }
}
}  // namespace detail

/// check_normalizer_laws: what has to hold for every normalizer, in float and in double.
///
///     a pair that takes no part has weight 0, whatever the visible scores are, NaN and infinity among them
///     a row without keys has weights 0 and log-sum-exp -inf
///     folding a row in pieces, in any pieces, gives what folding it whole does
///     merge is associative, and the empty state is its unit
///     sums_to_one and shift_invariant hold where they are declared
///
/// Errors: law_broken naming the law and the row.
template <normalizer N>
void check_normalizer_laws(N const& n, unsigned seed = 1) {
    detail::check_rows<float>(n, seed);
    detail::check_rows<double>(n, seed);
}

}  // namespace fovea::FOVEA_SET::testing
