// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// upcoming: what follows an element of rows that are read one after the other, each from front to back, far enough
/// behind it for memory to answer in time. It may lie behind the last row: it is asked for, not read.
class upcoming {
public:
    static constexpr index_t line = 64;

    /// Rows of so many bytes, one every `stride` bytes.
    upcoming(index_t bytes, index_t stride) : distance_((reach + bytes) / std::max(bytes, line) * stride) {}

    FOVEA_INLINE void ask(void const* from) const { __builtin_prefetch(static_cast<char const*>(from) + distance_); }

private:
    static constexpr index_t reach = 12288;

    index_t distance_;  // bytes
};

/// coming_lines: the cache lines of rows that are read some time later, asked for one at a time between other work.
class coming_lines {
public:
    coming_lines() = default;
    /// Rows of so many bytes, one every `stride` bytes.
    coming_lines(void const* first, index_t rows, index_t bytes, index_t stride)
        : at_(static_cast<char const*>(first)),
          per_row_((bytes + upcoming::line - 1) / upcoming::line),
          in_row_(per_row_),
          left_(rows * per_row_),
          gap_(stride - per_row_ * upcoming::line) {}

    FOVEA_INLINE void ask() {
        if (left_ == 0) return;
        --left_;
        __builtin_prefetch(at_, 0, 3);
        at_ += upcoming::line;
        if (--in_row_ > 0) return;
        in_row_ = per_row_;
        at_ += gap_;
    }
    bool done() const { return left_ == 0; }

private:
    char const* at_ = nullptr;
    index_t per_row_ = 0, in_row_ = 0, left_ = 0, gap_ = 0;
};

/// The same for work that leaves no room for more.
struct no_lines {
    FOVEA_INLINE void ask() {}
};

/// Asks for what follows so many elements.
template <index_t Count, class Element>
FOVEA_INLINE void ask(upcoming const& next, Element const* from) {
    constexpr index_t bytes = Count * static_cast<index_t>(sizeof(Element));
    for (index_t byte = 0; byte < bytes; byte += upcoming::line) next.ask(reinterpret_cast<char const*>(from) + byte);
}

}  // namespace fovea::FOVEA_SET::kernel
