// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The keys and values of one head as a gradient pass reads them, packed for scores and, transposed, for sums over keys.
#pragma once

#include <fovea/driver/call/row_runs.hpp>
#include <fovea/driver/dense/backward/key_sums.hpp>
#include <fovea/driver/dense/backward/score_gradient.hpp>
#include <fovea/driver/dense/block_cache.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/query_lanes_products.hpp>
#include <fovea/plan/lower.hpp>
#include <fovea/plan/lowered_spec.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Keys stand for values in dQ^T += K^T dS^T: as they are read for scores.
template <class Blocking>
class transposed_keys {
public:
    transposed_keys(score_call<Blocking> const&, arena&) {}
    void begin(head_group) {}
    template <class Rows>
    static auto run(Rows const&, head_keys<Blocking> const& keys, index_t position, index_t count) {
        return keys(position, count);
    }
};

/// Packed as values are for a product that packs them, block by block, when a block is first asked for.
template <class Blocking>
    requires(Blocking::queries_in_lanes && Blocking::packs_values)
class transposed_keys<Blocking> : public block_cache<Blocking> {
    using base = block_cache<Blocking>;
    using product = lane_products_of<Blocking>;

public:
    transposed_keys(score_call<Blocking> const& call, arena& memory) : base(call, call.key, memory, wanted(call)) {}

    template <class Rows>
    row_run<typename base::element> run(Rows const& rows, head_keys<Blocking> const&, index_t position, index_t count) {
        index_t const block = position / Blocking::block_keys;
        kernel::prefetch_queue read;  // with the keys of scores
        if (this->put(block, read)) {
            auto const all = this->range(block);
            product::pack_values(row_addresses<Rows, Blocking::block_keys>(rows, all), all.last - all.first,
                                 rows.extent(3), this->copies(block));
        }
        return (*this)(position, count);
    }

private:
    static typename base::memory_for wanted(score_call<Blocking> const& call) {
        index_t const stride = base::copied_stride(call.features, Blocking::parts::value),
                      elements = Blocking::block_keys * stride / base::elements_per_number;
        return {elements, base::kept(call, elements), stride, 0};
    }
};

/// dO V^T as a call of scores: values stand for keys.
template <class Call, class ValueRows, class D>
struct values_of_gradient {
    using product = decltype(plan::lowered_score{plan::lower_for<false>(sum(q_t{} * k_t{})), always_t{}});
    using operands = score_operands<D, ValueRows>;
    using call = plan::score_types<typename Call::number, typename Call::architecture, product, operands,
                                   typename Call::query_lanes>;
};

/// The keys and values of one head, and their gradients, which are summed over all heads that share them.
///
/// Memory: of all keys of a head, for a worker, or for a task where heads are split: the sums of keys and values, of a
/// mapped key of a product two rows more, and the terms of a key for each head that shares it, if they depend on the
/// head.
template <class Call, class Blocking>
class gradient_blocks {
    using T = typename Blocking::number;
    using Arch = typename Blocking::architecture;
    using score = typename Call::score_type;
    using factors = typename score::factors;

public:
    using number = T;
    head_keys<Blocking> keys, values;
    key_sums<Blocking> const adds;  // to the sums of keys
    typename score::of_key_tables const key_tables;
    next_lines next{};

    static constexpr bool packs = !Blocking::queries_in_lanes;
    /// `sums`: where the sums go that finish() leaves there, (sums_of(call)); nullptr for those of whole heads, which
    /// it writes.
    gradient_blocks(Call const& call, arena& memory, index_t entries, T* sums)
        : keys(call, memory, entries),
          values(call.values, memory, entries),
          adds(memory),
          key_tables(call, memory),
          transposed_(call, memory),
          call_(call),
          width_(score::width(call)),
          splits_(sums != nullptr),
          sums_(splits_ ? sums : memory.template take<T>(sums_of(call))),
          d_values_(sums_ + of_keys(call)),
          d_terms_(d_values_ + of_values(call)),
          d_factors_(d_terms_ + of_terms(call)),
          mapped_(memory.template take<T>(score::mapped_keys * call.keys * width_)),
          finite_(memory, keys.blocks()),
          amounts_(memory.template take<T>(factors::any ? width_ : 0)) {}

    /// The numbers of all sums of a head.
    static index_t sums_of(Call const& call) {
        return of_keys(call) + of_values(call) + of_terms(call)
             + whole_lines(factors::of_keys * factors::of_head(call));
    }

    void begin(head_group heads_of_tile) {
        keys.begin(heads_of_tile);
        values.begin(heads_of_tile);
        transposed_.begin(heads_of_tile);
        if (heads_of_tile.index % call_.per_key_head != 0) return;  // another head that shares them
        std::fill_n(sums_, sums_of(call_), T{0});
        finite_.clear();
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
        if (!call_.backward.wanted.of_keys || splits_ || (keys.heads().index + 1) % call_.per_key_head != 0) return;
        if constexpr (finishes_keys) finish_keys();
        write(call_, sums_, keys.heads(), {0, call_.keys});
    }
    /// Adds the gradients of terms and mapped keys to sums that have been joined from all tasks of a head, the last
    /// that shares them.
    static constexpr bool finishes_keys = score::mapped_keys + score::key_terms + factors::of_keys > 0;
    void finish_joined(head_group heads_of_tile)
        requires finishes_keys
    {
        keys.begin(heads_of_tile);
        finish_keys();
    }
    /// The gradients of some keys and values of a head, from its sums.
    static void write(Call const& call, T const* sums, head_group of, index_range some) {
        index_t const head = call.key_head(of), features = call.values.key_features;
        T const *const d_keys = sums, *const d_values = sums + of_keys(call);
        for (index_t k = some.first; k < some.last; ++k) {
            call.backward.leave(d_keys + k * score::width(call), call.key_features,
                                call.backward.d_key.place(of.batch, head, k, 0));
            call.backward.leave(d_values + k * width(features), features,
                                call.backward.d_value.place(of.batch, head, k, 0));
        }
    }

    T* d_key(index_t key) const { return sums_ + key * width_; }
    T* d_value(index_t key) const { return d_values_ + key * width(call_.values.key_features); }
    /// Of product n, whose key is mapped: B, and its gradient.
    T* mapped_key(index_t n, index_t key) const { return mapped_ + (plane_of(n) * call_.keys + key) * width_; }
    T* d_mapped_key(index_t n, index_t key) const { return sums_ + ((1 + plane_of(n)) * call_.keys + key) * width_; }
    /// The sums of key terms for a head: (terms, term_stride).
    T* d_terms(index_t head) const {
        return d_terms_ + (score::terms_per_head ? head % heads() * score::key_terms * term_stride() : 0);
    }
    T* d_factors() const { return d_factors_; }  // of pairs, as driver/dense/backward/factor_gradient.hpp has them
    static index_t term_stride(Call const& call) { return round_up(call.keys, Blocking::panel); }
    index_t term_stride() const { return term_stride(call_); }

    /// Keys of a block that stand for values: `count` from a position on, or the first of them.
    auto keys_as_values(index_t position, index_t count) {
        return transposed_.run(call_.operands.key, keys, position, count);
    }
    /// True where all keys of a block are finite.
    bool finite(index_t block) const {
        return finite_.of(block, [&] { return all_finite<T, Arch>(call_.operands.key, keys.range(block)); });
    }

private:
    static index_t width(index_t features) { return round_up(features, kernel::pack<T, Arch>::lanes); }
    /// Heads that have sums of terms of their own.
    static index_t heads(Call const& call) { return score::terms_per_head ? call.per_key_head * call.tile_heads : 1; }
    index_t heads() const { return heads(call_); }
    static index_t whole_lines(index_t numbers) { return round_up(numbers, 64 / index_t{sizeof(T)}); }
    static index_t of_keys(Call const& call) {
        return whole_lines(rows_of_sums((1 + score::mapped_keys) * call.keys) * score::width(call));
    }
    static index_t of_values(Call const& call) {
        return whole_lines(rows_of_sums(call.keys) * width(call.values.key_features));
    }
    /// Rows that are added to as whole tiles, of which some may not exist.
    static index_t rows_of_sums(index_t keys) {
        return key_sums<Blocking>::packs ? round_up(keys, Blocking::panel) : keys;
    }
    static index_t of_terms(Call const& call) {
        return whole_lines(heads(call) * score::key_terms * term_stride(call));
    }
    /// The number of a product among those whose keys are mapped.
    index_t plane_of(index_t product) const {
        index_t plane = 0;
        score::for_products(call_, [&](auto const& p, index_t n) {
            if (n < product && !score::template has_plain_key<decltype(p)>) ++plane;
        });
        return plane;
    }

    /// Adds the gradients of terms and mapped keys to the features of keys, and to tables.
    void finish_keys() const {
        auto const of = keys.heads();
        index_t const key_head = call_.key_head(of), last = (key_head + 1) * call_.per_key_head * call_.tile_heads;
        auto const tables = call_.tables.of_task(call_.task_of(of, call_.rows - 1));
        auto coordinates = call_.coordinates(of, 0);
        for_runs(call_.operands.key, keys.rows(0, call_.keys), keys.loaded(), [&](auto const& run, index_t from) {
            for (index_t r = 0; r < run.count; ++r) {
                index_t const key = from + r;
                auto const* const features = run.first + r * run.stride;
                score::finish_key_products(
                    call_, coordinates, key, features, [&](index_t n) { return d_mapped_key(n, key); }, d_key(key),
                    tables);
                if constexpr (factors::any)
                    factors::finish_key(call_, coordinates, key, features, d_factors_, amounts_, [&](index_t first) {
                        return typename score::cotangents{nullptr, d_key(key) + first, tables};
                    });
                if constexpr (score::key_terms > 0)
                    for (index_t head = last - heads(); head < last; ++head) {
                        coordinates.head = head;
                        score::finish_key_terms(call_, coordinates, key, features, d_terms(head) + key, term_stride(),
                                                d_key(key), tables);
                    }
            }
        });
    }

    FOVEA_NO_UNIQUE_ADDRESS transposed_keys<Blocking> transposed_;
    Call const& call_;
    index_t width_;
    bool splits_;
    T* sums_;                              // those of keys first: (1 + mapped keys, keys, width)
    T *d_values_, *d_terms_, *d_factors_;  // (keys, width of values), (heads, terms, term_stride)
    T* mapped_;                            // (mapped keys, keys, width)
    lazy_flags finite_;
    T* amounts_;
};

}  // namespace fovea::FOVEA_SET::driver
