// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The keys and values of one head in the gradient pass, block by block, and the sums of their gradients.
#pragma once

#include <fovea/driver/all_finite.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/head_rows.hpp>
#include <fovea/driver/dense/score_gradient.hpp>
#include <fovea/plan/lower.hpp>
#include <fovea/plan/lowered_spec.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// dO V^T as a call of scores: values stand for keys.
template <class Call, class ValueRows, class D>
struct values_of_gradient {
    using product = decltype(plan::lowered_score{plan::lower_for<false>(sum(q_t{} * k_t{})), always_t{}});
    using operands = score_operands<D, ValueRows>;
    using call = plan::score_call<typename Call::number, typename Call::architecture, product, operands>;
};

/// The keys and values of one head, and their gradients, which are summed over all heads that share them.
///
/// Memory: of all keys of a head, for a worker: the sums of keys and values, of a mapped key of a product two rows
/// more, and the terms of a key for each head that shares it, if they depend on the head.
template <class Call, class Shape>
class gradient_blocks {
    using T = typename Shape::number;
    using Arch = typename Shape::architecture;
    using score = typename Call::score_type;
    using factors = typename score::factors;

public:
    head_keys<Shape> keys, values;
    next_lines next{};

    static constexpr bool packs = !Shape::queries_in_lanes;
    gradient_blocks(Call const& call, arena& memory, index_t slots)
        : keys(call, memory, slots),
          values(call.values, memory, slots),
          call_(call),
          width_(score::width(call)),
          d_keys_(memory.template take<T>((1 + score::mapped_keys) * call.keys * width_)),
          mapped_(memory.template take<T>(score::mapped_keys * call.keys * width_)),
          d_terms_(memory.template take<T>(heads() * score::key_terms * term_stride())),
          d_values_(memory.template take<T>(call.keys * width(call.values.key_features))),
          finite_(memory.template take<answer>(keys.blocks())),
          d_factors_(memory.template take<T>(factors::of_keys * factors::of_head(call))),
          amounts_(memory.template take<T>(factors::any ? width_ : 0)),
          has_factors_(memory.template take<answer>(factors::any ? keys.blocks() : 0)) {}

    void begin(head_group heads_of_tile) {
        keys.begin(heads_of_tile);
        values.begin(heads_of_tile);
        if (heads_of_tile.index % call_.per_key_head != 0) return;  // another head that shares them
        std::fill_n(d_keys_, (1 + score::mapped_keys) * call_.keys * width_, T{0});
        std::fill_n(d_values_, call_.keys * width(call_.values.key_features), T{0});
        std::fill_n(d_terms_, heads() * score::key_terms * term_stride(), T{0});
        std::fill_n(finite_, keys.blocks(), answer::unknown);
        std::fill_n(d_factors_, factors::of_keys * factors::of_head(call_), T{0});
        std::fill_n(has_factors_, factors::any ? keys.blocks() : 0, answer::unknown);
        if constexpr (score::mapped_keys > 0)
            score::for_products(call_, [&](auto const& p, index_t n) {
                if constexpr (!score::template has_plain_key<decltype(p)>)
                    score::map_keys(call_, keys, p, mapped_ + plane_of(n) * call_.keys * width_);
            });
    }
    index_t first(index_t block) const { return keys.first(block); }
    index_t last(index_t block) const { return keys.last(block); }
    void prepare(index_t block) {
        keys.prepare(block, next);
        values.prepare(block, next);
    }
    void finish() const {
        auto const of = keys.heads();
        if ((of.index + 1) % call_.per_key_head != 0) return;
        if constexpr (score::mapped_keys + score::key_terms + factors::of_keys > 0) finish_keys();
        for (index_t k = 0; k < call_.keys; ++k) {
            std::copy_n(d_key(k), call_.key_features, call_.further.d_key.place(of.batch, call_.key_head(of), k, 0));
            std::copy_n(d_value(k), call_.values.key_features,
                        call_.further.d_value.place(of.batch, call_.key_head(of), k, 0));
        }
    }

    T* d_key(index_t key) const { return d_keys_ + key * width_; }
    T* d_value(index_t key) const { return d_values_ + key * width(call_.values.key_features); }
    /// Of product n, whose key is mapped: B, and its gradient.
    T* mapped_key(index_t n, index_t key) const { return mapped_ + (plane_of(n) * call_.keys + key) * width_; }
    T* d_mapped_key(index_t n, index_t key) const { return d_keys_ + ((1 + plane_of(n)) * call_.keys + key) * width_; }
    /// The sums of key terms for a head: (terms, term_stride).
    T* d_terms(index_t head) const {
        return d_terms_ + (score::terms_per_head ? head % heads() * score::key_terms * term_stride() : 0);
    }
    T* d_factors() const { return d_factors_; }  // of pairs, as driver/dense/factor_gradient.hpp has them
    index_t term_stride() const { return round_up(call_.keys, Shape::panel); }

    /// True where all keys of a block are finite. Found when it is first asked.
    bool finite(index_t block) {
        return known(finite_[block], [&] { return all_finite<T, Arch>(call_.operands.key, keys.range(block)); });
    }
    /// True where pairs with the keys of a block, which is prepared, go back by factors.
    bool has_factors(index_t block) {
        return known(has_factors_[block], [&] { return factors::takes_keys(call_, keys, block); });
    }

private:
    enum class answer : char { unknown, no, yes };
    template <class F>
    static bool known(answer& given, F const& find) {
        if (given == answer::unknown) given = find() ? answer::yes : answer::no;
        return given == answer::yes;
    }
    static index_t width(index_t features) { return round_up(features, kernel::pack<T, Arch>::lanes); }
    /// Heads that have sums of terms of their own.
    index_t heads() const { return score::terms_per_head ? call_.per_key_head * call_.tile_heads : 1; }
    /// The number of a product among those whose keys are mapped.
    index_t plane_of(index_t product) const {
        index_t plane = 0;
        score::for_products(call_, [&](auto const& p, index_t n) {
            if (n < product && !score::template has_plain_key<decltype(p)>) ++plane;
        });
        return plane;
    }

    /// What terms and mapped keys give the features of keys, and tables.
    void finish_keys() const {
        auto const of = keys.heads();
        index_t const key_head = call_.key_head(of), last = (key_head + 1) * call_.per_key_head * call_.tile_heads;
        auto const tables = call_.tables.of_task(of.batch * (call_.head_groups / call_.per_key_head) + key_head);
        auto facts = call_.facts(of, 0);
        for_runs(call_.operands.key, keys.rows(0, call_.keys), keys.loaded(), [&](auto const& run, index_t from) {
            for (index_t r = 0; r < run.count; ++r) {
                index_t const key = from + r;
                auto const* const features = run.first + r * run.stride;
                score::finish_key_products(
                    call_, facts, key, features, [&](index_t n) { return d_mapped_key(n, key); }, d_key(key), tables);
                if constexpr (factors::any)
                    factors::finish_key(call_, facts, key, features, d_factors_, amounts_, [&](index_t first) {
                        return typename score::leaves{nullptr, d_key(key) + first, tables};
                    });
                if constexpr (score::key_terms > 0)
                    for (index_t head = last - heads(); head < last; ++head) {
                        facts.head = head;
                        score::finish_key_terms(call_, facts, key, features, d_terms(head) + key, term_stride(),
                                                d_key(key), tables);
                    }
            }
        });
    }

    Call const& call_;
    index_t width_;
    T *d_keys_, *mapped_;  // (1 + mapped keys, keys, width), (mapped keys, keys, width)
    T* d_terms_;           // (heads, terms, term_stride)
    T* d_values_;          // (keys, width of values)
    answer* finite_;       // (blocks)
    T *d_factors_, *amounts_;
    answer* has_factors_;  // (blocks)
};

/// Calls run_heads(memory, head_groups) for rows that share keys, whose gradients are summed over all of them: each key
/// head is one task, and so are several that share sums of tables.
template <class Call, class Executor, class F>
void for_key_heads(Call const& call, Executor const& executor, workspace& scratch, F const& run_heads) {
    executor.run(call.tables.shares(), [&](index_t share, index_t worker) {
        auto& memory = scratch.worker(worker);
        memory.clear();
        index_range const key_heads{call.tables.first_task(share), call.tables.first_task(share + 1)};
        run_heads(memory, index_range{key_heads.first * call.per_key_head, key_heads.last * call.per_key_head});
    });
    call.tables.join();
}

}  // namespace fovea::FOVEA_SET::driver
