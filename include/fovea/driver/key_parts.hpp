// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/arena.hpp>
#include <fovea/kernel/lanes.hpp>
#include <fovea/plan/normalizing.hpp>

namespace fovea::FOVEA_SET::driver {

/// What the rows of all heads have come to over each part of the keys.
template <class T, class Arch, class Normalizing>
class partial_rows {
public:
    using state = typename Normalizing::state;

    partial_rows(arena& memory, index_t heads, index_t parts, index_t rows, index_t width)
        : parts_(parts),
          rows_(rows),
          width_(width),
          sums_(memory.take<T>(heads * parts * rows * width)),
          states_(memory.take<state>(heads * parts * rows)) {}

    T* sums(index_t head, index_t part) const { return sums_ + (head * parts_ + part) * rows_ * width_; }
    state* states(index_t head, index_t part) const { return states_ + (head * parts_ + part) * rows_; }

    /// Joins the parts of one row, one after the other, in the first.
    template <class Normalizer>
    void join(Normalizer const& normalizer, index_t head, index_t row) const {
        using vector = kernel::pack<T, Arch>;
        T* const sum = sums(head, 0) + row * width_;
        for (index_t p = 1; p < parts_; ++p) {
            auto const [own, others] = Normalizing::merge(normalizer, states(head, 0)[row], states(head, p)[row]);
            T const* const other = sums(head, p) + row * width_;
            for (index_t c = 0; c < width_; c += vector::lanes)
                fma(vector::load(other + c), vector(others), vector::load(sum + c) * vector(own)).store(sum + c);
        }
    }

private:
    index_t parts_, rows_, width_;
    T* sums_;        // (head, part, row, width)
    state* states_;  // (head, part, row)
};

}  // namespace fovea::FOVEA_SET::driver
