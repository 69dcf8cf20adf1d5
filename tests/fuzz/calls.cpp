// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shapes, strides and overlaps of all that a call reads or writes: it is refused with nothing written, or it gives what
// the reference gives on copies; which of the two follows from the extents and from the addresses of all elements.
#include "calls/calls.hpp"

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::bytes in({data, size});
    switch (in.below(6)) {
        case 0:
            fuzz::dense(in);
            break;
        case 1:
            fuzz::tables(in);
            break;
        case 2:
            fuzz::coordinates(in);
            break;
        case 3:
            fuzz::states(in);
            break;
        case 4:
            fuzz::merges(in);
            break;
        default:
            fuzz::formats(in);
    }
    return 0;
}
