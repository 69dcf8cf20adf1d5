// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the offsets of ragged are one list of integers
#include <fovea/spec/ragged.hpp>

using namespace fovea;

auto sequences_of(view<int const, 2> table, view<int const, 1> offsets) {
#ifdef FOVEA_BROKEN
    static_cast<void>(offsets);
    return ragged(table);
#else
    static_cast<void>(table);
    return ragged(offsets);
#endif
}
