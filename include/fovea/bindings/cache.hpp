// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cache of keys and values for C, whose types are known at run time, and numbers rounded to these. Compiled for the
// least of the architectures of a library.
#pragma once

#include <fovea/bindings/types.h>
#include <fovea/bindings/elements.hpp>
#include <fovea/bindings/status.hpp>
#include <fovea/core/kv_sequences.hpp>
#include <fovea/core/memory.hpp>
#include <fovea/spec/stored_rows.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::FOVEA_SET::bindings {

/// Elements that a cache may have, and how a row of numbers is rounded to them.
struct cache_element {
    std::string_view name;
    index_t features, bytes;  // of each
    void (*round)(float const* row, index_t features, std::byte* to);
};
template <class Element>
inline constexpr cache_element cache_element_of{
    type_name<Element>, fovea::detail::features_of_element<Element>, index_t{sizeof(Element)},
    [](float const* row, index_t features, std::byte* to) {
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

/// layered_cache: for each layer of a network the keys and values of the same sequences, in pages of its own.
///
/// A step is for all layers or, where it says which, for one. Errors: as those of kv_cache, before anything changes.
class layered_cache {
public:
    explicit layered_cache(fovea_cache_sizes const& s)
        : sizes_{s.heads, s.key_features, s.value_features, s.pages, s.page_size},
          key_(element_named(cache_elements, s.key_type, "key_type")),
          value_(element_named(cache_elements, s.value_type, "value_type")) {
        constexpr index_t most = std::numeric_limits<std::int32_t>::max();
        if (s.layers < 1 || s.layers > most) throw shape_error("layers is ", s.layers, ", it must be from 1 to ", most);
        auto const keys = bytes_of_pages(key_, sizes_.key_features),
                   values = bytes_of_pages(value_, sizes_.value_features);
        layers_.reserve(static_cast<std::size_t>(s.layers));
        for (index_t n = 0; n < s.layers; ++n)
            layers_.push_back(
                {kv_sequences(s.pages, s.page_size), std::vector<std::byte>(keys), std::vector<std::byte>(values)});
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

    void append(index_t layer, index_t sequence, view<float const, 4> const& keys, view<float const, 4> const& values) {
        auto& own = layers_[place_of(layer)];
        check_appended(sizes_, keys, values);
        auto const added = own.sequences.extend(sequence, keys.extent(2));
        if (keys.extent(2) == 0) return;
        write(key_, keys, added, own.keys.data());
        write(value_, values, added, own.values.data());
    }

    /// Some sequences of a layer, until the cache changes or another batch is asked for.
    fovea_cache_batch batch(index_t layer, std::span<std::int64_t const> sequences) {
        rows_ = sequences_of(layer).batch(std::vector<index_t>(sequences.begin(), sequences.end()));
        auto const& own = layers_[place_of(layer)];
        return {own.keys.data(),
                own.values.data(),
                rows_.table.data(),
                reinterpret_cast<std::int64_t const*>(rows_.lengths.data()),  // of a type as long as index_t
                reinterpret_cast<std::int64_t const*>(rows_.positions.data()),
                rows_.entries};
    }

private:
    struct layer_pages {
        kv_sequences sequences;
        std::vector<std::byte> keys, values;  // (page, head, slot, feature or block)
    };

    std::size_t bytes_of_pages(cache_element const& element, index_t features) const {
        return static_cast<std::size_t>(elements_of_pages(sizes_, features, element.features, element.bytes)
                                        * element.bytes);
    }
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

    /// New rows in their pages; those that a fork shares are copied before.
    void write(cache_element const& element, view<float const, 4> const& rows, kv_sequences::extension const& added,
               std::byte* pages) const {
        index_t const features = rows.extent(3), row_bytes = features / element.features * element.bytes,
                      page_bytes = sizes_.heads * sizes_.page_size * row_bytes;
        if (added.copied >= 0)
            std::copy_n(pages + added.copied * page_bytes, page_bytes, pages + added.pages.front() * page_bytes);
        for (index_t n = 0; n < rows.extent(2); ++n) {
            auto const [page, slot] = added.place(n, sizes_.page_size);
            for (index_t h = 0; h < sizes_.heads; ++h)
                element.round(rows.place(0, h, n, index_t{0}), features,
                              pages + page * page_bytes + (h * sizes_.page_size + slot) * row_bytes);
        }
    }

    kv_sizes sizes_;
    cache_element const &key_, &value_;
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

inline fovea_status cache_create(fovea_call const* call, fovea_cache_sizes const* sizes, fovea_cache** cache) {
    return status_of(call, [&] {
        auto& made = at_address(cache, "cache");
        made = reinterpret_cast<fovea_cache*>(new layered_cache(at_address(sizes, "sizes")));
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
                                 fovea_input_f32 const& keys, fovea_input_f32 const& values) {
    auto const rows = [](fovea_input_f32 const& a) {
        extents_t<4> extents{}, strides{};
        std::copy_n(a.extents, 4, extents.begin());
        std::copy_n(a.strides, 4, strides.begin());
        return view<float const, 4>(a.data, extents, strides);
    };
    return with_cache(call, cache, [&](layered_cache& own) { own.append(layer, sequence, rows(keys), rows(values)); });
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
