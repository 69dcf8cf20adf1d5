// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cache of keys and values in pages, which sequences that begin alike share.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/kv_sequences.hpp>
#include <fovea/core/paged.hpp>
#include <fovea/spec/head_map_rows.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/plain_row.hpp>
#include <fovea/spec/quantized.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET {

/// kv_cache: keys and values of sequences in pages from a common store, which is its own or given.
///
///     kv_cache<float16> cache({.heads = 8, .key_features = 128, .value_features = 128, .pages = 512, .page_size = 16})
///     auto const sequence = cache.add();
///     cache.append(sequence, keys, values, rotary);              (1, head, position, feature)
///     auto const rows = cache.batch({&sequence, 1});
///     auto const past = rows.past(1);
///     attend(scaled_dot | causal_from(past) | ..., query, rows.keys(), rows.values(), result);
///
/// Key and Value are elements, or blocks such as q8_0. A fork shares the pages of a sequence, which are copied where
/// one of them is appended to. Cost: what a step changes, never the whole cache. Errors: shape_error, before anything
/// changes. Source: Kwon et al. 2023 (PagedAttention), section 4.3 and 4.4.
template <class Key, class Value = Key>
class kv_cache {
public:
    explicit kv_cache(kv_sizes const& sizes)
        : sizes_(sizes),
          own_keys_(static_cast<std::size_t>(key_elements(sizes))),
          own_values_(static_cast<std::size_t>(value_elements(sizes))),
          keys_(own_keys_),
          values_(own_values_),
          sequences_(sizes.pages, sizes.page_size) {}
    /// Pages in given memory, which may hold anything, and stays there as long as the cache.
    kv_cache(kv_sizes const& sizes, std::span<Key> keys, std::span<Value> values)
        : sizes_(sizes),
          keys_(checked("keys", keys, key_elements(sizes))),
          values_(checked("values", values, value_elements(sizes))),
          sequences_(sizes.pages, sizes.page_size) {
        memory_of("keys", keys_).check_apart(memory_of("values", values_));
    }
    kv_cache(kv_cache&&) = default;
    kv_cache& operator=(kv_cache&&) = default;

    /// The elements of all pages of keys, and of values.
    static index_t key_elements(kv_sizes const& sizes) { return elements<Key>(sizes, sizes.key_features); }
    static index_t value_elements(kv_sizes const& sizes) { return elements<Value>(sizes, sizes.value_features); }

    /// A new sequence without positions; its number is that of a removed one, if there is any.
    index_t add() { return sequences_.add(); }
    /// A new sequence that begins with all positions of another, in the same pages.
    index_t fork(index_t sequence) { return sequences_.fork(sequence); }
    /// Adds positions to the end of a sequence, the keys after maps of heads, such as rotary, at these positions.
    /// Errors: shape_error for rows of other extents, and where the store has too few free pages.
    template <class K, class V, head_map... Maps>
    void append(index_t sequence, view<K, 4> const& keys, view<V, 4> const& values, Maps const&... maps);
    /// Takes positions first to last - 1 out of a sequence; the others keep their numbers.
    void evict(index_t sequence, index_t first, index_t last) { sequences_.evict(sequence, first, last); }
    /// Keeps the first positions of a sequence.
    void truncate(index_t sequence, index_t positions) { sequences_.truncate(sequence, positions); }
    /// Gives a sequence back: its number stands for none until add or fork returns it again.
    void remove(index_t sequence) { sequences_.remove(sequence); }

    index_t length(index_t sequence) const { return sequences_.length(sequence); }
    index_t free_pages() const { return sequences_.free_pages(); }
    /// The pages: (page, head, slot, feature or block).
    view<Key const, 4> key_pages() const { return {keys_.data(), page_extents<Key>(sizes_.key_features)}; }
    view<Value const, 4> value_pages() const { return {values_.data(), page_extents<Value>(sizes_.value_features)}; }

    /// Some sequences as the batch of a call; it refers to the pages, and holds until the cache changes.
    class batch_rows {
    public:
        auto keys() const { return in_pages(key_pages_); }
        auto values() const { return in_pages(value_pages_); }
        /// The positions of each: for key_lengths, where none has been evicted.
        std::vector<index_t> const& lengths() const { return rows_.lengths; }
        /// The positions of each before its last `count`: for causal_from, where these are the queries.
        std::vector<index_t> past(index_t count) const {
            auto before = lengths();
            for (auto& length : before) length -= count;
            return before;
        }
        /// The position in each slot, (batch, kv_idx), -1 where there is none: for masks and scores after an eviction.
        view<index_t const, 2> positions() const {
            return {rows_.positions.data(), {rows_.batches, rows_.entries * key_pages_.extent(2)}};
        }

    private:
        friend kv_cache;
        batch_rows(kv_cache const& cache, std::span<index_t const> sequences)
            : key_pages_(cache.key_pages()),
              value_pages_(cache.value_pages()),
              rows_(cache.sequences_.batch(sequences)) {}
        template <class T>
        auto in_pages(view<T const, 4> const& pages) const {
            auto const all =
                paged(pages, view<std::int32_t const, 2>(rows_.table.data(), {rows_.batches, rows_.entries}));
            if constexpr (block_format<T>) return quantized(all);
            else return all;
        }
        view<Key const, 4> key_pages_;
        view<Value const, 4> value_pages_;
        kv_rows rows_;
    };
    batch_rows batch(std::span<index_t const> sequences) const { return {*this, sequences}; }

private:
    template <class T>
    extents_t<4> page_extents(index_t features) const {
        return {sizes_.pages, sizes_.heads, sizes_.page_size, features / detail::features_of_element<T>};
    }
    template <class T>
    static index_t elements(kv_sizes const& sizes, index_t features) {
        return elements_of_pages(sizes, features, detail::features_of_element<T>, index_t{sizeof(T)});
    }
    template <class T>
    static kv_memory memory_of(char const* name, std::span<T> memory) {
        return {name, memory.data(), std::ssize(memory), index_t{sizeof(T)}};
    }
    template <class T>
    static std::span<T> checked(char const* name, std::span<T> memory, index_t needed) {
        memory_of(name, memory).check(needed, "element", index_t{alignof(T)});
        return memory.first(static_cast<std::size_t>(needed));
    }
    template <class From, class Number>
    static void read(view<From, 4> const& rows, index_t head, index_t n, Number* to) {
        auto const* const from = rows.place(0, head, n, index_t{0});
        std::transform(from, from + rows.extent(3), to, [](From const& x) { return static_cast<Number>(x); });
    }
    template <class T>
    void copy_page(std::span<T> all, std::int32_t from, std::int32_t to) const {
        auto const size = std::ssize(all) / sizes_.pages;
        std::copy_n(all.begin() + from * size, size, all.begin() + to * size);
    }

    kv_sizes sizes_;
    std::vector<Key> own_keys_{};  // none where the memory is given
    std::vector<Value> own_values_{};
    std::span<Key> keys_;  // (page, head, slot, feature or block)
    std::span<Value> values_;
    kv_sequences sequences_;
};

template <class Key, class Value>
template <class K, class V, head_map... Maps>
void kv_cache<Key, Value>::append(index_t sequence, view<K, 4> const& keys, view<V, 4> const& values,
                                  Maps const&... maps) {
    using number = std::conditional_t<std::is_same_v<Key, double> || std::is_same_v<Value, double>, double, float>;
    index_t const first = length(sequence), count = keys.extent(2), of_key = sizes_.key_features,
                  of_value = sizes_.value_features;
    check_appended(sizes_, keys, values);
    [[maybe_unused]] extents_t<4> const whole{1, sizes_.heads, first + count, of_key};
    (check_head_map(maps, whole, "keys"), ...);
    std::vector<number> row(static_cast<std::size_t>(std::max(of_key, of_value))),
        numbers(static_cast<std::size_t>((prepared_numbers(maps, of_key) + ... + 0)));
    auto const added = sequences_.extend(sequence, count);
    if (added.copied >= 0) {
        copy_page(keys_, added.copied, added.pages.front());
        copy_page(values_, added.copied, added.pages.front());
    }
    view<Key, 4> const key_slots(keys_.data(), page_extents<Key>(of_key));
    view<Value, 4> const value_slots(values_.data(), page_extents<Value>(of_value));
    for (index_t n = 0; n < count; ++n) {
        auto const [page, slot] = added.place(n, sizes_.page_size);
        head_place at{0, 0, first + n};
        [[maybe_unused]] number* prepared = numbers.data();
        ((prepared = prepare_head_map(maps, prepared, of_key, at)), ...);
        for (; at.head < sizes_.heads; ++at.head) {
            read(keys, at.head, n, row.data());
            [[maybe_unused]] number const* known = numbers.data();
            ((known = apply_head_map(maps, plain_row<number>{row.data(), of_key}, at, known)), ...);
            detail::round_row(row.data(), of_key, key_slots.place(page, at.head, slot, index_t{0}));
            read(values, at.head, n, row.data());
            detail::round_row(row.data(), of_value, value_slots.place(page, at.head, slot, index_t{0}));
        }
    }
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
