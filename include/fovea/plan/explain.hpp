// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The decisions of the plan as text, and a sentence for each that is slow with what would mend it.
#pragma once

#include <fovea/expr/bound.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/expr/scalar.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/plan/call_plan.hpp>
#include <fovea/plan/lower.hpp>
#include <fovea/plan/normalizing.hpp>
#include <fovea/plan/one_sided.hpp>
#include <fovea/plan/score_parts.hpp>
#include <fovea/plan/traversal.hpp>
#include <fovea/spec/attention.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::plan {

/// "2 sums for each pair (driver/dense/pairwise.hpp); ...": the parts of a lowered score, with the files that compute
/// them.
template <class Lowered>
std::string explain_score(Lowered const& score, call_plan const& how, index_t features, index_t key_features) {
    using parts = std::remove_cvref_t<decltype(score.parts)>;
    files const run_by = files_of(how);
    index_t squares = 0, rows = 0, rows_of_keys = 0;
    for_each_part(score.parts.pairs, [&](auto const& pair) {
        squares += multiplies_squares(how, pair, features, key_features) ? 1 : 0;
        (pair.key_times_row ? rows_of_keys : rows) += multiplies_row(how, pair) ? 1 : 0;
    });
    std::string text;
    auto const add = [&](index_t n, std::string const& noun, std::string const& rest, std::string_view file) {
        if (n == 0) return;
        text += (text.empty() ? "" : "; ") + std::to_string(n) + " " + noun + (n > 1 ? "s" : "") + rest + " ("
              + std::string(file) + ")";
    };
    add(count_of<decltype(parts::products)>, "matrix product", "", run_by.products);
    add(squares, "squared distance", " from a matrix product", "driver/dense/stored_keys.hpp");
    add(rows, "sum", " with rows of a table, from a matrix product", "driver/dense/table_products.hpp");
    add(rows_of_keys, "sum", " of keys with rows of a table, from a matrix product",
        "driver/dense/key_table_products.hpp");
    add(count_of<decltype(parts::pairs)> - squares - rows - rows_of_keys, "sum", " for each pair",
        "driver/dense/pairwise.hpp");
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

/// Of the blocks of queries and keys, or of the tiles in some of the mixed ones, how many the predicate leaves empty,
/// fills, or mixes.
struct block_count {
    index_t full = 0, mixed = 0, empty = 0;
    constexpr index_t all() const { return full + mixed + empty; }
    constexpr void add(block_count const& other) {
        full += other.full;
        mixed += other.mixed;
        empty += other.empty;
    }
};

/// True where heads, or batch elements, may see different keys.
template <class Predicate>
inline constexpr bool differs_by_head = uses<Predicate, batch_t, head_t>;

/// The queries and keys of a block, or of a tile.
struct queries_and_keys {
    index_t queries, keys;
};

/// Counts the blocks of a box, halved until all of a piece are alike: mixed(box) is told of those that are mixed.
template <class Real, class Predicate, class Mixed>
class block_counter {
public:
    block_counter(Predicate const& predicate, box const& all, queries_and_keys const& of_block, Mixed const& mixed)
        : predicate_(predicate), all_(all), of_block_(of_block), mixed_(mixed) {}

    block_count count() {
        if (all_.q_idx.lo <= all_.q_idx.hi && all_.kv_idx.lo <= all_.kv_idx.hi)
            count({0, (all_.q_idx.hi - all_.q_idx.lo) / of_block_.queries},
                  {0, (all_.kv_idx.hi - all_.kv_idx.lo) / of_block_.keys});
        return n_;
    }

private:
    static constexpr index_t most_elements = index_t{1} << 20;  // of a table, in a box

    void count(interval<index_t> q, interval<index_t> k) {
        box piece = all_;
        piece.q_idx = part(all_.q_idx, q, of_block_.queries);
        piece.kv_idx = part(all_.kv_idx, k, of_block_.keys);
        auto const seen = bound<Real>(predicate_, piece, most_elements);
        index_t const rows = q.hi - q.lo + 1, columns = k.hi - k.lo + 1;
        if (seen.never()) {
            n_.empty += rows * columns;
        } else if (seen.always()) {
            n_.full += rows * columns;
        } else if (rows == 1 && columns == 1) {
            ++n_.mixed;
            mixed_(piece);
        } else if (rows >= columns) {
            index_t const middle = q.lo + rows / 2;
            count({q.lo, middle - 1}, k);
            count({middle, q.hi}, k);
        } else {
            index_t const middle = k.lo + columns / 2;
            count(q, {k.lo, middle - 1});
            count(q, {middle, k.hi});
        }
    }
    static interval<index_t> part(interval<index_t> const& all, interval<index_t> const& blocks, index_t size) {
        return {all.lo + blocks.lo * size, std::min(all.lo + (blocks.hi + 1) * size - 1, all.hi)};
    }

    Predicate const& predicate_;
    box const& all_;
    queries_and_keys of_block_;
    Mixed const& mixed_;
    block_count n_{};
};
template <class Real, class Predicate, class Mixed>
block_count count_blocks(Predicate const& predicate, box const& all, queries_and_keys const& of_block,
                         Mixed const& mixed) {
    return block_counter<Real, Predicate, Mixed>(predicate, all, of_block, mixed).count();
}

/// Some of the things that are added, evenly spaced: all of them, until there are too many.
template <class T>
class evenly_drawn {
public:
    void add(T const& each) {
        if (seen_++ % stride_ != 0) return;
        if (drawn_.size() == 2 * least) {
            for (std::size_t i = 0; i < least; ++i) drawn_[i] = drawn_[2 * i];
            drawn_.resize(least);
            stride_ *= 2;
            if ((seen_ - 1) % stride_ != 0) return;
        }
        drawn_.push_back(each);
    }
    auto begin() const { return drawn_.begin(); }
    auto end() const { return drawn_.end(); }

private:
    static constexpr std::size_t least = 32;
    std::vector<T> drawn_;
    std::size_t seen_ = 0, stride_ = 1;
};

/// The blocks of one head, or of all heads where a predicate differs from one to the next, and the tiles in some of
/// those that it mixes, by what it leaves of them.
struct counted_blocks {
    block_count blocks{}, tiles{};

    /// Of all tiles, about which share is left out, and which is not masked.
    double empty() const { return share(&block_count::empty); }
    double full() const { return share(&block_count::full); }

private:
    double share(index_t block_count::* which) const {
        auto const part = [](index_t n, index_t of) {
            return of == 0 ? 0. : static_cast<double>(n) / static_cast<double>(of);
        };
        return part(blocks.*which, blocks.all()) + part(blocks.mixed, blocks.all()) * part(tiles.*which, tiles.all());
    }
};
template <class Real, class Predicate>
counted_blocks count_all_blocks(Predicate const& predicate, box const& all, queries_and_keys const& of_block,
                                queries_and_keys const& of_tile) {
    counted_blocks n;
    evenly_drawn<box> some_mixed;
    auto const count = [&](box const& where) {
        n.blocks.add(count_blocks<Real>(predicate, where, of_block, [&](box const& mixed) { some_mixed.add(mixed); }));
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
    for (box const& mixed : some_mixed) n.tiles.add(count_blocks<Real>(predicate, mixed, of_tile, [](box const&) {}));
    return n;
}

namespace detail {
/// True where an index goes one element on, or back, from one lane to the next, as far as no bound holds it.
template <class E, class Lane>
inline constexpr bool steps_with = std::is_same_v<E, Lane>;
template <class A, class B, class Lane>
inline constexpr bool steps_with<node<operations::plus, A, B>, Lane> =
    (steps_with<A, Lane> && !uses<B, Lane>) || (steps_with<B, Lane> && !uses<A, Lane>);
template <class A, class B, class Lane>
inline constexpr bool steps_with<node<operations::minus, A, B>, Lane> = steps_with<node<operations::plus, A, B>, Lane>;
template <class A, class B, class Lane>
inline constexpr bool steps_with<node<operations::min, A, B>, Lane> = steps_with<node<operations::plus, A, B>, Lane>;
template <class A, class B, class Lane>
inline constexpr bool steps_with<node<operations::max, A, B>, Lane> = steps_with<node<operations::plus, A, B>, Lane>;

/// How the elements of a table lie that a vector of lanes reads.
enum class lie { side_by_side, in_another_axis, apart };
template <class Lane, class... Indices>
constexpr lie how_they_lie() {
    constexpr int used = (0 + ... + int{uses<Indices, Lane>}), stepped = (0 + ... + int{steps_with<Indices, Lane>});
    using last = std::tuple_element_t<sizeof...(Indices) - 1, std::tuple<Indices...>>;
    if constexpr (used == 0 || (used == 1 && steps_with<last, Lane>)) return lie::side_by_side;
    else return used == 1 && stepped == 1 ? lie::in_another_axis : lie::apart;
}

/// True where an expression is read once for each query or key, or row by row, whatever is in lanes.
template <class E>
inline constexpr bool is_read_before = is_index_term<side::query, E> || is_index_term<side::key, E> || is_pair_read<E>;

/// Calls f with each read of a table for each pair whose elements do not lie side by side, and how they lie.
template <class Lane, class E, class F>
void for_each_gather(E const&, F const&) {}
template <class Lane, class T, int Rank, class... Indices, class F>
void for_each_gather(node<at_operation, parameter<T, Rank>, Indices...> const& e, F const& f) {
    if constexpr (sizeof...(Indices) > 0 && !is_read_before<node<at_operation, parameter<T, Rank>, Indices...>>)
        if constexpr (constexpr lie how = how_they_lie<Lane, Indices...>(); how != lie::side_by_side) f(e, how);
}
template <class Lane, class Operation, class... Children, class F>
void for_each_gather(node<Operation, Children...> const& e, F const& f) {
    if constexpr (!is_read_before<node<Operation, Children...>>)
        with_children(e, [&](auto const&... children) { (for_each_gather<Lane>(children, f), ...); });
}

/// The operations of an expression.
template <class E>
inline constexpr index_t operations_in = 0;
template <class Operation, class... Children>
inline constexpr index_t operations_in<node<Operation, Children...>> = (1 + ... + operations_in<Children>);
}  // namespace detail

/// "param[kv_idx, q_idx] is read element by element: ..." for the reads of an expression in vectors along a lane.
template <class Lane, class E>
void explain_gathers(E const& e, index_t lanes, std::vector<std::string>& sentences) {
    detail::for_each_gather<Lane>(e, [&](auto const& read, detail::lie how) {
        std::string const name(Lane::name.view());
        sentences.push_back(print(read) + " is read element by element for each pair, " + std::to_string(lanes)
                            + " loads where a vector is 1: "
                            + (how == detail::lie::in_another_axis
                                   ? "with the index that has " + name + " last, it would be read in vectors"
                                   : "elements for adjacent " + name
                                         + " are not adjacent; a table by (q_idx, kv_idx), made before, would be"));
    });
}

/// The sums for each pair of a lowered score, but squared distances over few features, of which a product costs as
/// much.
template <class Pairs>
void explain_sums(Pairs const& pairs, call_plan const& how, index_t features, index_t key_features,
                  std::vector<std::string>& sentences) {
    for_each_part(pairs, [&]<class Pair>(Pair const& pair) {
        if constexpr (Pair::sums_squares) {
            if (how.keys != reading::packed && pair.over.of(features, key_features).count >= least_multiplied_features)
                sentences.push_back("sum(" + print(pair.body) + ") is added up for each pair: with more than "
                                    + std::to_string(how.blocks.tile_rows)
                                    + " queries for the same keys, it is made of a matrix product");
        } else if (!multiplies_row(how, pair)) {
            constexpr index_t n = detail::operations_in<std::remove_cvref_t<decltype(pair.body)>> + 1;
            sentences.push_back("sum(" + print(pair.body) + ") is added up for each pair, with " + std::to_string(n)
                                + " operations for each feature where a matrix product has 1: "
                                + (Pair::query_times_row
                                       ? "heads that share keys share the rows of a product, too, where its table has "
                                         "no index by head"
                                   : Pair::key_times_row
                                       ? "keys are multiplied with rows of a table where many queries share them, and "
                                         "heads that share keys where the table has no index by head"
                                   : Pair::reads_rows
                                       ? "what is of the query, or of the key, times a row that the pair chooses along "
                                         "one axis of a table, is a product: how_to/relative_positions.md"
                                       : "factors of q times factors of k, and square(q - k), are products"));
        }
    });
}

/// About how many of 100 pairs a condition shows, from some that are drawn in the first batch element and head.
template <class Real, class Predicate>
index_t visible_percent(Predicate const& predicate, box const& all) {
    constexpr index_t draws = 20000;
    index_t seen = 0;
    box one = all;
    one.batch = one.head = {0, 0};
    for (index_t i = 0; i < draws; ++i) {
        auto const below = [&](index_t n, index_t which) {
            return interval<index_t>(static_cast<index_t>(uniform_of_pair(1, 0, which, i, 0) * static_cast<double>(n)));
        };
        one.q_idx = below(all.q_len, 0);
        one.kv_idx = below(all.kv_len, 1);
        seen += bound<Real>(predicate, one).always();
    }
    return (100 * seen + draws / 2) / draws;
}

/// A mask that decides fewer than a quarter of the tiles.
template <class Real, class Predicate>
void explain_undecided(Predicate const& predicate, box const& all, counted_blocks const& n,
                       std::vector<std::string>& sentences) {
    auto const decided = static_cast<index_t>(100 * (n.full() + n.empty()));
    if (n.blocks.all() < 2 || decided >= 25) return;
    index_t const percent = visible_percent<Real>(predicate, all);
    std::string text = "the mask decides " + std::to_string(decided)
                     + " % of the tiles: in the others it is evaluated for each pair, and about "
                     + std::to_string(percent) + " % of all pairs are visible";
    if (percent <= 25) text += "; neighbors(graph) computes only the pairs that it lists";
    else if (!reads_a_table<Predicate>) text += "; a table of it, made before, takes one read";
    sentences.push_back(text);
}

/// The line that says what units for size leave out of a dense call, or nothing.
inline std::string explain_size(call_plan const& how) {
    if (!for_size || how.by == traversal::listed_keys || how.by == traversal::running_state) return "";
    return "built       for size: one orientation, a key in each lane; register tiles of one height; the keys of few "
           "queries are not split; no matrix unit\n";
}

/// A normalizer of whole rows.
inline void explain_whole_rows(call_plan const& how, index_t keys, index_t bytes, std::vector<std::string>& sentences) {
    if (how.by != traversal::whole_rows) return;
    index_t const rows = how.blocks.tile_rows, kib = ceil_div(rows * keys * bytes, index_t{1024}),
                  blocks = ceil_div(keys, how.blocks.block_keys);
    sentences.push_back(
        "whole rows are kept: up to " + std::to_string(rows) + " x " + std::to_string(keys) + " scores, "
        + std::to_string(kib) + " KiB for each thread, "
        + (blocks > 1 ? std::to_string(blocks) + " blocks of keys where an online normalizer, such as softmax, keeps 1"
                      : "1 block of keys, as an online normalizer keeps"));
}

}  // namespace fovea::FOVEA_SET::plan
