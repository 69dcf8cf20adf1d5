// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/arena.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/key_terms.hpp>
#include <fovea/driver/operands.hpp>
#include <fovea/driver/products.hpp>
#include <fovea/driver/row_range.hpp>
#include <fovea/kernel/contract_rows.hpp>
#include <fovea/kernel/prepare.hpp>
#include <fovea/plan/tile.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Values at equal distances.
template <class Value>
struct value_rows {
    Value const* first;
    index_t stride;
};

/// The keys and values of one head, block by block in the layout of the register tiles, or where they lie.
///
/// A block is packed when it is first used. Where all rows fit one block of rows, each block of keys is used
/// once and all share the room of one; otherwise every block is kept for the rows that follow. Where all rows fit one
/// tile, or tiles with a query in each lane take what they do not fit, keys and values are read in place.
///
/// bfloat16 that an architecture multiplies as it is stored is packed as words, two features, or two values, to a lane;
/// values only where weights are rounded to match.
template <class Call>
class packed_keys {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Operands = typename Call::operands;
    using Parts = typename Call::parts;
    using whole = kernel::integer_like<T>;

public:
    using tile = plan::tile<T, Arch>;
    static constexpr bool packs = true;  // what another block of rows finds again
    static constexpr index_t products = plan::count_of<decltype(Parts::products)>;
    static constexpr index_t pairs = plan::count_of<decltype(Parts::pairs)>;
    static constexpr index_t planes =
        products + plan::key_factors_of<decltype(Parts::pairs)>;  // packed copies of the keys
    static constexpr index_t index_terms = plan::count_of<decltype(dense_context<Call>::indices_type::keys)>;
    static constexpr index_t key_terms = plan::count_of<decltype(Parts::keys)>;
    static constexpr bool per_head = plan::any_uses_head<decltype(Parts::keys)>;
    static constexpr index_t lanes = kernel::pack<T, Arch>::lanes;
    /// True where values may be read where they are: in a view, not in pages.
    static constexpr bool has_value_rows = !is_paged<decltype(Operands::value)>;
    using value_type = element_of_rows<decltype(Operands::value)>;
    static constexpr bool converts_values = !std::is_same_v<value_type, T>;
    /// True for a product of operands as they are stored, in words.
    template <class Product>
    static constexpr bool multiplies_words =
        kernel::multiplies_stored<T, Arch, std::remove_cvref_t<decltype(*Operands::query.data)>,
                                  element_of_rows<decltype(Operands::key)>>
        && std::is_same_v<std::remove_cvref_t<decltype(Product::of_query)>, q_t>
        && std::is_same_v<std::remove_cvref_t<decltype(Product::of_key)>, k_t>;
    template <class Product>
    using products_of = std::conditional_t<multiplies_words<Product>, kernel::word_products, kernel::number_products>;
    /// Weights are rounded to bfloat16 where values and results are stored so, and products of it are fast.
    static constexpr bool rounds_weights =
        Call::adds
        && kernel::multiplies_stored<T, Arch, value_type, std::remove_cvref_t<decltype(*Operands::result.data)>>;
    static constexpr bool always_in_place = Call::may_take_query_lanes;
    static constexpr index_t keys_per_row = rounds_weights ? 2 : 1;  // of packed values

    /// Room for `slots` blocks at a time; keys are read where they lie unless the plan packs them.
    packed_keys(dense_context<Call> const& call, arena& memory, index_t slots)
        : call_(call), operands_(call.operands), parts_(call.recipe.score.parts), in_place_(!call.how.packs_keys) {
        auto const& operands = call.operands;
        features_ = operands.key_features();
        value_width_ = value_width(operands);
        direct_values_ = has_value_rows && (in_place_ || !converts_values)
                      && operands.value_features() % (keys_per_row * lanes) == 0 && operands.value_features() > 0;
        blocks_ = (operands.keys() + tile::block_keys - 1) / tile::block_keys;
        slots_ = std::clamp<index_t>(slots, 1, std::max<index_t>(blocks_, 1));
        holds_ = memory.template take<index_t>(slots_);
        factorable_ = memory.template take<bool>(slots_);
        finite_ = memory.template take<signed char>(blocks_);
        keys_ = memory.template take<T>(slots_ * planes * tile::block_keys * features_);
        terms_ = memory.template take<T>(slots_ * term_slots() * tile::block_keys);
        indices_ = memory.template take<whole>(slots_ * index_terms * tile::block_keys);
        if (!direct_values_) values_ = memory.template take<T>(slots_ * tile::block_keys / keys_per_row * value_width_);
    }

    /// Begins with another head: nothing is packed yet.
    void begin(head_group at) {
        batch_ = at.batch;
        head_ = at.head;
        std::fill_n(holds_, slots_, index_t{-1});
        std::fill_n(finite_, blocks_, static_cast<signed char>(-1));
    }

    index_t blocks() const { return blocks_; }
    index_t group() const { return operands_.group(); }
    index_t value_width() const { return value_width_; }
    static index_t value_width(Operands const& operands) {
        return round_up(std::max<index_t>(operands.value_features(), 1), lanes);
    }
    index_t value_features() const { return operands_.value_features(); }

    /// One value as it is stored.
    value_type const* value(index_t block, index_t key) const {
        return operands_.value.place(batch_, head_, first(block) + key, 0);
    }

    /// Keys of a block in the layout of one plane: (panels, features, panel).
    T const* keys(index_t block, index_t plane) const {
        return keys_ + (slot(block) * planes + plane) * tile::block_keys * features_;
    }
    /// Key terms of a block for one head of the group: (terms, keys).
    T const* terms(index_t block, index_t group_head) const {
        return terms_ + (slot(block) * term_slots() + (per_head ? group_head : 0) * key_terms) * tile::block_keys;
    }
    /// Index terms of the keys of a block: (terms, keys).
    kernel::integer_like<T> const* indices(index_t block) const {
        return indices_ + slot(block) * index_terms * tile::block_keys;
    }
    static constexpr index_t term_stride() { return tile::block_keys; }

    /// Calls f(values) with the values of a block from one of its keys on.
    template <class F>
    void with_values(index_t block, index_t key, F const& f) const {
        if (!direct_values_)
            return f(value_rows<T>{packed_values(block) + key / keys_per_row * value_width_, value_width_});
        if constexpr (has_value_rows)
            f(value_rows<value_type>{operands_.value.place(batch_, head_, first(block) + key, 0),
                                     operands_.value.stride(2)});
    }

    /// What is packed after the block that was packed last, where each is read once: keys, and then values.
    kernel::prefetch_queue& prefetches() const { return prefetch_keys_.empty() ? prefetch_values_ : prefetch_keys_; }

    /// True where products are computed with keys in place.
    bool in_place() const { return always_in_place || in_place_; }

    /// Calls f(keys) with the keys of a block from one of its keys on, through a body, for kernel::contract_rows.
    template <class Product, class Body, class F>
    void with_keys(Body const& body, index_t block, index_t key, F const& f) const {
        index_t const from = first(block) + key;
        using element = element_of_rows<decltype(Operands::key)>;
        constexpr auto bytes = static_cast<index_t>(sizeof(element));
        index_t stride = 0;
        if constexpr (!is_paged<decltype(Operands::key)>) stride = operands_.key.stride(2);
        kernel::prefetch_distance const next(features_ * bytes, stride * bytes);
        auto const place = [&](index_t i) FOVEA_LAMBDA { return operands_.key.place(batch_, head_, from + i, 0); };
        if constexpr (multiplies_words<Product>) {  // in pages too: queries have been laid out as words
            if constexpr (is_paged<decltype(Operands::key)>)
                f(kernel::placed_words<Arch, decltype(place)>{place, next});
            else f(kernel::strided_words<Arch>{place(0), stride, next});
        } else if constexpr (std::is_same_v<Body, k_t> && !is_paged<decltype(Operands::key)>) {
            f(kernel::strided_keys<T, Arch, element>{place(0), stride, next});
        } else {
            auto const row = facts(0);
            auto const base = [&](index_t i)
                                  FOVEA_LAMBDA { return kernel::index_environment<T, Arch, index_t>{row, from + i}; };
            f(kernel::evaluated_keys<T, Arch, Body, decltype(place), decltype(base)>{body, place, base, next});
        }
    }

    /// True where all values of the block are finite: then 0 times a value is 0.
    bool finite(index_t block) { return all_finite<T, Arch>(finite_[block], operands_.value, range(block)); }

    /// False where an exponential of the block left its range and pairwise terms must be computed as written.
    bool factorable(index_t block) const { return factorable_[slot(block)]; }

    index_t first(index_t block) const { return block * tile::block_keys; }
    index_t last(index_t block) const { return std::min(first(block) + tile::block_keys, operands_.keys()); }

    /// Packs a block unless it is there.
    void prepare(index_t block, bool = true) {
        if (holds_[slot(block)] == block) return;
        holds_[slot(block)] = block;
        if (!in_place() && slots_ == 1 && block + 1 < blocks_) {
            prefetch_keys_ = lines_of(operands_.key, range(block + 1));
            prefetch_values_ = lines_of(operands_.value, range(block + 1));
        }
        index_t plane = 0;
        plan::for_each_part(parts_.products, [&](auto const& p) {
            if constexpr (!always_in_place)
                if (!in_place_) pack_plane<multiplies_words<std::remove_cvref_t<decltype(p)>>>(block, plane, p.of_key);
            ++plane;
        });
        factorable_[slot(block)] = true;
        plan::for_each_part(parts_.pairs, [&](auto const& pair) {
            plan::for_each_part(pair.factors.keys,
                                [&](auto const& factor) { pack_plane<false>(block, plane++, factor); });
            if constexpr (std::remove_cvref_t<decltype(pair)>::uses_exponentials) check_factors(block);
        });
        if constexpr (key_terms > 0) {
            for (index_t g = 0; g < (per_head ? operands_.group() : 1); ++g) pack_terms(block, g);
        }
        compute_index_terms<T, Arch>(call_.indices.keys, facts(0), first(block), last(block),
                                     indices_ + slot(block) * index_terms * tile::block_keys, tile::block_keys);
        if (!direct_values_) pack_values(block);
    }

    /// The sum of a body over the features of one query and one key, straight from the operands.
    template <class Body>
    T compare(Body const& body, kernel::row_facts const& row, index_t key) const {
        return kernel::sum_features<T, Arch>(body, kernel::index_environment<T, Arch, index_t>{row, key},
                                             operands_.query.place(row.batch, row.head, row.q_idx, 0),
                                             operands_.key.place(batch_, head_, key, 0), features_);
    }

private:
    row_range range(index_t block) const { return {batch_, head_, first(block), last(block)}; }

    T* packed_values(index_t block) const {
        return values_ + slot(block) * tile::block_keys / keys_per_row * value_width_;
    }

    index_t slot(index_t block) const { return slots_ == blocks_ ? block : block % slots_; }
    index_t term_slots() const { return key_terms * (per_head ? operands_.group() : 1); }

    /// Of the first query of a head of the group.
    kernel::row_facts facts(index_t group_head) const { return call_.facts({batch_, head_}, group_head); }

    template <bool Words, class Body>
    void pack_plane(index_t block, index_t plane, [[maybe_unused]] Body const& body) {
        T* const to = keys_ + (slot(block) * planes + plane) * tile::block_keys * features_;
        auto const row = facts(0);
        for (index_t key = first(block); key < last(block); key += tile::panel) {
            if (direct_values_) prefetch_values(key, std::min(key + tile::panel, last(block)));
            auto const place = [&](index_t i) FOVEA_LAMBDA { return operands_.key.place(batch_, head_, key + i, 0); };
            index_t const count = std::min(last(block) - key, tile::panel);
            if constexpr (Words) {
                kernel::transpose_words<Arch>(place, count, tile::panel, operands_.keys() - key, features_,
                                              to + (key - first(block)) * kernel::words_of(features_), tile::panel);
            } else if constexpr (std::is_same_v<Body, k_t> && std::is_same_v<decltype(place(0)), T const*>
                                 && !is_paged<decltype(Operands::key)>) {
                T one[tile::panel];
                std::fill_n(one, count, T{1});
                driver::products<T, Arch>::transpose({{place(0), operands_.key.stride(2)},
                                                      one,
                                                      count,
                                                      tile::panel,
                                                      operands_.keys() - key,
                                                      features_,
                                                      to + (key - first(block)) * features_,
                                                      tile::panel});
            } else {
                kernel::transpose_features<T, Arch>(
                    body, place,
                    [&](index_t i) FOVEA_LAMBDA { return kernel::index_environment<T, Arch, index_t>{row, key + i}; },
                    kernel::unscaled{}, count, tile::panel, operands_.keys() - key, features_,
                    to + (key - first(block)) * features_, tile::panel);
            }
        }
    }

    FOVEA_INLINE void prefetch_values(index_t from, index_t to) const {
        constexpr index_t line = kernel::cache_line / static_cast<index_t>(sizeof(T));
        for (index_t key = from; key < to; ++key)
            for (index_t c = 0; c < operands_.value_features(); c += line)
                __builtin_prefetch(operands_.value.place(batch_, head_, key, c), 0, 2);
    }

    /// Looks at the factors of all pairwise terms; the zeros behind the last key do not count.
    void check_factors(index_t block) {
        for (index_t plane = products; plane < planes; ++plane)
            for (index_t j = 0; j < last(block) - first(block); ++j)
                factorable_[slot(block)] =
                    factorable_[slot(block)]
                    && kernel::within_exponential_range(
                        keys(block, plane) + (j / tile::panel) * tile::panel * features_ + j % tile::panel, features_,
                        tile::panel);
    }

    void pack_terms(index_t block, index_t group_head) {
        index_t const slot_of_head = slot(block) * term_slots() + (per_head ? group_head : 0) * key_terms;
        T* const to = terms_ + slot_of_head * tile::block_keys;
        std::fill_n(to, key_terms * tile::block_keys, T{0});  // behind the last key too
        compute_key_terms<T, Arch>(parts_.keys, facts(group_head), operands_.key, range(block), to, tile::block_keys);
    }

    void pack_values(index_t block) {
        T* const to = packed_values(block);
        index_t const n = operands_.value_features();
        for (index_t k = first(block); k < last(block); k += keys_per_row) {
            auto const* from = operands_.value.place(batch_, head_, k, 0);
            T* const row = to + (k - first(block)) / keys_per_row * value_width_;
            if constexpr (rounds_weights)
                kernel::interleave_rows<Arch>(
                    from, k + 1 < last(block) ? operands_.value.place(batch_, head_, k + 1, 0) : nullptr, n, row);
            else
                for (index_t c = 0; c < n; c += lanes) kernel::load_as<T, Arch>(from + c, n - c).store(row + c);
            std::fill(row + round_up(n, lanes), row + value_width_, T{0});
        }
    }

    dense_context<Call> const& call_;
    Operands const& operands_;
    Parts const& parts_;
    index_t batch_ = 0, head_ = 0, features_ = 0, value_width_ = 0, blocks_ = 0, slots_ = 0;
    bool in_place_ = false, direct_values_ = false;
    mutable kernel::prefetch_queue prefetch_keys_, prefetch_values_;
    index_t* holds_ = nullptr;       // (slots) the block that a slot holds
    bool* factorable_ = nullptr;     // (slots)
    signed char* finite_ = nullptr;  // (blocks) -1 unknown, 0 no, 1 yes
    T* keys_ = nullptr;              // (slots, planes, panels, features, panel)
    T* terms_ = nullptr;             // (slots, heads, terms, keys)
    whole* indices_ = nullptr;       // (slots, index terms, keys)
    T* values_ = nullptr;            // (slots, keys, value_width)
};

}  // namespace fovea::FOVEA_SET::driver
