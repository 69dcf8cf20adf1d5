// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cache of keys and values for C, whose types are known at run time, and numbers rounded to these. Compiled for the
// least of the architectures of a library.
#pragma once

#include <fovea/bindings/types.h>
#include <fovea/bindings/elements.hpp>
#include <fovea/bindings/status.hpp>
#include <fovea/core/kv_sequences.hpp>
#include <fovea/core/memory.hpp>
#include <fovea/project/rotary.hpp>
#include <fovea/spec/plain_row.hpp>
#include <fovea/spec/stored_rows.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::FOVEA_SET::bindings {

/// Elements that a cache may have, and how a row of numbers is rounded to them.
struct cache_element {
    std::string_view name;
    index_t features, bytes, alignment;  // of each
    void (*round)(float const* row, index_t features, std::byte* to);
};
template <class Element>
inline constexpr cache_element cache_element_of{
    type_name<Element>, fovea::detail::features_of_element<Element>, index_t{sizeof(Element)},
    index_t{alignof(Element)}, [](float const* row, index_t features, std::byte* to) {
        fovea::detail::round_row(row, features, reinterpret_cast<Element*>(to));
    }};
inline constexpr std::array cache_elements{
    cache_element_of<float>,    cache_element_of<bfloat16>, cache_element_of<float16>, cache_element_of<fp8_e4m3>,
    cache_element_of<fp8_e5m2>, cache_element_of<q8_0>,     cache_element_of<q4_0>,    cache_element_of<q4_1>};
/// Those that numbers of C have to be rounded to.
inline constexpr auto rounded_elements = std::span(cache_elements).subspan<1>();

/// Errors: std::invalid_argument for a type that is not among some elements.
inline cache_element const& element_named(std::span<cache_element const> elements, char const* type,
                                          std::string const& argument) {
    std::string_view const name = type == nullptr ? "" : type;
    auto const found = std::ranges::find(elements, name, &cache_element::name);
    if (found != elements.end()) return *found;
    std::string sentence = argument + " is '" + std::string(name) + "', it must be one of ";
    for (auto const& each : elements) sentence.append(&each == elements.data() ? "" : ", ").append(each.name);
    throw std::invalid_argument(sentence);
}

/// Rounds numbers to elements, or blocks of them, of a type.
///
/// Errors: shape_error for numbers that are no whole blocks, and for null pointers.
inline fovea_status quantize(fovea_call const* call, char const* type, float const* from, std::int64_t count,
                             void* to) {
    return status_of(call, [&] {
        auto const& element = element_named(rounded_elements, type, "type");
        if (count < 0 || count % element.features != 0)
            throw shape_error("count is ", count, ", it must be a multiple of ", element.features,
                              ": the numbers in a block of ", element.name);
        if (count > 0 && (from == nullptr || to == nullptr))
            throw shape_error(from == nullptr ? "from" : "to", " is null, it must be the address of ", count,
                              " numbers");
        element.round(from, count, static_cast<std::byte*>(to));
    });
}

/// cache_layout: the extents and elements of a cache for C, and the bytes that the pages of a layer have.
///
/// Errors: std::invalid_argument for types that are no elements of caches, shape_error for sizes that are none.
struct cache_layout {
    kv_sizes sizes;
    index_t layers;
    cache_element const &key, &value;
    index_t key_bytes = bytes_of_pages(key, sizes.key_features);
    index_t value_bytes = bytes_of_pages(value, sizes.value_features);

    explicit cache_layout(fovea_cache_sizes const& s)
        : sizes{s.heads, s.key_features, s.value_features, s.pages, s.page_size},
          layers(s.layers),
          key(element_named(cache_elements, s.key_type, "key_type")),
          value(element_named(cache_elements, s.value_type, "value_type")) {
        constexpr index_t most = std::numeric_limits<std::int32_t>::max();
        if (layers < 1 || layers > most) throw shape_error("layers is ", layers, ", it must be from 1 to ", most);
    }

private:
    index_t bytes_of_pages(cache_element const& element, index_t features) const {
        return elements_of_pages(sizes, features, element.features, element.bytes) * element.bytes;
    }
};

/// Errors: shape_error where memory for each layer is too small, not aligned, or the same for two layers or for keys
/// and values.
inline void check_memory(cache_layout const& layout, fovea_cache_memory const* memory) {
    std::vector<kv_memory> all;
    auto const add = [&](char const* what, index_t layer, void* data, index_t bytes, index_t needed,
                         index_t alignment) {
        auto const name = what + std::to_string(layer);
        kv_memory{name, data, bytes, 1}.check(needed, "byte", alignment);
        if (needed > 0) all.push_back({name, data, needed, 1});
    };
    for (index_t n = 0; n < layout.layers; ++n) {
        auto const& own = memory[n];
        add("keys of layer ", n, own.keys, own.key_bytes, layout.key_bytes, layout.key.alignment);
        add("values of layer ", n, own.values, own.value_bytes, layout.value_bytes, layout.value.alignment);
    }
    std::ranges::sort(all, {}, &kv_memory::begin);
    for (std::size_t i = 1; i < all.size(); ++i) all[i - 1].check_apart(all[i]);
}

/// The rotation that C describes of the new keys of a sequence, whose first one has a position of its own.
///
/// Errors: shape_error and std::invalid_argument, as those of rotary.
inline rotary_t<float, std::int64_t> rotary_of(fovea_rotary const& from, extents_t<4> const& keys, index_t first) {
    rotary_t<float, std::int64_t> made{};
    made.neighbors = from.interleaved != 0;
    made = made.features(from.features);
    if (from.base != 0) made = made.base(from.base);
    if (from.interpolated != 0) made = made.interpolated(from.interpolated);
    if (from.ntk_scaled != 0) made = made.ntk_scaled(from.ntk_scaled);
    if (from.frequencies != nullptr)
        made = made.frequencies(view<float const, 1>(from.frequencies, {made.size(keys[3]) / 2}));
    if (from.positions == nullptr) made = made.from(first);
    else made = made.positions(view<std::int64_t const, 2>(from.positions, {1, keys[2]}));
    made.check(keys, "keys");
    return made;
}

/// New keys of a sequence, each rotated when it is asked for; those of one position are asked for one after the other.
class rotated_rows {
public:
    rotated_rows(view<float const, 4> const& keys, fovea_rotary const& how, index_t first)
        : keys_(keys),
          rotary_(rotary_of(how, keys.extents, first)),
          row_(static_cast<std::size_t>(features())),
          directions_(static_cast<std::size_t>(rotary_.prepared(features()))) {}

    float const* operator()(index_t head, index_t n) {
        head_place const at{0, head, n};
        if (head == 0) rotary_.prepare(directions_.data(), features(), at);
        std::copy_n(keys_.place(0, head, n, index_t{0}), features(), row_.data());
        rotary_.apply(plain_row<float>{row_.data(), features()}, at, directions_.data());
        return row_.data();
    }

private:
    index_t features() const { return keys_.extent(3); }

    view<float const, 4> keys_;
    rotary_t<float, std::int64_t> rotary_;
    std::vector<float> row_, directions_;
};

/// layered_cache: for each layer of a network the keys and values of the same sequences, in pages of its own, which may
/// lie in given memory.
///
/// A step is for all layers or, where it says which, for one. Errors: as those of kv_cache, before anything changes.
class layered_cache {
public:
    /// `memory` is that of each layer, or null.
    explicit layered_cache(fovea_cache_sizes const& s, fovea_cache_memory const* memory = nullptr) : layout_(s) {
        auto const& [sizes, layers, key, value, key_bytes, value_bytes] = layout_;
        if (memory != nullptr) check_memory(layout_, memory);
        auto const pages_in = [&](void* given, index_t bytes) {
            return memory == nullptr ? own_.emplace_back(static_cast<std::size_t>(bytes)).data()
                                     : static_cast<std::byte*>(given);
        };
        layers_.reserve(static_cast<std::size_t>(layers));
        for (index_t n = 0; n < layers; ++n) {
            auto const given = memory == nullptr ? fovea_cache_memory{} : memory[n];
            layers_.push_back({kv_sequences(sizes.pages, sizes.page_size), pages_in(given.keys, key_bytes),
                               pages_in(given.values, value_bytes)});
        }
    }

    index_t length(index_t layer, index_t sequence) const { return sequences_of(layer).length(sequence); }
    index_t free_pages(index_t layer) const { return sequences_of(layer).free_pages(); }

    index_t add() {
        return begin_in_all([](kv_sequences& each) { return each.add(); });
    }
    index_t fork(index_t sequence) {
        return begin_in_all([&](kv_sequences& each) { return each.fork(sequence); });
    }
    void evict(index_t sequence, index_t first, index_t last) {
        change_in_all(sequence, [&](kv_sequences& each) { each.evict(sequence, first, last); });
    }
    void truncate(index_t sequence, index_t positions) {
        change_in_all(sequence, [&](kv_sequences& each) { each.truncate(sequence, positions); });
    }
    void remove(index_t sequence) {
        change_in_all(sequence, [&](kv_sequences& each) { each.remove(sequence); });
    }

    /// Adds positions to the end of a sequence, whose keys are rotated where it is said how.
    void append(index_t layer, index_t sequence, view<float const, 4> const& keys, view<float const, 4> const& values,
                fovea_rotary const* rotation = nullptr) {
        auto& own = layers_[place_of(layer)];
        index_t const first = own.sequences.length(sequence), count = keys.extent(2);
        check_appended(layout_.sizes, keys, values);
        auto const as_they_are = [&](view<float const, 4> const& all) {
            return [all](index_t head, index_t n) { return all.place(0, head, n, index_t{0}); };
        };
        auto rotated = rotation == nullptr ? std::nullopt : std::optional(rotated_rows(keys, *rotation, first));
        auto const added = own.sequences.extend(sequence, count);
        if (rotated) write(layout_.key, layout_.sizes.key_features, added, count, own.keys, *rotated);
        else write(layout_.key, layout_.sizes.key_features, added, count, own.keys, as_they_are(keys));
        write(layout_.value, layout_.sizes.value_features, added, count, own.values, as_they_are(values));
    }

    /// Some sequences of a layer, until the cache changes or another batch is asked for.
    fovea_cache_batch batch(index_t layer, std::span<std::int64_t const> sequences) {
        rows_ = sequences_of(layer).batch(std::vector<index_t>(sequences.begin(), sequences.end()));
        auto const& own = layers_[place_of(layer)];
        return {own.keys,
                own.values,
                rows_.table.data(),
                reinterpret_cast<std::int64_t const*>(rows_.lengths.data()),  // of a type as long as index_t
                reinterpret_cast<std::int64_t const*>(rows_.positions.data()),
                rows_.entries};
    }

private:
    struct layer_pages {
        kv_sequences sequences;
        std::byte *keys, *values;  // (page, head, slot, feature or block)
    };

    std::size_t place_of(index_t layer) const {
        if (layer < 0 || layer >= std::ssize(layers_))
            throw shape_error("layer is ", layer, ", it must be from 0 to ", std::ssize(layers_) - 1);
        return static_cast<std::size_t>(layer);
    }
    kv_sequences const& sequences_of(index_t layer) const { return layers_[place_of(layer)].sequences; }

    /// The number of a new sequence, which is the same in all layers: where one has no memory, none has it.
    template <class Begin>
    index_t begin_in_all(Begin const& begin) {
        index_t number = 0;
        auto next = layers_.begin();
        try {
            for (; next != layers_.end(); ++next) number = begin(next->sequences);
        } catch (...) {
            while (next != layers_.begin()) (--next)->sequences.remove(number);
            throw;
        }
        return number;
    }
    /// A change that each layer takes that has no fewer positions than one that takes it.
    template <class Change>
    void change_in_all(index_t sequence, Change const& change) {
        auto const length = [&](layer_pages const& each) { return each.sequences.length(sequence); };
        auto const shortest = std::ranges::min_element(layers_, {}, length);
        change(shortest->sequences);
        for (auto next = layers_.begin(); next != layers_.end(); ++next)
            if (next != shortest) change(next->sequences);
    }

    /// New rows in their pages, row_of(head, n) for the nth position; those that a fork shares are copied before.
    template <class Rows>
    void write(cache_element const& element, index_t features, kv_sequences::extension const& added, index_t count,
               std::byte* pages, Rows&& row_of) const {
        auto const& [heads, key_features, value_features, all_pages, page_size] = layout_.sizes;
        index_t const row_bytes = features / element.features * element.bytes,
                      page_bytes = heads * page_size * row_bytes;
        if (added.copied >= 0)
            std::copy_n(pages + added.copied * page_bytes, page_bytes, pages + added.pages.front() * page_bytes);
        for (index_t n = 0; n < count; ++n) {
            auto const [page, slot] = added.place(n, page_size);
            for (index_t h = 0; h < heads; ++h)
                element.round(row_of(h, n), features, pages + page * page_bytes + (h * page_size + slot) * row_bytes);
        }
    }

    cache_layout layout_;
    std::vector<std::vector<std::byte>> own_{};  // keys and values of one layer after the other, where none is given
    std::vector<layer_pages> layers_{};
    kv_rows rows_{};  // of the batch that was asked for last
};

/// The object at an address. Errors: shape_error where that is null.
template <class T>
T& at_address(T* address, char const* name) {
    if (address == nullptr) throw shape_error(name, " is null, it must be an address");
    return *address;
}

/// Does something with a cache, and makes a status of what it throws.
template <class Work>
fovea_status with_cache(fovea_call const* call, fovea_cache* cache, Work const& work) noexcept {
    return status_of(call, [&] { work(reinterpret_cast<layered_cache&>(at_address(cache, "cache"))); });
}
/// The same for what is found, which goes to an address.
template <class T, class Work>
fovea_status with_cache_and(fovea_call const* call, fovea_cache* cache, T* address, char const* name,
                            Work const& work) noexcept {
    return with_cache(call, cache, [&](layered_cache& own) {
        auto& found = at_address(address, name);  // before anything changes
        found = work(own);
    });
}

inline fovea_status cache_bytes(fovea_call const* call, fovea_cache_sizes const* sizes, std::int64_t* key_bytes,
                                std::int64_t* value_bytes) {
    return status_of(call, [&] {
        cache_layout const layout(at_address(sizes, "sizes"));
        auto &of_keys = at_address(key_bytes, "key_bytes"), &of_values = at_address(value_bytes, "value_bytes");
        of_keys = layout.key_bytes;
        of_values = layout.value_bytes;
    });
}
inline fovea_status cache_create(fovea_call const* call, fovea_cache_sizes const* sizes,
                                 fovea_cache_memory const* memory, fovea_cache** cache) {
    return status_of(call, [&] {
        auto& made = at_address(cache, "cache");
        made = reinterpret_cast<fovea_cache*>(new layered_cache(at_address(sizes, "sizes"), memory));
    });
}
inline void cache_destroy(fovea_cache* cache) { delete reinterpret_cast<layered_cache*>(cache); }

inline fovea_status cache_add(fovea_call const* call, fovea_cache* cache, std::int64_t* sequence) {
    return with_cache_and(call, cache, sequence, "sequence", [](layered_cache& own) { return own.add(); });
}
inline fovea_status cache_fork(fovea_call const* call, fovea_cache* cache, std::int64_t sequence,
                               std::int64_t* forked) {
    return with_cache_and(call, cache, forked, "forked", [&](layered_cache& own) { return own.fork(sequence); });
}
inline fovea_status cache_append(fovea_call const* call, fovea_cache* cache, std::int64_t layer, std::int64_t sequence,
                                 fovea_input_f32 const& keys, fovea_input_f32 const& values,
                                 fovea_rotary const* rotary) {
    auto const rows = [](fovea_input_f32 const& a) {
        extents_t<4> extents{}, strides{};
        std::copy_n(a.extents, 4, extents.begin());
        std::copy_n(a.strides, 4, strides.begin());
        return view<float const, 4>(a.data, extents, strides);
    };
    return with_cache(call, cache,
                      [&](layered_cache& own) { own.append(layer, sequence, rows(keys), rows(values), rotary); });
}
inline fovea_status cache_evict(fovea_call const* call, fovea_cache* cache, std::int64_t sequence, std::int64_t first,
                                std::int64_t last) {
    return with_cache(call, cache, [&](layered_cache& own) { own.evict(sequence, first, last); });
}
inline fovea_status cache_truncate(fovea_call const* call, fovea_cache* cache, std::int64_t sequence,
                                   std::int64_t positions) {
    return with_cache(call, cache, [&](layered_cache& own) { own.truncate(sequence, positions); });
}
inline fovea_status cache_remove(fovea_call const* call, fovea_cache* cache, std::int64_t sequence) {
    return with_cache(call, cache, [&](layered_cache& own) { own.remove(sequence); });
}
inline fovea_status cache_length(fovea_call const* call, fovea_cache* cache, std::int64_t layer, std::int64_t sequence,
                                 std::int64_t* length) {
    return with_cache_and(call, cache, length, "length",
                          [&](layered_cache& own) { return own.length(layer, sequence); });
}
inline fovea_status cache_free_pages(fovea_call const* call, fovea_cache* cache, std::int64_t layer,
                                     std::int64_t* pages) {
    return with_cache_and(call, cache, pages, "pages", [&](layered_cache& own) { return own.free_pages(layer); });
}
inline fovea_status cache_batch(fovea_call const* call, fovea_cache* cache, std::int64_t layer,
                                std::int64_t const* sequences, std::int64_t count, fovea_cache_batch* batch) {
    return with_cache_and(call, cache, batch, "batch", [&](layered_cache& own) {
        if (count < 0) throw shape_error("count is ", count, ", it must be 0 or more");
        if (count > 0) at_address(sequences, "sequences");
        return own.batch(layer, {sequences, static_cast<std::size_t>(count)});
    });
}

}  // namespace fovea::FOVEA_SET::bindings
