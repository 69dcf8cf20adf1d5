// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/bound.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/reference/environment.hpp>
#include <fovea/spec/concepts.hpp>
#include <fovea/testing/random.hpp>

namespace fovea::FOVEA_SET::testing {

/// The lengths a law is tried with; tables inside a mask or a score must be large enough for them.
struct lengths {
    index_t queries = 29, keys = 31, heads = 4, batches = 2;
};

namespace detail {
inline reference::index_environment<double> pair_at(index_t b, index_t h, index_t i, index_t j, lengths const& n) {
    return {{}, b, h, i, j, n.queries, n.keys, 16};
}

inline std::string pair_text(index_t b, index_t h, index_t i, index_t j) {
    return "batch " + std::to_string(b) + ", head " + std::to_string(h) + ", q_idx " + std::to_string(i) + ", kv_idx "
         + std::to_string(j);
}

inline interval<index_t> random_range(dice& from, index_t size) {
    auto const a = from.between(0, size - 1), b = from.between(0, size - 1);
    return {std::min(a, b), std::max(a, b)};
}

inline box random_box(dice& from, lengths const& n) {
    return {random_range(from, n.batches),
            random_range(from, n.heads),
            random_range(from, n.queries),
            random_range(from, n.keys),
            n.queries,
            n.keys,
            16};
}

/// Calls f(batch, head, query, key) for the pairs of a box.
template <class F>
void for_each_pair(box const& where, F const& f) {
    for (index_t b = where.batch.lo; b <= where.batch.hi; ++b)
        for (index_t h = where.head.lo; h <= where.head.hi; ++h)
            for (index_t i = where.q_idx.lo; i <= where.q_idx.hi; ++i)
                for (index_t j = where.kv_idx.lo; j <= where.kv_idx.hi; ++j) f(b, h, i, j);
}

inline box whole(lengths const& n) {
    return {{0, n.batches - 1}, {0, n.heads - 1}, {0, n.queries - 1}, {0, n.keys - 1}, n.queries, n.keys, 16};
}

/// Intervals over a box hold for every pair in it, and a box of one pair is settled: at least where no
/// number is a NaN.
template <class E>
void check_condition_bounds(E const& condition, lengths const& n, unsigned seed, bool has_nan = false) {
    dice random(seed);
    auto const check = [&](box const& where) {
        truth const said = bound(condition, where);
        for_each_pair(where, [&](index_t b, index_t h, index_t i, index_t j) {
            bool const holds = evaluate(condition, pair_at(b, h, i, j, n));
            law(holds ? said.may_hold : said.may_fail, "what intervals say of a box holds for every pair in it", [&] {
                return print(condition) + (holds ? " holds for " : " fails for ") + pair_text(b, h, i, j)
                     + ", against what was said of its box";
            });
            truth const here = bound(condition, box{b, h, i, j, n.queries, n.keys, 16});
            law(has_nan || (here.may_hold == holds && here.may_fail == !holds), "a box of one pair is settled",
                [&] { return print(condition) + " at " + pair_text(b, h, i, j); });
        });
    };
    check(whole(n));
    for (int trial = 0; trial < 40; ++trial) check(random_box(random, n));
}

/// Two conditions agree on every pair.
template <class A, class B>
void check_same_condition(char const* sentence, A const& a, B const& b, lengths const& n) {
    for_each_pair(whole(n), [&](index_t batch, index_t head, index_t i, index_t j) {
        auto const at = pair_at(batch, head, i, j, n);
        law(evaluate(a, at) == evaluate(b, at), sentence,
            [&] { return print(a) + " and " + print(b) + " differ for " + pair_text(batch, head, i, j); });
    });
}
}  // namespace detail

/// check_mask_laws: what has to hold for every mask.
///
///     a box that is said to be full (empty) has only (no) visible pairs, and a box of one pair is settled
///     m && full = m,  m || empty = m,  !!m = m,  m && !m = empty,  m || !m = full
///
/// Errors: law_broken naming the law and the pair.
template <mask M>
void check_mask_laws(M const& m, lengths const& n = {}, unsigned seed = 1) {
    auto const p = m.predicate();
    detail::check_condition_bounds(p, n, seed);
    auto const all = [&](bool value) { return literal<bool>{value}; };
    detail::check_same_condition("m && full = m", p && all(true), p, n);
    detail::check_same_condition("m || empty = m", p || all(false), p, n);
    detail::check_same_condition("!!m = m", !!p, p, n);
    detail::check_same_condition("m && !m = empty", p && !p, all(false), n);
    detail::check_same_condition("m || !m = full", p || !p, all(true), n);
    detail::check_condition_bounds(!p, n, seed + 1);
    if constexpr (enumerating_mask<M>) m.neighbor_list().check(n.queries, n.keys);
}

/// The laws of two masks together: De Morgan's, and that both and either are what they say.
template <mask A, mask B>
void check_mask_laws(A const& a, B const& b, lengths const& n = {}, unsigned seed = 1) {
    auto const p = a.predicate();
    auto const q = b.predicate();
    detail::check_same_condition("!(a && b) = !a || !b", !(p && q), !p || !q, n);
    detail::check_same_condition("!(a || b) = !a && !b", !(p || q), !p && !q, n);
    detail::check_same_condition("a && b = b && a", p && q, q && p, n);
    detail::check_condition_bounds(p && q, n, seed);
    detail::check_condition_bounds(p || q, n, seed + 1);
}

}  // namespace fovea::FOVEA_SET::testing
