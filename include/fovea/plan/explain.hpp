// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The decisions of the plan as text.
#pragma once

#include <fovea/expr/bound.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/plan/lower.hpp>
#include <fovea/plan/normalizing.hpp>
#include <fovea/plan/reweighting.hpp>
#include <fovea/plan/traversal.hpp>
#include <fovea/spec/attention.hpp>

#include <algorithm>
#include <string>

namespace fovea::FOVEA_SET::plan {

/// "2 sums for each pair (kernel/pairwise.hpp); ...": the parts of a lowered score, with the files that compute them.
template <class Lowered>
std::string explain_score(Lowered const& score, call_plan const& how, index_t features, index_t key_features) {
    using parts = std::remove_cvref_t<decltype(score.parts)>;
    files const run_by = files_of(how);
    index_t squares = 0;
    for_each_part(score.parts.pairs,
                  [&](auto const& pair) { squares += multiplies_squares(how, pair, features, key_features) ? 1 : 0; });
    std::string text;
    auto const add = [&](index_t n, std::string const& noun, std::string const& rest, std::string_view file) {
        if (n == 0) return;
        text += (text.empty() ? "" : "; ") + std::to_string(n) + " " + noun + (n > 1 ? "s" : "") + rest + " ("
              + std::string(file) + ")";
    };
    add(count_of<decltype(parts::products)>, "matrix product", "", run_by.products);
    add(squares, "squared distance", " from a matrix product", "kernel/squared_distances.hpp");
    add(count_of<decltype(parts::pairs)> - squares, "sum", " for each pair", "kernel/pairwise.hpp");
    add(count_of<decltype(parts::rows)>, "term", " for each query", "kernel/environment.hpp");
    add(count_of<decltype(parts::keys)>, "term", " for each key", "kernel/environment.hpp");
    if (text.empty()) text = "indices only";
    using rest = std::remove_cvref_t<decltype(score.pointwise)>;
    constexpr bool bare = is_bare_product<rest> || std::is_same_v<rest, reference<part::pairwise, 0>>;
    return text + (bare ? "; nothing left on the tile" : "; the rest on the tile (" + std::string(run_by.rest) + ")");
}

/// How a normalizer is run.
template <class Normalize>
std::string explain_normalizer(Normalize const& n) {
    using how = normalizing<std::remove_cvref_t<decltype(normalizer_of(n))>, double>;
    std::string const name = describe(n);
    if constexpr (is_reweighted<Normalize> && !scales_weight<decltype(reweighting_of(n))>)
        return name + ", whole rows: weights are changed once they are final";
    else if constexpr (how::selects)
        return name + ", one key for each query: values are read only for the keys that win";
    else if constexpr (how::streams) return name + ", streaming: folded tile by tile";
    else if constexpr (how::elementwise) return name + ", elementwise: nothing is carried";
    else return name + ", whole rows: the scores of a few queries over all keys are kept";
}

/// Of the blocks of queries and keys, how many the predicate leaves empty, fills, or mixes.
struct block_count {
    index_t full = 0, mixed = 0, empty = 0;
};

/// True where heads, or batch elements, may see different keys.
template <class Predicate>
inline constexpr bool differs_by_head = uses<Predicate, batch_t, head_t>;

/// The blocks q x k, ends included, halved until all of a piece are alike.
template <class Real, class Predicate>
void count_blocks(Predicate const& predicate, box const& all, index_t block_queries, index_t block_keys,
                  interval<index_t> q, interval<index_t> k, block_count& n) {
    box piece = all;
    piece.q_idx = {q.lo * block_queries, std::min((q.hi + 1) * block_queries, all.q_len) - 1};
    piece.kv_idx = {k.lo * block_keys, std::min((k.hi + 1) * block_keys, all.kv_len) - 1};
    auto const seen = bound<Real>(predicate, piece);
    index_t const rows = q.hi - q.lo + 1, columns = k.hi - k.lo + 1;
    if (seen.never()) n.empty += rows * columns;
    else if (seen.always()) n.full += rows * columns;
    else if (rows == 1 && columns == 1) ++n.mixed;
    else if (rows >= columns) {
        index_t const middle = q.lo + rows / 2;
        count_blocks<Real>(predicate, all, block_queries, block_keys, {q.lo, middle - 1}, k, n);
        count_blocks<Real>(predicate, all, block_queries, block_keys, {middle, q.hi}, k, n);
    } else {
        index_t const middle = k.lo + columns / 2;
        count_blocks<Real>(predicate, all, block_queries, block_keys, q, {k.lo, middle - 1}, n);
        count_blocks<Real>(predicate, all, block_queries, block_keys, q, {middle, k.hi}, n);
    }
}

/// Of all blocks of one head; of all heads where the mask differs from one to the next.
template <class Real, class Predicate>
block_count count_blocks(Predicate const& predicate, box const& all, index_t block_queries, index_t block_keys) {
    block_count n;
    if (all.q_len <= 0 || all.kv_len <= 0) return n;
    auto const count = [&](box const& where) {
        count_blocks<Real>(predicate, where, block_queries, block_keys, {0, (all.q_len - 1) / block_queries},
                           {0, (all.kv_len - 1) / block_keys}, n);
    };
    if constexpr (differs_by_head<Predicate>) {
        for (index_t b = all.batch.lo; b <= all.batch.hi; ++b)
            for (index_t h = all.head.lo; h <= all.head.hi; ++h) {
                box one = all;
                one.batch = {b, b};
                one.head = {h, h};
                count(one);
            }
    } else {
        count(all);
    }
    return n;
}

}  // namespace fovea::FOVEA_SET::plan
