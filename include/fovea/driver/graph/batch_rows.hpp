// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of one batch element as plain addresses, for loops over edges.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/row_run.hpp>

#include <utility>

namespace fovea::FOVEA_SET::driver {

/// The distance between the heads of one position, 0 where rows are not a plain view.
template <class Rows>
index_t head_stride(Rows const& rows) {
    if constexpr (evenly_spaced<Rows>) return rows.stride(1);
    else return 0;
}

/// The bytes of one position, all heads.
template <class Rows>
index_t position_bytes(Rows const& rows) {
    return rows.extent(1) * rows.extent(3) * static_cast<index_t>(sizeof(*rows.place(0, 0, 0, 0)));
}

/// The rows of one batch: of a view only what a loop over pairs needs, so that it stays in registers.
template <class Rows>
class batch_rows {
public:
    using pointer = decltype(std::declval<Rows const&>().place(0, 0, 0, 0));

    batch_rows(Rows const& rows, index_t batch) : rows_(&rows), batch_(batch) {}
    FOVEA_INLINE pointer operator()(index_t head, index_t position) const {
        return rows_->place(batch_, head, position, 0);
    }

private:
    Rows const* rows_;
    index_t batch_;
};

template <evenly_spaced Rows>
class batch_rows<Rows> {
public:
    using pointer = decltype(std::declval<Rows const&>().place(0, 0, 0, 0));

    batch_rows(Rows const& rows, index_t batch)
        : first_(rows.place(batch, 0, 0, 0)), head_(rows.stride(1)), position_(rows.stride(2)) {}
    FOVEA_INLINE pointer operator()(index_t head, index_t position) const {
        return first_ + (head * head_ + position * position_);
    }

private:
    pointer first_;
    index_t head_, position_;  // strides, elements
};

}  // namespace fovea::FOVEA_SET::driver
