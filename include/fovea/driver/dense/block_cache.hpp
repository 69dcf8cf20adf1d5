// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The keys and the values of one head, block by block: where they lie, as the plan says, and what is known of them.
#pragma once

#include <fovea/driver/call/row_runs.hpp>
#include <fovea/driver/dense/block_functions.hpp>
#include <fovea/driver/dense/table_panels.hpp>
#include <fovea/driver/run/workspace.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Cache of the blocks of keys or values of a head: a entry is filled when its block is first prepared, and the lines
/// of the next block are prefetched.
template <class Blocking>
class block_cache {
    static constexpr index_t cached = index_t{1} << 19;  // bytes that stay in the L2 cache

public:
    using T = typename Blocking::number;
    using element = typename Blocking::element;
    static constexpr auto size = static_cast<index_t>(sizeof(T)), element_size = static_cast<index_t>(sizeof(element));
    static constexpr index_t elements_per_number = size / element_size;
    /// The distance between copied rows of so many numbers: whole cache lines for each part.
    static constexpr index_t copied_stride(index_t features, int parts) {
        return parts * round_up(features, 64 / element_size);
    }

    /// Layout of the block cache. Keys in lanes: `entries` entries, replaced round-robin, enough for every block that a
    /// block of rows sees. Queries in lanes, where blocks cost less to make: the first blocks stay resident where they
    /// are used again, up to the size of the L2 cache; the last entry is shared by all others.
    struct memory_for {
        index_t entry_elements, entries;
        index_t stride;  // of copies; 0 where rows are not copied
        index_t loaded;  // elements for rows that are loaded: (rows_at_once, loaded_stride)
    };

    FOVEA_CONTROL block_cache(dense_rows const& call, stored_rows const& rows, arena& memory, memory_for const& wanted)
        : call_(call),
          rows_(rows),
          blocks_(ceil_div(call.keys, Blocking::block_keys)),
          entry_elements_(wanted.entry_elements),
          entries_(std::clamp<index_t>(wanted.entries, 1, std::max<index_t>(blocks_, 1))),
          steps_per_line_(Blocking::steps_per_line(ceil_div(call.rows, Blocking::register_rows))),
          stride_(wanted.stride),
          prefetches_(
              plan::compiled.prefetches
              && (Blocking::queries_in_lanes || (entries_ == 1 && call.planned.keys != plan::reading::in_place))),
          stays_cached_(call.keys * (call.features + call.value_features) * size <= cached),
          holds_(memory.template take<contents>(entries_)) {
        if (entry_elements_ > 0) memory_ = memory.template take<T>(entries_ * entry_elements_);
        if (rows.run != nullptr && prefetches_) places_ = memory.template take<char const*>(Blocking::block_keys);
        if (wanted.loaded > 0) loaded_ = memory.template take<T>(wanted.loaded);
    }

    /// Another head: nothing is known of it yet.
    void begin(head_group heads) {
        heads_ = heads;
        reached_ = 0;
        std::fill_n(holds_, entries_, contents{});
    }

    head_group heads() const { return heads_; }
    index_t blocks() const { return blocks_; }
    index_t entries() const { return entries_; }
    index_t first(index_t block) const { return block * Blocking::block_keys; }
    index_t last(index_t block) const { return std::min(first(block) + Blocking::block_keys, call_.keys); }
    /// The rows of a block, or `count` rows from a position on.
    row_range range(index_t block) const { return rows(first(block), last(block) - first(block)); }
    row_range rows(index_t position, index_t count) const {
        return {heads_.batch, call_.key_head(heads_), position, position + count};
    }

    index_t stride() const { return stride_; }
    /// Memory for rows that are loaded: (rows_at_once, loaded_stride).
    T* loaded() const { return loaded_; }
    /// `count` rows from a position of a block that has been prepared on, or the first of them, as they are stored or
    /// copied: with queries in lanes.
    row_run<element> operator()(index_t position, index_t count) const {
        if (stride_ == 0) {
            auto const run = rows_.from(heads_.batch, call_.key_head(heads_), position, count);
            return {reinterpret_cast<element const*>(run.first), run.stride / element_size, run.count};
        }
        index_t const block = position / Blocking::block_keys;
        return {copies(block) + (position - first(block)) * stride_, stride_, count};
    }
    /// Where the rows of a block are copied: (block_keys, stride).
    element* copies(index_t block) const { return reinterpret_cast<element*>(entry(block)); }

protected:
    /// True where the entry of a block held another one, or none, and what it holds must be made. The block after it is
    /// prefetched, unless the cache has it.
    [[gnu::noinline]] bool put(index_t block, kernel::prefetch_queue& next) {
        auto& held = holds_[entry_of(block)];
        bool const makes = held.block != block;
        if (makes) held = {block};
        if (plan::compiled.prefetches && prefetches_ && (makes || Blocking::queries_in_lanes) && block + 1 < blocks_
            && (block + 1 >= reached_ || !stays_cached_))
            next = lines_of(rows_, range(block + 1), steps_per_line_, places_);
        reached_ = std::max(reached_, block + 2);
        return makes;
    }
    index_t entry_of(index_t block) const {
        if (entries_ == blocks_) return block;
        return Blocking::queries_in_lanes ? std::min(block, entries_ - 1) : block % entries_;
    }
    T* entry(index_t block) const { return memory_ + entry_of(block) * entry_elements_; }

    /// False where an exponential of the block left its range and pairwise terms must be computed as written.
    bool& factorable(index_t block) const { return holds_[entry_of(block)].factorable; }

    /// The entries for copies with queries in lanes.
    static index_t kept(dense_rows const& call, index_t entry_elements) {
        return call.rows > Blocking::block_rows ? cached / size / std::max<index_t>(entry_elements, 1) : 1;
    }

private:
    struct contents {
        index_t block = -1;  // that a entry holds
        bool factorable = true;
    };

    dense_rows const& call_;
    stored_rows const& rows_;
    head_group heads_{};
    index_t blocks_, entry_elements_, entries_, steps_per_line_, stride_;
    bool prefetches_, stays_cached_;
    index_t reached_ = 0;  // blocks before it have been used or prefetched for this head
    contents* holds_;      // (entries)
    T* memory_ = nullptr;  // (entries, entry_elements)
    T* loaded_ = nullptr;
    char const** places_ = nullptr;  // of the rows of the next block: (block_keys)
};

/// A property of each block of a head, found when it is first asked for.
class lazy_flags {
public:
    lazy_flags(arena& memory, index_t blocks) : answers_(memory.take<answer>(blocks)), blocks_(blocks) {}

    /// Another head: nothing is known.
    void clear() { std::fill_n(answers_, blocks_, answer::unknown); }
    template <class Find>
    bool of(index_t block, Find const& find) const {
        auto& known = answers_[block];
        if (known == answer::unknown) known = find() ? answer::yes : answer::no;
        return known == answer::yes;
    }

private:
    enum class answer : char { unknown, no, yes };
    answer* answers_;
    index_t blocks_;
};

/// The keys of one head, in place, copied, or packed in the layout of the register tiles, and what a score reads of
/// them beside.
template <class Blocking>
class head_keys : public block_cache<Blocking> {
    using base = block_cache<Blocking>;

public:
    using typename base::T;
    using integer = std::conditional_t<Blocking::queries_in_lanes, index_t, kernel::integer_like<T>>;

    head_keys(score_call<Blocking> const& call, arena& memory, index_t entries)
        : base(call, call.key, memory, wanted(call, entries)),
          call_(call),
          per_key_(this->stride() / base::elements_per_number + call.functions.planes * call.summed.most
                   + call.functions.squares),
          indices_(memory.template take<integer>(this->entries() * call.functions.key_indices * Blocking::block_keys)),
          centre_(memory.template take<T>(call.functions.squares > 0 ? 3 * call.summed.most : 0)),
          tables_(memory, Blocking::queries_in_lanes ? 0 : call.functions.tables, call.summed.most),
          key_tables_(memory, in_place() ? 0 : call.functions.key_tables, call.summed.most) {}

    void begin(head_group heads) {
        base::begin(heads);
        tables_.clear();
        key_tables_.clear();
    }

    /// Packs, or copies, a block and computes its terms unless that is done.
    void prepare(index_t block, next_lines& next) {
        if (this->put(block, next.keys)) call_.functions.prepare(call_, *this, block);
    }

    bool in_place() const { return call_.planned.keys == plan::reading::in_place; }

    /// Keys of a block in the layout of one plane: (panels, features, panel), or copies: (keys, stride).
    T* keys(index_t block, index_t plane) const {
        return this->entry(block) + plane * Blocking::block_keys * call_.summed.most;
    }
    /// Key terms of a block for one head of the group: (terms, block_keys).
    T* terms(index_t block, index_t group_head) const {
        index_t const before = call_.functions.terms_per_head ? group_head * call_.functions.key_terms : 0;
        return this->entry(block) + (per_key_ + before) * Blocking::block_keys;
    }
    /// The centre of one squared distance after the other: (3, features).
    T* centre() const { return centre_; }
    /// Squared norms of the keys of a block: (squares, block_keys).
    T* norms(index_t block) const {
        return this->entry(block) + (per_key_ - call_.functions.squares) * Blocking::block_keys;
    }
    /// Index terms of the keys of a block: (terms, block_keys).
    integer* indices(index_t block) const {
        return indices_ + this->entry_of(block) * call_.functions.key_indices * Blocking::block_keys;
    }
    using base::factorable;
    /// Rows of tables that scores read for each pair.
    table_panels<Blocking> const& tables() const { return tables_; }
    key_table_panels<Blocking> const& key_tables() const { return key_tables_; }

private:
    static typename base::memory_for wanted(score_call<Blocking> const& call, index_t entries) {
        auto const& functions = call.functions;
        bool const copied = Blocking::queries_in_lanes && call.planned.keys != plan::reading::in_place;
        index_t const stride = copied ? base::copied_stride(call.features, Blocking::parts::key) : 0,
                      terms = functions.key_terms * (functions.terms_per_head ? call.tile_heads : 1),
                      elements = (stride / base::elements_per_number + functions.planes * call.summed.most
                                  + functions.squares + terms)
                               * Blocking::block_keys;
        if (Blocking::queries_in_lanes)
            entries = base::kept(call, elements + 2 * functions.key_indices * Blocking::block_keys);
        return {elements, entries, stride,
                functions.loads_keys ? rows_at_once * loaded_stride<T>(call.key_features) : 0};
    }

    score_call<Blocking> const& call_;
    index_t per_key_;   // elements of planes and norms, or a copy
    integer* indices_;  // (entries, index terms, block_keys)
    T* centre_;
    table_panels<Blocking> tables_;
    key_table_panels<Blocking> key_tables_;
};

/// The values of one head, in place or copied as numbers of type T, and whether they are finite.
template <class Blocking>
class head_values : public block_cache<Blocking> {
    using base = block_cache<Blocking>;

public:
    using typename base::T;

    head_values(attention_call<Blocking> const& call, arena& memory, index_t entries)
        : base(call, call.value, memory, wanted(call, entries)), call_(call), finite_(memory, this->blocks()) {}

    void begin(head_group heads) {
        base::begin(heads);
        finite_.clear();
    }

    /// Copies a block unless it is there, or is read in place.
    void prepare(index_t block, next_lines& next) {
        if (this->put(block, next.values) && !in_place()) call_.sums.copy(call_, *this, block);
    }

    bool in_place() const { return this->stride() == 0; }
    /// A copy, from a position of a block on: (keys / keys_per_row, stride).
    T* copy(index_t position) const {
        index_t const block = position / Blocking::block_keys;
        return this->entry(block) + (position - this->first(block)) / call_.sums.keys_per_row * this->stride();
    }

    /// True where all values of a block are finite: then 0 times a value is 0. Found when it is first asked.
    bool finite(index_t block) const {
        return finite_.of(block, [&] { return call_.sums.all_finite(call_, this->range(block)); });
    }

private:
    static typename base::memory_for wanted(attention_call<Blocking> const& call, index_t entries) {
        index_t const stride = call.planned.values == plan::reading::in_place ? 0
                             : Blocking::queries_in_lanes
                                 ? base::copied_stride(call.value_features, Blocking::parts::value)
                                 : call.value_width(),
                      elements = Blocking::block_keys / call.sums.keys_per_row * stride / base::elements_per_number;
        return {elements, Blocking::queries_in_lanes ? base::kept(call, elements) : entries, stride,
                call.sums.loads_values ? rows_at_once * loaded_stride<T>(call.value_features) : 0};
    }

    attention_call<Blocking> const& call_;
    lazy_flags finite_;
};

}  // namespace fovea::FOVEA_SET::driver
