// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sequences of a cache in pages: which page holds which positions of which sequence, whatever is stored in them.
#pragma once

#include <fovea/core/errors.hpp>
#include <fovea/core/index.hpp>
#include <fovea/core/memory.hpp>
#include <fovea/core/view.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET {

/// kv_sizes: the extents of a cache in pages.
struct kv_sizes {
    index_t heads, key_features, value_features;
    index_t pages, page_size;  // how many there are, and the positions of each
};

/// How many elements all pages have of rows of some features, of which each element is a number or a block of several.
/// Errors: shape_error where that is none, no whole blocks, or more bytes than can be counted.
inline index_t elements_of_pages(kv_sizes const& s, index_t features, index_t features_of_element, index_t bytes) {
    if (s.heads < 1 || features < 1 || s.pages < 0 || s.page_size < 1 || features % features_of_element != 0)
        raise_error(shape_error("kv_cache: ", s.heads, " heads of ", detail::counted(features, "feature"), " in ",
                                s.pages, " pages of ", detail::counted(s.page_size, "position"),
                                " are no cache: features are whole blocks"));
    index_t count = bytes;
    bool uncountable = s.pages > std::numeric_limits<std::int32_t>::max();
    for (index_t const n : {s.pages, s.heads, s.page_size, features / features_of_element})
        uncountable |= __builtin_mul_overflow(count, n, &count);
    if (uncountable)
        raise_error(shape_error("kv_cache: ", s.pages, " pages of ", detail::counted(s.page_size, "position"),
                                " are more than can be counted"));
    return count / bytes;
}

/// kv_memory: memory that is given for the pages of what a name says, counted in elements or in bytes.
struct kv_memory {
    std::string name;
    void const* data;
    index_t size, bytes_of_each;

    /// Errors: shape_error where it is smaller than the pages, or not aligned to their elements.
    void check(index_t needed, char const* noun, index_t alignment) const {
        auto const the_memory = "kv_cache: the memory of " + name;
        if (data == nullptr && needed > 0)
            raise_error(shape_error(the_memory, " is null, and the pages need ", detail::counted(needed, noun)));
        if (size < needed)
            raise_error(shape_error(the_memory, " has ", detail::counted(size, noun), ", and the pages need ", needed));
        if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(alignment) != 0)
            raise_error(shape_error(the_memory, " must be aligned to ", detail::counted(alignment, "byte")));
    }
    /// Errors: shape_error where some byte is that of another as well.
    void check_apart(kv_memory const& other) const {
        if (begin() < other.end() && other.begin() < end())
            raise_error(shape_error("kv_cache: the memory of ", name, " overlaps that of ", other.name));
    }
    std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(data); }
    std::uintptr_t end() const { return begin() + static_cast<std::uintptr_t>(size * bytes_of_each); }
};

/// Errors: shape_error where rows to be appended are not those of new positions of one sequence, or cannot be read.
template <class Key, class Value>
void check_appended(kv_sizes const& s, view<Key, 4> const& keys, view<Value, 4> const& values) {
    index_t const count = keys.extent(2);
    extents_t<4> const of_keys{1, s.heads, count, s.key_features}, of_values{1, s.heads, count, s.value_features};
    if (keys.extents != of_keys || values.extents != of_values)
        raise_error(shape_error("kv_cache: keys are ", keys.extents, " and values ", values.extents, ", and must be ",
                                of_keys, " and ", of_values));
    detail::require_sound(detail::region_of(keys, "keys"));
    detail::require_sound(detail::region_of(values, "values"));
}

/// kv_rows: some sequences of a cache as the batch of a call.
struct kv_rows {
    index_t batches = 0, entries = 0;
    std::vector<std::int32_t> table{};  // (batch, page), -1 behind the last page of a sequence
    std::vector<index_t> positions{};   // (batch, slot), -1 where there is none
    std::vector<index_t> lengths{};     // (batch)
};

/// kv_sequences: sequences of positions in pages from a common store, without what the pages hold.
///
/// Position p of a sequence is in slot p % page_size of one of its pages, which stand in the order of their positions.
/// A page goes back to the store once no sequence has a position in it. Errors: shape_error, before anything changes.
class kv_sequences {
public:
    kv_sequences(index_t pages, index_t page_size)
        : page_size_(page_size), owners_(static_cast<std::size_t>(pages)), free_(owners_.size()) {
        std::iota(free_.rbegin(), free_.rend(), 0);
    }

    index_t length(index_t sequence) const { return at(sequence).length; }
    index_t free_pages() const { return static_cast<index_t>(free_.size()); }

    index_t add() {
        auto found = std::find_if(sequences_.begin(), sequences_.end(), [](auto const& each) { return !each.used; });
        if (found == sequences_.end()) found = sequences_.insert(found, sequence_pages{});
        found->used = true;
        return found - sequences_.begin();
    }
    index_t fork(index_t sequence) {
        auto same = at(sequence);
        index_t const number = add();
        for (auto const page : same.pages) ++owners_[static_cast<std::size_t>(page)];
        at(number) = std::move(same);
        return number;
    }

    /// New positions of a sequence: from a slot of the first of these pages on. Where there is a page to be copied,
    /// that comes into the first one before.
    struct extension {
        std::span<std::int32_t const> pages{};
        index_t slot = 0;
        std::int32_t copied = -1;

        /// The page and the slot of the nth new position.
        std::pair<std::int32_t, index_t> place(index_t n, index_t page_size) const {
            index_t const at = slot + n;
            return {pages[static_cast<std::size_t>(at / page_size)], at % page_size};
        }
    };
    extension extend(index_t sequence, index_t count) {
        auto& own = at(sequence);
        if (count == 0) return {};
        index_t const slot = own.length % page_size_, held = std::ssize(own.pages);
        bool const continues = slot > 0 && held > 0 && last_position(own) >= own.length - slot;
        bool const copies = continues && owners_[static_cast<std::size_t>(own.pages.back())] > 1;
        index_t const behind = count - std::min(count, page_size_ - slot),  // the first page
            wanted = index_t{!continues} + index_t{copies} + behind / page_size_ + index_t{behind % page_size_ > 0};
        if (wanted > free_pages())
            raise_error(shape_error("kv_cache: ", detail::counted(count, "position"), " more of sequence ", sequence,
                                    " need ", detail::counted(wanted, "page"), ", and ", free_pages(), " are free"));
        index_t const first = held - index_t{continues}, pages = held + wanted - index_t{copies};
        own.positions.resize(static_cast<std::size_t>(pages * page_size_), -1);
        own.pages.resize(static_cast<std::size_t>(pages), -1);
        auto const added = std::span(own.pages).subspan(static_cast<std::size_t>(first));
        auto const copied = copies ? std::exchange(added.front(), -1) : -1;
        if (copies) release(copied);
        for (auto& page : added)
            if (page < 0) page = take_page();
        auto const from = own.positions.begin() + first * page_size_ + slot;
        std::iota(from, from + count, own.length);
        own.length += count;
        return {added, slot, copied};
    }

    void evict(index_t sequence, index_t first, index_t last) {
        auto& own = at(sequence);
        if (first < 0 || last > own.length)
            raise_error(shape_error("kv_cache: sequence ", sequence, " has ", detail::counted(own.length, "position"),
                                    ", and those from ", first, " to ", last, " are not among them"));
        forget(own, first, last);
    }
    void truncate(index_t sequence, index_t positions) {
        auto& own = at(sequence);
        if (positions < 0 || positions > own.length)
            raise_error(shape_error("kv_cache: sequence ", sequence, " has ", detail::counted(own.length, "position"),
                                    ", not ", positions, " to be kept"));
        forget(own, positions, own.length);
        own.length = positions;
    }
    void remove(index_t sequence) {
        truncate(sequence, 0);
        at(sequence).used = false;
    }

    kv_rows batch(std::span<index_t const> sequences) const {
        kv_rows rows;
        rows.batches = std::ssize(sequences);
        for (auto const sequence : sequences) {
            rows.lengths.push_back(length(sequence));
            rows.entries = std::max(rows.entries, index_t{std::ssize(at(sequence).pages)});
        }
        rows.table.assign(static_cast<std::size_t>(rows.batches * rows.entries), -1);
        rows.positions.assign(rows.table.size() * static_cast<std::size_t>(page_size_), -1);
        auto entry = rows.table.begin();
        auto slot = rows.positions.begin();
        for (auto const sequence : sequences) {
            auto const& own = at(sequence);
            std::copy(own.pages.begin(), own.pages.end(), entry);
            std::copy_n(own.positions.begin(), std::ssize(own.pages) * page_size_, slot);
            entry += rows.entries;
            slot += rows.entries * page_size_;
        }
        return rows;
    }

private:
    struct sequence_pages {
        bool used = false;
        index_t length = 0;
        std::vector<std::int32_t> pages{};  // each with a position of the sequence
        std::vector<index_t> positions{};   // (page, slot), -1 where there is none
    };
    sequence_pages const& at(index_t sequence) const {
        if (sequence < 0 || sequence >= std::ssize(sequences_) || !sequences_[static_cast<std::size_t>(sequence)].used)
            raise_error(shape_error("kv_cache: there is no sequence ", sequence));
        return sequences_[static_cast<std::size_t>(sequence)];
    }
    sequence_pages& at(index_t sequence) { return const_cast<sequence_pages&>(std::as_const(*this).at(sequence)); }

    std::span<index_t> slots_of(sequence_pages& own, std::size_t page) const {
        auto const size = static_cast<std::size_t>(page_size_);
        return std::span(own.positions).subspan(page * size, size);
    }
    index_t last_position(sequence_pages& own) const {
        return *std::ranges::max_element(slots_of(own, own.pages.size() - 1));
    }
    std::int32_t take_page() {
        auto const page = free_.back();
        free_.pop_back();
        owners_[static_cast<std::size_t>(page)] = 1;
        return page;
    }
    void release(std::int32_t page) {
        if (--owners_[static_cast<std::size_t>(page)] == 0) free_.push_back(page);  // never more than there were
    }
    /// Positions first to last - 1 are there no longer, nor are pages without any others.
    void forget(sequence_pages& own, index_t first, index_t last) {
        std::size_t kept = 0;
        for (std::size_t n = 0; n < own.pages.size(); ++n) {
            auto const slots = slots_of(own, n);
            std::ranges::replace_if(slots, [&](index_t p) { return first <= p && p < last; }, index_t{-1});
            if (std::ranges::max(slots) < 0) {
                release(own.pages[n]);
            } else {
                own.pages[kept] = own.pages[n];
                std::ranges::copy(slots, slots_of(own, kept).begin());
                ++kept;
            }
        }
        own.pages.resize(kept);
        own.positions.resize(kept * static_cast<std::size_t>(page_size_));
    }

    index_t page_size_;
    std::vector<index_t> owners_;     // sequences that have a page
    std::vector<std::int32_t> free_;  // pages that none has
    std::vector<sequence_pages> sequences_;
};

}  // namespace fovea::FOVEA_SET
