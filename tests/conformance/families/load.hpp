// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "case.hpp"

#include <fovea/core/tensor.hpp>

#include <algorithm>
#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace conformance {

/// The extents of a tensor with axes of size 1 added in front until there are `Rank`.
template <int Rank>
fovea::extents_t<Rank> extents(tensor const& t) {
    if (t.shape.size() > Rank)
        throw malformed(t.file.string() + ": has shape " + to_string(t.shape) + ", at most " + std::to_string(Rank)
                        + " axes were expected");
    fovea::extents_t<Rank> sizes;
    sizes.fill(1);
    std::copy_backward(t.shape.begin(), t.shape.end(), sizes.end());
    return sizes;
}

/// A tensor of a case as fovea sees it, with T one of float and double.
template <class T, int Rank>
fovea::tensor<T, Rank> load(tensor const& t) {
    fovea::tensor<T, Rank> loaded(extents<Rank>(t));
    loaded.elements = t.as<T>();
    return loaded;
}

/// A table that an expression indexes by every axis: the mask of a case, repeated along the axes it broadcasts over.
template <class T, int Rank>
struct table {
    std::unique_ptr<T[]> elements;  // std::vector<bool> has no elements to point to
    fovea::extents_t<Rank> sizes{};

    fovea::view<T const, Rank> view() const { return {elements.get(), sizes}; }
};

template <class T, int Rank>
table<T, Rank> broadcast(tensor const& t, fovea::extents_t<Rank> const& sizes) {
    auto const have = extents<Rank>(t);
    auto const values = t.as<std::conditional_t<std::same_as<T, bool>, std::uint8_t, T>>();
    fovea::index_t count = 1;
    for (auto const each : sizes) count *= each;
    table<T, Rank> result{std::make_unique<T[]>(static_cast<std::size_t>(count)), sizes};
    for (fovea::index_t i = 0; i < count; ++i) {
        fovea::index_t rest = i, step = 1, from = 0;
        for (auto axis = static_cast<std::size_t>(Rank); axis-- > 0;) {
            if (have[axis] != 1 && have[axis] != sizes[axis])
                throw malformed(t.file.string() + ": shape " + to_string(t.shape) + " does not broadcast");
            from += have[axis] == 1 ? 0 : rest % sizes[axis] * step;
            step *= have[axis];
            rest /= sizes[axis];
        }
        result.elements[static_cast<std::size_t>(i)] = static_cast<T>(values[static_cast<std::size_t>(from)]);
    }
    return result;
}

}  // namespace conformance
