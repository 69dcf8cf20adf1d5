// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys and values on their way around the ring: pieces come in the order of their positions, the next ones while one is
// computed, and each is sent on as soon as it is here.
#pragma once

#include <fovea/driver/dense/piecewise.hpp>
#include <fovea/interop/mpi/exchange.hpp>
#include <fovea/interop/mpi/message.hpp>
#include <fovea/interop/mpi/ways.hpp>
#include <fovea/spec/shapes.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// The keys and values of the pieces that a rank holds or needs, one piece after the other.
template <class K, class V>
class travelling_pieces {
    static constexpr std::size_t slots = 4;  // pieces that are here or on their way at the same time

public:
    /// Errors: std::bad_alloc. Nothing is sent before begin().
    travelling_pieces(MPI_Comm comm, std::vector<held_piece> const& pieces, std::vector<step> const& way,
                      view<K const, 4> const& key, view<V const, 4> const& value, index_t longest, arena& memory)
        : comm_(comm), pieces_(pieces), way_(way), key_(key), value_(value) {
        for (auto& slot : slots_) {
            slot.bytes = memory.take<std::byte>(bytes_of(longest));
            slot.in.reserve(bytes_of(longest));
            slot.out.reserve(bytes_of(longest));
        }
    }
    travelling_pieces(travelling_pieces const&) = delete;
    travelling_pieces& operator=(travelling_pieces const&) = delete;

    traffic const& counts() const { return counts_; }

    /// The piece of step i is here; those of the next steps are on their way, as far as there is room.
    void arrive(std::size_t i) {
        current_ = i;
        if (started_ == i) {
            wait_in(counts_, [&] { slots_[i % slots].out.wait(); });
            start(started_++);
        }
        progress();
        if (!slots_[i % slots].in.done())
            wait_in(counts_, [&] {
                while (!slots_[i % slots].in.done()) progress();
            });
        forward(i);
        if (way_[i].needed) ++counts_.pieces;
    }

    /// What has come is sent on, and what there is room for is asked for. Called between the tasks of a step.
    void progress() {
        while (started_ < std::min(current_ + slots, way_.size()) && slots_[started_ % slots].out.done())
            start(started_++);
        for (std::size_t i = current_; i < started_; ++i)
            if (slots_[i % slots].in.done()) forward(i);
    }

    view<K const, 4> key(std::size_t i) const {
        if (stays(i)) return driver::rows_at(key_, piece(i));
        return {reinterpret_cast<K const*>(slots_[i % slots].bytes), extents(key_, i)};
    }
    view<V const, 4> value(std::size_t i) const {
        if (stays(i)) return driver::rows_at(value_, piece(i));
        auto const* const after_keys = slots_[i % slots].bytes + key_bytes(piece(i).count);
        return {reinterpret_cast<V const*>(after_keys), extents(value_, i)};
    }
    held_piece const& piece(std::size_t i) const { return pieces_[way_[i].piece]; }

    /// After the last step: what was sent has left.
    void end() {
        wait_in(counts_, [&] {
            for (auto& slot : slots_) slot.out.wait();
        });
    }

private:
    struct slot_type {
        std::byte* bytes = nullptr;
        message in, out;
        bool forwarded = true;
    };

    template <class T>
    static index_t rows_bytes(view<T const, 4> const& rows, index_t count) {
        return rows.extent(0) * rows.extent(1) * count * rows.extent(3) * static_cast<index_t>(sizeof(T));
    }
    index_t key_bytes(index_t count) const { return key_bytes_of(rows_bytes(key_, count)); }
    index_t bytes_of(index_t count) const { return piece_bytes_of(rows_bytes(key_, count), rows_bytes(value_, count)); }
    template <class T>
    extents_t<4> extents(view<T const, 4> const& rows, std::size_t i) const {
        return {rows.extent(0), rows.extent(1), piece(i).count, rows.extent(3)};
    }
    /// Whether a piece is held here and sent to nobody: then it is read in place.
    bool stays(std::size_t i) const { return way_[i].from == MPI_PROC_NULL && way_[i].to == MPI_PROC_NULL; }
    static int tag_of(std::size_t piece) { return static_cast<int>(piece % 32768); }

    void start(std::size_t i) {
        auto& slot = slots_[i % slots];
        slot.forwarded = false;
        auto const& at = way_[i];
        if (at.from == MPI_PROC_NULL) {
            if (!stays(i)) {
                pack(key_, key(i), piece(i));
                pack(value_, value(i), piece(i));
            }
            forward(i);
        } else {
            index_t const bytes = bytes_of(piece(i).count);
            slot.in.receive(slot.bytes, bytes, at.from, tag_of(at.piece), comm_);
            counts_.bytes_received += bytes;
        }
    }

    void forward(std::size_t i) {
        auto& slot = slots_[i % slots];
        if (slot.forwarded) return;
        slot.forwarded = true;
        if (way_[i].to == MPI_PROC_NULL) return;
        index_t const bytes = bytes_of(piece(i).count);
        slot.out.send(slot.bytes, bytes, way_[i].to, tag_of(way_[i].piece), comm_);
        counts_.bytes_sent += bytes;
    }

    template <class T>
    static void pack(view<T const, 4> const& rows, view<T const, 4> const& to, held_piece const& piece) {
        auto* place = const_cast<T*>(to.data);
        for (index_t b = 0; b < to.extent(0); ++b)
            for (index_t h = 0; h < to.extent(1); ++h)
                for (index_t n = 0; n < to.extent(2); ++n, place += to.extent(3))
                    std::copy_n(rows.place(b, h, piece.place + n, index_t{0}), to.extent(3), place);
    }

    MPI_Comm comm_;
    std::vector<held_piece> const& pieces_;
    std::vector<step> const& way_;
    view<K const, 4> key_;
    view<V const, 4> value_;
    std::array<slot_type, slots> slots_;
    std::size_t current_ = 0, started_ = 0;
    traffic counts_;
};

}  // namespace fovea::FOVEA_SET::mpi::detail
