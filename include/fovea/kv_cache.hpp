// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cache of keys and values in pages, which sequences that begin alike share.
#pragma once

#include <fovea/core/paged.hpp>
#include <fovea/spec/quantized.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace fovea::FOVEA_SET {

namespace detail {
/// The features that an element of a cache has: those of a block, or one.
template <class T>
inline constexpr index_t features_of_element = 1;
template <block_format Block>
inline constexpr index_t features_of_element<Block> = Block::size;
}  // namespace detail

/// kv_sizes: the extents of a kv_cache.
struct kv_sizes {
    index_t heads, key_features, value_features;
    index_t pages, page_size;  // how many there are, and the positions of each
};

/// kv_cache: keys and values of sequences in pages from a common store; owns them.
///
///     kv_cache<float16> cache({.heads = 8, .key_features = 128, .value_features = 128, .pages = 512, .page_size = 16})
///     auto const sequence = cache.add();
///     cache.append(sequence, keys, values);                      (1, head, position, feature)
///     auto const batch = cache.batch({&sequence, 1});
///     attend(scaled_dot | causal_from(batch.past(1)) | ..., query, batch.keys(), batch.values(), result);
///
/// Key and Value are elements, or blocks such as q8_0. A fork shares the pages of a sequence, which are copied where
/// one of them is appended to. Cost: what a step changes, never the whole cache. Errors: shape_error, before anything
/// changes. Source: Kwon et al. 2023 (PagedAttention), section 4.3 and 4.4.
template <class Key, class Value = Key>
class kv_cache {
public:
    explicit kv_cache(kv_sizes const& sizes);

    /// A new sequence without positions; its number is that of a removed one, if there is any.
    index_t add();
    /// A new sequence that begins with all positions of another, in the same pages.
    index_t fork(index_t sequence);
    /// Adds positions to the end of a sequence. Errors: shape_error for rows of other extents, and where the store has
    /// too few free pages.
    template <class K, class V>
    void append(index_t sequence, view<K, 4> const& keys, view<V, 4> const& values);
    /// Keeps the first positions of a sequence.
    void truncate(index_t sequence, index_t positions);
    /// Gives a sequence back: its number stands for none until add or fork returns it again.
    void remove(index_t sequence);

    index_t length(index_t sequence) const { return at(sequence).length; }
    index_t free_pages() const { return static_cast<index_t>(free_.size()); }

    /// Some sequences as the batch of a call; it refers to the cache, and holds until that changes.
    class batch_rows {
    public:
        auto keys() const { return rows(cache_->key_pages()); }
        auto values() const { return rows(cache_->value_pages()); }
        /// The positions of each: for key_lengths.
        std::vector<index_t> const& lengths() const { return lengths_; }
        /// The positions of each before its last `count`: for causal_from, where these are the queries.
        std::vector<index_t> past(index_t count) const {
            auto before = lengths_;
            for (auto& length : before) length -= count;
            return before;
        }

    private:
        friend kv_cache;
        template <class T>
        auto rows(view<T const, 4> const& pages) const {
            auto const all = paged(pages, view<std::int32_t const, 2>(table_.data(), {batches_, entries_}));
            if constexpr (block_format<T>) return quantized(all);
            else return all;
        }
        kv_cache const* cache_ = nullptr;
        index_t batches_ = 0, entries_ = 0;
        std::vector<std::int32_t> table_;  // (batch, page), -1 behind the last page of a sequence
        std::vector<index_t> lengths_;
    };
    batch_rows batch(std::span<index_t const> sequences) const;

private:
    struct sequence_pages {
        bool used = false;
        index_t length = 0;
        std::vector<std::int32_t> pages{};
    };
    sequence_pages const& at(index_t sequence) const;
    sequence_pages& at(index_t sequence) {
        return const_cast<sequence_pages&>(static_cast<kv_cache const*>(this)->at(sequence));
    }
    bool is_shared(std::int32_t page) const { return owners_[static_cast<std::size_t>(page)] > 1; }
    std::int32_t take_page() {
        auto const page = free_.back();
        free_.pop_back();
        owners_[static_cast<std::size_t>(page)] = 1;
        return page;
    }
    void release(std::int32_t page) {
        if (--owners_[static_cast<std::size_t>(page)] == 0) free_.push_back(page);
    }
    void copy_page(std::int32_t from, std::int32_t to) {
        auto const copy = [&](auto& all) {
            auto const size = static_cast<std::ptrdiff_t>(all.size() / owners_.size());
            std::copy_n(all.begin() + from * size, size, all.begin() + to * size);
        };
        copy(keys_);
        copy(values_);
    }
    view<Key const, 4> key_pages() const { return pages_of(keys_, sizes_.key_features); }
    view<Value const, 4> value_pages() const { return pages_of(values_, sizes_.value_features); }
    template <class T>
    view<T const, 4> pages_of(std::vector<T> const& all, index_t features) const {
        return {all.data(), {sizes_.pages, sizes_.heads, sizes_.page_size, features / detail::features_of_element<T>}};
    }
    template <class T>
    static index_t elements(kv_sizes const& s, index_t features) {
        if (s.heads < 1 || features < 1 || s.pages < 0 || s.page_size < 1
            || features % detail::features_of_element<T> != 0)
            throw shape_error("kv_cache: ", s.heads, " heads of ", detail::counted(features, "feature"), " in ",
                              s.pages, " pages of ", detail::counted(s.page_size, "position"),
                              " are no cache: features are whole blocks");
        return s.pages * s.heads * s.page_size * (features / detail::features_of_element<T>);
    }
    template <class To, class From>
    void write(std::vector<To>& all, index_t features, view<From, 4> const& rows, index_t n, std::int32_t page,
               index_t slot) {
        view<To, 4> const to(
            all.data(), {sizes_.pages, sizes_.heads, sizes_.page_size, features / detail::features_of_element<To>});
        for (index_t h = 0; h < sizes_.heads; ++h) {
            From const* const row = rows.place(0, h, n, index_t{0});
            To* const at = to.place(page, h, slot, index_t{0});
            if constexpr (block_format<To>) detail::round_row(row, features, at);
            else std::transform(row, row + features, at, [](From x) { return rounded_to<To>(static_cast<float>(x)); });
        }
    }

    kv_sizes sizes_;
    std::vector<Key> keys_;             // (page, head, slot, feature or block)
    std::vector<Value> values_;         // the same
    std::vector<std::int32_t> owners_;  // sequences that have a page
    std::vector<std::int32_t> free_;
    std::vector<sequence_pages> sequences_;
};

template <class Key, class Value>
kv_cache<Key, Value>::kv_cache(kv_sizes const& sizes)
    : sizes_(sizes),
      keys_(static_cast<std::size_t>(elements<Key>(sizes, sizes.key_features))),
      values_(static_cast<std::size_t>(elements<Value>(sizes, sizes.value_features))),
      owners_(static_cast<std::size_t>(sizes.pages)) {
    for (auto page = static_cast<std::int32_t>(sizes.pages); page-- > 0;) free_.push_back(page);
}

template <class Key, class Value>
auto kv_cache<Key, Value>::at(index_t sequence) const -> sequence_pages const& {
    if (sequence < 0 || sequence >= std::ssize(sequences_) || !sequences_[static_cast<std::size_t>(sequence)].used)
        throw shape_error("kv_cache: there is no sequence ", sequence);
    return sequences_[static_cast<std::size_t>(sequence)];
}

template <class Key, class Value>
index_t kv_cache<Key, Value>::add() {
    auto found = std::find_if(sequences_.begin(), sequences_.end(), [](auto const& each) { return !each.used; });
    if (found == sequences_.end()) found = sequences_.insert(found, sequence_pages{});
    found->used = true;
    return found - sequences_.begin();
}

template <class Key, class Value>
index_t kv_cache<Key, Value>::fork(index_t sequence) {
    auto same = at(sequence);
    index_t const number = add();
    for (auto const page : same.pages) ++owners_[static_cast<std::size_t>(page)];
    at(number) = std::move(same);
    return number;
}

template <class Key, class Value>
template <class K, class V>
void kv_cache<Key, Value>::append(index_t sequence, view<K, 4> const& keys, view<V, 4> const& values) {
    auto& own = at(sequence);
    index_t const count = keys.extent(2), page_size = sizes_.page_size;
    extents_t<4> const of_keys{1, sizes_.heads, count, sizes_.key_features},
        of_values{1, sizes_.heads, count, sizes_.value_features};
    if (keys.extents != of_keys || values.extents != of_values)
        throw shape_error("kv_cache: keys are ", keys.extents, " and values ", values.extents, ", and must be ",
                          of_keys, " and ", of_values);
    index_t const there = own.length % page_size;  // positions of the last page
    bool const copies = count > 0 && there > 0 && is_shared(own.pages.back());
    index_t const wanted = ceil_div(own.length + count, page_size) - std::ssize(own.pages) + index_t{copies};
    if (wanted > free_pages())
        throw shape_error("kv_cache: ", detail::counted(count, "position"), " more of sequence ", sequence, " need ",
                          detail::counted(wanted, "page"), ", and ", free_pages(), " are free");
    if (copies) {
        auto const page = take_page();
        copy_page(own.pages.back(), page);
        release(std::exchange(own.pages.back(), page));
    }
    for (index_t n = 0; n < count; ++n, ++own.length) {
        index_t const slot = own.length % page_size;
        if (slot == 0) own.pages.push_back(take_page());
        write(keys_, sizes_.key_features, keys, n, own.pages.back(), slot);
        write(values_, sizes_.value_features, values, n, own.pages.back(), slot);
    }
}

template <class Key, class Value>
void kv_cache<Key, Value>::truncate(index_t sequence, index_t positions) {
    auto& own = at(sequence);
    if (positions < 0 || positions > own.length)
        throw shape_error("kv_cache: sequence ", sequence, " has ", detail::counted(own.length, "position"), ", not ",
                          positions, " to be kept");
    for (auto const pages = static_cast<std::size_t>(ceil_div(positions, sizes_.page_size));
         own.pages.size() > pages;) {
        release(own.pages.back());
        own.pages.pop_back();
    }
    own.length = positions;
}

template <class Key, class Value>
void kv_cache<Key, Value>::remove(index_t sequence) {
    truncate(sequence, 0);
    at(sequence).used = false;
}

template <class Key, class Value>
auto kv_cache<Key, Value>::batch(std::span<index_t const> sequences) const -> batch_rows {
    batch_rows all;
    all.cache_ = this;
    all.batches_ = std::ssize(sequences);
    for (auto const sequence : sequences) {
        all.lengths_.push_back(length(sequence));
        all.entries_ = std::max(all.entries_, static_cast<index_t>(std::ssize(at(sequence).pages)));
    }
    all.table_.assign(static_cast<std::size_t>(all.batches_ * all.entries_), -1);
    for (index_t b = 0; b < all.batches_; ++b) {
        auto const& pages = at(sequences[static_cast<std::size_t>(b)]).pages;
        std::copy(pages.begin(), pages.end(), all.table_.begin() + b * all.entries_);
    }
    return all;
}

}  // namespace fovea::FOVEA_SET
