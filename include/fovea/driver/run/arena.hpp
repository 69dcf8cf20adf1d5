// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scratch memory of one worker: taken in order, given back all at once, kept for the next call.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET {

/// std::allocator under a name of its own in each instruction set (FOVEA_SET), so that the linker never merges
/// vector<arena> of two sets.
template <class T>
struct set_allocator : std::allocator<T> {
    set_allocator() = default;
    template <class Other>
    set_allocator(set_allocator<Other> const&) noexcept {}
};

}  // namespace fovea::FOVEA_SET

namespace fovea {

/// The panels of keys that the tiles of a call visited: full ones without the mask, mixed ones with it.
struct panel_count {
    index_t full = 0;
    index_t mixed = 0;
};

/// arena: scratch memory of one worker. Memory is taken in order and given back all at once.
///
/// It grows while a shape is new and allocates nothing from then on.
class arena {
public:
    static constexpr std::size_t alignment = 64;

    FOVEA_TAGGED arena() {}
    /// What has been moved from is empty, and may be used again.
    FOVEA_TAGGED arena(arena&& other) noexcept { swap(other); }
    FOVEA_TAGGED arena& operator=(arena&& other) noexcept {
        arena taken(std::move(other));
        swap(taken);
        return *this;
    }
    FOVEA_TAGGED void swap(arena& other) noexcept {
        std::swap(panels, other.panels);
        std::swap(memory_, other.memory_);
        std::swap(capacity_, other.capacity_);
        std::swap(used_, other.used_);
        std::swap(taken_, other.taken_);
        std::swap(overflow_, other.overflow_);
    }

    /// Uninitialised memory for n elements, aligned to a cache line.
    template <class T>
    FOVEA_TAGGED T* take(index_t n) {
        return std::launder(reinterpret_cast<T*>(take_bytes(n * static_cast<index_t>(sizeof(T)))));
    }

    /// The bytes that a use like the last one takes.
    FOVEA_TAGGED FOVEA_INLINE std::size_t wanted() const { return std::max(taken_, capacity_); }

    /// Gives everything back; from then on there is one piece, of what is wanted or of more where that is asked for.
    FOVEA_TAGGED FOVEA_INLINE void clear(std::size_t least = 0) {
        if (std::size_t const bytes = std::max(least, wanted()); bytes > capacity_) {
            overflow_.clear();
            memory_.reset();
            capacity_ = 0;
            memory_ = allocate(bytes);
            capacity_ = bytes;
        }
        used_ = taken_ = 0;
    }

    panel_count panels;

private:
    struct release {
        FOVEA_TAGGED void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{alignment}); }
    };
    using piece = std::unique_ptr<std::byte, release>;
    FOVEA_TAGGED static piece allocate(std::size_t bytes) {
        return piece(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment})));
    }

    /// Not inline: a tile takes many arrays, once for all its rows.
    FOVEA_TAGGED [[gnu::noinline]] std::byte* take_bytes(index_t n) {
        auto const bytes = static_cast<std::size_t>(round_up(n, alignment));
        taken_ += bytes;
        if (used_ + bytes > capacity_) return overflow(bytes);
        auto* const place = memory_.get() + used_;
        used_ += bytes;
        return place;
    }

    /// A piece of its own, until there is one for all.
    FOVEA_TAGGED [[gnu::noinline, gnu::cold]] std::byte* overflow(std::size_t bytes) {
        overflow_.push_back(allocate(bytes));
        return overflow_.back().get();
    }

    piece memory_;
    std::size_t capacity_ = 0;
    std::size_t used_ = 0;
    std::size_t taken_ = 0;
    std::vector<piece, set_allocator<piece>> overflow_;
};

}  // namespace fovea
