// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pieces on their way around the ring, of keys and values, or of queries: they come in the order of their positions,
// the next ones while one is computed, and each is sent on as soon as it is here.
#pragma once

#include <fovea/interop/mpi/exchange.hpp>
#include <fovea/interop/mpi/message.hpp>
#include <fovea/interop/mpi/ways.hpp>
#include <fovea/parts/piecewise.hpp>
#include <fovea/spec/shapes.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// The rows that some arrays have of the pieces that a rank holds or needs, one piece after the other.
template <class... E>
class travelling_pieces {
    static constexpr std::size_t slots = 4;  // pieces that are here or on their way at the same time

public:
    /// Errors: std::bad_alloc. Nothing is sent before begin().
    travelling_pieces(MPI_Comm comm, std::vector<held_piece> const& pieces, std::vector<step> const& way,
                      index_t longest, arena& memory, view<E const, 4> const&... arrays)
        : comm_(comm), pieces_(pieces), way_(way), arrays_(arrays...) {
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

    /// The rows of array N of a step.
    template <std::size_t N>
    auto rows(std::size_t i) const {
        auto const& all = std::get<N>(arrays_);
        using rows_type = std::remove_cvref_t<decltype(all)>;
        if (stays(i)) return driver::rows_at(all, piece(i));
        return rows_type{reinterpret_cast<decltype(all.data)>(slots_[i % slots].bytes + place_of<N>(piece(i).count)),
                         {all.extent(0), all.extent(1), piece(i).count, all.extent(3)}};
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
    index_t bytes_of(index_t count) const {
        return std::apply([&](auto const&... all) { return piece_bytes_of({rows_bytes(all, count)...}); }, arrays_);
    }
    /// Where array N begins in a piece.
    template <std::size_t N>
    index_t place_of(index_t count) const {
        return [&]<std::size_t... Before>(std::index_sequence<Before...>) {
            return (index_t{0} + ... + lines_of(rows_bytes(std::get<Before>(arrays_), count)));
        }(std::make_index_sequence<N>());
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
                [&]<std::size_t... N>(std::index_sequence<N...>) {
                    (pack(std::get<N>(arrays_), rows<N>(i), piece(i)), ...);
                }(std::index_sequence_for<E...>());
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
    std::tuple<view<E const, 4>...> arrays_;
    std::array<slot_type, slots> slots_;
    std::size_t current_ = 0, started_ = 0;
    traffic counts_;
};

}  // namespace fovea::FOVEA_SET::mpi::detail
