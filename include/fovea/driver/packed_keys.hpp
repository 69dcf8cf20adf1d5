// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/arena.hpp>
#include <fovea/driver/operands.hpp>
#include <fovea/kernel/prepare.hpp>
#include <fovea/plan/tile.hpp>

#include <algorithm>

namespace fovea::driver {

/// The keys and values of one head, block by block in the layout of the register tiles.
///
/// A block is packed when it is first used. Where all rows fit one block of rows, each block of keys is used
/// once and all share the room of one; otherwise every block is kept for the rows that follow.
template <class T, class Arch, class Parts, class Operands>
class packed_keys {
public:
    using tile = plan::tile<T, Arch>;
    static constexpr index_t products = plan::count_of<decltype(Parts::products)>;
    static constexpr index_t pairs = plan::count_of<decltype(Parts::pairs)>;
    static constexpr index_t planes = products + plan::key_factors_of<decltype(Parts::pairs)>;  // packed copies of the keys
    static constexpr index_t key_terms = plan::count_of<decltype(Parts::keys)>;
    static constexpr bool per_head = plan::any_uses_head<decltype(Parts::keys)>;
    static constexpr index_t lanes = kernel::pack<T, Arch>::lanes;
    /// True where values may be read where they are: a view of elements that need no conversion.
    static constexpr bool direct = std::is_same_v<decltype(Operands::value), view<T const, 4>>;

    packed_keys(Operands const& operands, Parts const& parts, arena& memory, bool keep)
        : operands_(operands), parts_(parts) {
        features_ = operands.key_features();
        value_width_ = round_up(std::max<index_t>(operands.value_features(), 1), lanes);
        direct_values_ = direct && operands.value_features() == value_width_;
        blocks_ = (operands.keys() + tile::block_keys - 1) / tile::block_keys;
        slots_ = keep ? std::max<index_t>(blocks_, 1) : 1;
        holds_ = memory.template take<index_t>(slots_);
        factorable_ = memory.template take<bool>(slots_);
        finite_ = memory.template take<signed char>(blocks_);
        keys_ = memory.template take<T>(slots_ * planes * tile::block_keys * features_);
        terms_ = memory.template take<T>(slots_ * term_slots() * tile::block_keys);
        if (!direct_values_) values_ = memory.template take<T>(slots_ * tile::block_keys * value_width_);
    }

    /// Begins with another head: nothing is packed yet.
    void begin(index_t batch, index_t key_head) {
        batch_ = batch;
        head_ = key_head;
        std::fill_n(holds_, slots_, index_t{-1});
        std::fill_n(finite_, blocks_, static_cast<signed char>(-1));
    }

    index_t blocks() const { return blocks_; }
    index_t group() const { return operands_.group(); }
    index_t value_width() const { return value_width_; }

    /// Keys of a block in the layout of one plane: (panels, features, panel).
    T const* keys(index_t block, index_t plane) const {
        return keys_ + (slot(block) * planes + plane) * tile::block_keys * features_;
    }
    /// Key terms of a block for one head of the group: (terms, keys).
    T const* terms(index_t block, index_t group_head) const {
        return terms_ + (slot(block) * term_slots() + (per_head ? group_head : 0) * key_terms) * tile::block_keys;
    }
    static constexpr index_t term_stride() { return tile::block_keys; }

    /// Values of a block: (keys, value_stride).
    T const* values(index_t block) const {
        if (!direct_values_) return values_ + slot(block) * tile::block_keys * value_width_;
        if constexpr (direct)
            return operands_.value.place(batch_, head_, block * tile::block_keys, 0);
        else return nullptr;
    }
    index_t value_stride() const {
        if constexpr (direct)
            if (direct_values_) return operands_.value.stride(2);
        return value_width_;
    }

    /// True where all values of the block are finite: then 0 times a value is 0.
    bool finite(index_t block) {
        auto& known = finite_[block];
        if (known < 0) {
            known = 1;
            for (index_t k = first(block); k < last(block) && known == 1; ++k)
                known = kernel::all_finite<T, Arch>(operands_.value.place(batch_, head_, k, 0), operands_.value_features());
        }
        return known == 1;
    }

    /// False where an exponential of the block left its range and pairwise terms must be computed as written.
    bool factorable(index_t block) const { return factorable_[slot(block)]; }

    index_t first(index_t block) const { return block * tile::block_keys; }
    index_t last(index_t block) const { return std::min(first(block) + tile::block_keys, operands_.keys()); }

    /// Packs a block unless it is there.
    void prepare(index_t block) {
        if (holds_[slot(block)] == block) return;
        holds_[slot(block)] = block;
        index_t plane = 0;
        plan::for_each_part(parts_.products, [&](auto const& p) { pack_plane(block, plane++, p.of_key); });
        factorable_[slot(block)] = true;
        plan::for_each_part(parts_.pairs, [&](auto const& pair) {
            plan::for_each_part(pair.factors.keys, [&](auto const& factor) { pack_plane(block, plane++, factor); });
            if constexpr (std::remove_cvref_t<decltype(pair)>::uses_exponentials) check_factors(block);
        });
        if constexpr (key_terms > 0) {
            for (index_t g = 0; g < (per_head ? operands_.group() : 1); ++g) pack_terms(block, g);
        }
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
    index_t slot(index_t block) const { return slots_ == 1 ? 0 : block; }
    index_t term_slots() const { return key_terms * (per_head ? operands_.group() : 1); }

    kernel::row_facts facts(index_t group_head) const {
        return {batch_, head_ * operands_.group() + group_head, 0, operands_.queries(), operands_.keys(), operands_.features()};
    }

    template <class Body>
    void pack_plane(index_t block, index_t plane, Body const& body) {
        T* const to = keys_ + (slot(block) * planes + plane) * tile::block_keys * features_;
        auto const row = facts(0);
        for (index_t key = first(block); key < last(block); key += tile::panel)
            kernel::transpose_features<T, Arch>(
                body, [&](index_t i) FOVEA_LAMBDA { return operands_.key.place(batch_, head_, key + i, 0); },
                [&](index_t i) FOVEA_LAMBDA { return kernel::index_environment<T, Arch, index_t>{row, key + i}; },
                [](index_t) FOVEA_LAMBDA { return T{1}; }, std::min(last(block) - key, tile::panel), tile::panel,
                operands_.keys() - key, features_,
                to + (key - first(block)) * features_, tile::panel);
    }

    /// Looks at the factors of all pairwise terms; the zeros behind the last key do not count.
    void check_factors(index_t block) {
        for (index_t plane = products; plane < planes; ++plane)
            for (index_t j = 0; j < last(block) - first(block); ++j)
                factorable_[slot(block)] =
                    factorable_[slot(block)] &&
                    kernel::within_exponential_range(
                        keys(block, plane) + (j / tile::panel) * tile::panel * features_ + j % tile::panel, features_,
                        tile::panel);
    }

    void pack_terms(index_t block, index_t group_head) {
        auto const row = facts(group_head);
        index_t term = 0;
        plan::for_each_part(parts_.keys, [&](auto const& t) {
            T* const to = const_cast<T*>(terms(block, group_head)) + term++ * tile::block_keys;
            for (index_t j = 0; j < tile::block_keys; ++j) {
                index_t const key = first(block) + j;
                if (key >= last(block)) {
                    to[j] = T{0};
                    continue;
                }
                auto const* features = operands_.key.place(batch_, head_, key, 0);
                using element = std::remove_cvref_t<decltype(*features)>;
                kernel::single_environment<T, Arch, element, element> const here{
                    {row, key}, features, features, features_, features_};
                to[j] = static_cast<T>(evaluate(t.expression, here));
            }
        });
    }

    void pack_values(index_t block) {
        T* const to = values_ + slot(block) * tile::block_keys * value_width_;
        index_t const n = operands_.value_features();
        for (index_t k = first(block); k < last(block); ++k) {
            auto const* from = operands_.value.place(batch_, head_, k, 0);
            T* const row = to + (k - first(block)) * value_width_;
            for (index_t c = 0; c < n; ++c) row[c] = static_cast<T>(from[c]);
            std::fill(row + n, row + value_width_, T{0});
        }
    }

    Operands const& operands_;
    Parts const& parts_;
    index_t batch_ = 0, head_ = 0, features_ = 0, value_width_ = 0, blocks_ = 0, slots_ = 0;
    bool direct_values_ = false;
    index_t* holds_ = nullptr;      // (slots) the block that a slot holds
    bool* factorable_ = nullptr;     // (slots)
    signed char* finite_ = nullptr;  // (blocks) -1 unknown, 0 no, 1 yes
    T* keys_ = nullptr;             // (slots, planes, panels, features, panel)
    T* terms_ = nullptr;            // (slots, heads, terms, keys)
    T* values_ = nullptr;           // (slots, keys, value_width)
};

}  // namespace fovea::driver
