// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys and values as rows of the type of the arithmetic: in place, or copied block by block.
#pragma once

#include <fovea/driver/dense/dense_rows.hpp>

#include <algorithm>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// Converts rows of one head of a call to T, the type of the arithmetic: (rows, stride).
template <class T>
using convert_function = void (*)(dense_rows const&, row_range const&, T* to, index_t stride);

/// The keys, or values, of one head block by block, as numbers of type T, that of the arithmetic: in place if the plan
/// reads them so, and otherwise converted, or gathered, when a block is first read. Where blocks are used again, the
/// first ones are kept, each in a slot of its own; all others share the last slot.
template <class T>
class number_rows {
    static constexpr index_t most = index_t{1} << 19;  // bytes of all slots
    static constexpr auto size = static_cast<index_t>(sizeof(T));

public:
    /// `features` of each row; `convert` copies rows, unless they are read in place.
    number_rows(dense_rows const& call, stored_rows const& rows, plan::reading how, convert_function<T> convert,
                index_t features)
        : call_(call),
          rows_(rows),
          convert_(how == plan::reading::in_place ? nullptr : convert),
          stride_(round_up(features, 64 / size)) {}

    /// Takes memory for blocks of `block_rows` rows out of `all`: for several blocks where they are used again.
    void take(arena& memory, index_t block_rows, index_t all, bool used_again) {
        if (convert_ == nullptr) return;
        slot_ = block_rows * stride_;
        index_t const kept = used_again ? most / size / std::max<index_t>(slot_, 1) : 1;
        slots_ = std::clamp<index_t>(kept, 1, std::max<index_t>(ceil_div(all, block_rows), 1));
        holds_ = memory.template take<index_t>(slots_);
        converted_ = memory.template take<T>(slots_ * slot_);
    }

    /// Another head: nothing is converted yet.
    void begin() { std::fill_n(holds_, slots_, index_t{-1}); }

    /// The block that rows are read of from now on.
    void prepare(index_t block, row_range const& at) {
        at_ = at;
        block_ = block;
    }

    /// `count` rows from a position of the block on, or the first of them.
    row_run<T> operator()(index_t position, index_t count) const {
        if (convert_ == nullptr) {
            auto const run = rows_.from(at_.batch, at_.head, position, count);
            return {reinterpret_cast<T const*>(run.first), run.stride / size, run.count};
        }
        index_t const slot = std::min(block_, slots_ - 1);
        T* const block = converted_ + slot * slot_;
        if (std::exchange(holds_[slot], block_) != block_) convert_(call_, at_, block, stride_);
        return {block + (position - at_.first) * stride_, stride_, count};
    }

private:
    dense_rows const& call_;
    stored_rows const& rows_;
    convert_function<T> convert_;
    index_t stride_, slot_ = 0, slots_ = 0;  // stride of copied rows, size of a slot, number of them
    index_t* holds_ = nullptr;               // (slots) the block that a slot holds
    T* converted_ = nullptr;                 // (slots, rows of a block, stride)
    index_t block_ = 0;
    row_range at_{};  // the rows of the block
};

}  // namespace fovea::FOVEA_SET::driver
