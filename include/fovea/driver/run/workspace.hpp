// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scratch memory: an arena for each worker, taken in order and given back all at once, and the workspace that a caller
// keeps between calls, or has the memory of.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>
#include <fovea/core/subnormals.hpp>
#include <fovea/core/view.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
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
    /// An arena in memory that is not its own; where it only measures, a call takes what it needs and stops.
    FOVEA_TAGGED arena(std::byte* lent, std::size_t bytes, bool measures)
        : memory_(lent, release{true}), capacity_(bytes), measures_(measures) {}
    /// An arena that has been moved from is empty, and may be used again.
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
        std::swap(spare_, other.spare_);
        std::swap(spare_bytes_, other.spare_bytes_);
        std::swap(measures_, other.measures_);
    }

    /// Uninitialised memory for n elements, aligned to a cache line.
    template <class T>
    FOVEA_TAGGED T* take(index_t n) {
        return std::launder(reinterpret_cast<T*>(take_bytes(n * static_cast<index_t>(sizeof(T)))));
    }

    FOVEA_TAGGED bool measures() const { return measures_; }
    /// The bytes that have been taken.
    FOVEA_TAGGED std::size_t taken() const { return taken_; }
    /// An arena in what has not been taken.
    FOVEA_TAGGED arena rest() const { return {memory_.get() + used_, capacity_ - used_, measures_}; }

    /// The bytes that a use like the last one takes.
    FOVEA_TAGGED FOVEA_INLINE std::size_t wanted() const { return std::max(taken_, capacity_); }

    /// Gives everything back; from then on there is one piece, of what is wanted or of more where that is asked for.
    FOVEA_TAGGED FOVEA_INLINE void clear(std::size_t least = 0) {
        if (std::size_t const bytes = std::max(least, wanted()); bytes > capacity_) {
            overflow_.clear();
            spare_bytes_ = 0;
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
        bool lent;
        FOVEA_TAGGED void operator()(std::byte* p) const {
            if (!lent) ::operator delete(p, std::align_val_t{alignment});
        }
    };
    using piece = std::unique_ptr<std::byte, release>;
    FOVEA_TAGGED static piece allocate(std::size_t bytes) {
        return piece(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment})), release{});
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

    /// A part of another piece, until there is one for all: of at least as many bytes as have been taken, up to a
    /// limit, so that many small arrays need few pieces.
    FOVEA_TAGGED [[gnu::noinline, gnu::cold]] std::byte* overflow(std::size_t bytes) {
        if (bytes > spare_bytes_) {
            constexpr std::size_t most = std::size_t{1} << 16;
            std::size_t const all = std::max(bytes, std::min(taken_, most));
            overflow_.push_back(allocate(all));
            spare_ = overflow_.back().get();
            spare_bytes_ = all;
        }
        spare_bytes_ -= bytes;
        return std::exchange(spare_, spare_ + bytes);
    }

    piece memory_;
    std::size_t capacity_ = 0;
    std::size_t used_ = 0;
    std::size_t taken_ = 0;
    std::vector<piece, set_allocator<piece>> overflow_;
    std::byte* spare_ = nullptr;  // of the last of them, what has not been taken
    std::size_t spare_bytes_ = 0;
    bool measures_ = false;
};

/// workspace: the scratch memory of calls, kept by the caller so that repeated calls allocate nothing.
///
/// One call at a time may use it. Its size is linear in the number of queries and keys. One that was moved from is
/// empty, and may be used again.
/// Errors: std::logic_error where a call uses it while another does.
class workspace {
public:
    static constexpr int turn_before_specification = 1;  // after an executor

    FOVEA_TAGGED workspace() {}
    /// A workspace of one worker in memory of the caller's; or one with which a call measures what it needs there.
    FOVEA_TAGGED workspace(std::byte* lent, std::size_t bytes, bool measures)
        : shared_(lent, bytes, measures), lent_(true) {}
    FOVEA_TAGGED workspace(workspace&&) noexcept = default;
    FOVEA_TAGGED workspace& operator=(workspace&&) noexcept = default;
    FOVEA_TAGGED [[gnu::cold]] ~workspace() {}

    /// A call that uses the workspace, from here to the end of a scope; subnormal numbers count as 0 meanwhile.
    class call {
    public:
        FOVEA_TAGGED FOVEA_INLINE explicit call(workspace& scratch) : used_(scratch.in_use_.value) {
            if (used_.test_and_set(std::memory_order_acquire)) [[unlikely]]
                refuse();
        }
        call(call const&) = delete;
        call& operator=(call const&) = delete;
        FOVEA_TAGGED FOVEA_INLINE ~call() { used_.clear(std::memory_order_release); }

    private:
        FOVEA_TAGGED [[noreturn, gnu::cold]] static void refuse() {
            raise_error(std::logic_error("workspace: another call is using it: calls at the same time need one each"));
        }
        std::atomic_flag& used_;
        subnormals_as_zero mode_;
    };

    /// The scratch of one worker.
    FOVEA_TAGGED arena& worker(index_t w) {
        if (lent_) [[unlikely]]
            return rest_for_task();
        return arenas_[static_cast<std::size_t>(w)];
    }
    /// All workers get what the one with the most has taken so far: which of them find work differs from call to call.
    FOVEA_TAGGED FOVEA_INLINE void prepare(index_t workers) {
        if (lent_) needed_ = needed();
        while (!lent_ && static_cast<index_t>(arenas_.size()) < workers) arenas_.emplace_back();
        std::size_t const bytes = wanted();
        shared_.clear();
        for (auto& a : arenas_) {
            a.clear(workers-- > 0 ? bytes : 0);
            a.panels = {};
        }
    }
    /// Memory that the workers of a call share: projected operands, terms of one side, sums of split keys.
    FOVEA_TAGGED arena& shared() { return shared_; }

    FOVEA_TAGGED bool measures() const { return shared_.measures(); }
    /// Of tasks that take the same memory, how many are run.
    FOVEA_TAGGED index_t tasks(index_t count) const { return measures() ? std::min(count, index_t{1}) : count; }
    /// The most bytes of lent memory that calls and one of their tasks have taken together.
    FOVEA_TAGGED std::size_t needed() const { return std::max(needed_, shared_.taken() + rest_.taken()); }

    /// The panels of keys that the tiles of the last call visited, over all workers.
    FOVEA_TAGGED panel_count tiles() const {
        panel_count all;
        for (auto const& a : arenas_) {
            all.full += a.panels.full;
            all.mixed += a.panels.mixed;
        }
        return all;
    }

    /// Workspaces of calls that run side by side, one for each worker.
    FOVEA_TAGGED workspace& nested(index_t worker) { return nested_[static_cast<std::size_t>(worker)]; }
    FOVEA_TAGGED void prepare_nested(index_t workers) {
        while (static_cast<index_t>(nested_.size()) < workers) nested_.emplace_back();
        std::size_t own = 0, common = 0;
        for (auto const& each : nested_) {
            own = std::max(own, each.wanted());
            common = std::max(common, each.shared_.wanted());
        }
        for (auto& each : nested_) {
            each.prepare(1);
            each.worker(0).clear(own);
            each.shared_.clear(common);
        }
    }

private:
    FOVEA_TAGGED [[gnu::noinline, gnu::cold]] arena& rest_for_task() {
        needed_ = needed();
        return rest_ = shared_.rest();
    }
    FOVEA_TAGGED FOVEA_INLINE std::size_t wanted() const {
        std::size_t bytes = 0;
        for (auto const& a : arenas_) bytes = std::max(bytes, a.wanted());
        return bytes;
    }

    /// Not moved with the memory.
    struct flag {
        std::atomic_flag value;
        FOVEA_TAGGED flag() {}
        FOVEA_TAGGED flag(flag&&) noexcept {}
        FOVEA_TAGGED flag& operator=(flag&&) noexcept { return *this; }
    };

    flag in_use_;
    std::vector<arena, set_allocator<arena>> arenas_;
    arena shared_, rest_;
    std::vector<workspace, set_allocator<workspace>> nested_;
    bool lent_ = false;
    std::size_t needed_ = 0;
};

}  // namespace fovea

namespace fovea::FOVEA_SET::driver {

/// Rows in the scratch memory that the workers of a call share.
template <class T>
view<T, 4> fresh_rows(workspace& scratch, extents_t<4> const& extents) {
    return {scratch.shared().template take<T>(view<T, 4>(nullptr, extents).size()), extents};
}

}  // namespace fovea::FOVEA_SET::driver
