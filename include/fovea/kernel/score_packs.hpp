// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What rows of scores do with one pack, however they lie.
#pragma once

#include <fovea/kernel/lanes.hpp>
#include <fovea/spec/row.hpp>

namespace fovea::kernel {

/// The greater score of each lane.
template <class T, class Arch>
FOVEA_INLINE pack<T, Arch> greater(pack<T, Arch> const& a, pack<T, Arch> const& b) {
    return {pack<T, Arch>::operations::max(a.value, b.value)};
}

/// A pack of scores becomes f of it; 0 for excluded ones, unless the normalizer says that f gives that itself.
template <class Normalize, class T, class Arch, class F>
FOVEA_INLINE pack<T, Arch> weigh_pack(F const& f, T* at) {
    using vector = pack<T, Arch>;
    auto const score = vector::load(at);
    vector w(f(score));
    if constexpr (!requires { requires Normalize::excluded_vanish; })
        w = select(score == vector(excluded<T>), vector(T{0}), w);
    w.store(at);
    return w;
}

}  // namespace fovea::kernel
