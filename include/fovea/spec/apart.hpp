// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/spec/shapes.hpp>

#include <type_traits>

namespace fovea::detail {

/// What is written may be what is read, element by element; otherwise they must not overlap.
///
/// Errors: shape_error naming the two.
template <class Written, class Read, int RankW, int RankR>
void require_same_or_apart(view<Written, RankW> const& written, char const* name, view<Read, RankR> const& read,
                           char const* other) {
    if constexpr (RankW == RankR && std::is_same_v<std::remove_const_t<Read>, Written>)
        if (written.data == read.data && written.extents == read.extents && written.strides == read.strides) return;
    require_apart(written, name, read, other);
}

}  // namespace fovea::detail
