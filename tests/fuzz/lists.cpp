// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of a call that may hold anything: offsets and keys of graphs, tables of pages, offsets of ragged batches.
#include "calls/calls.hpp"

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::bytes in({data, size});
    switch (in.below(3)) {
        case 0:
            fuzz::graphs(in);
            break;
        case 1:
            fuzz::pages(in);
            break;
        default:
            fuzz::sequences(in);
    }
    return 0;
}
