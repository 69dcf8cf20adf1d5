// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A few hundred pairs per head: what is left when the fixed cost of a call weighs.
#include "bench/pair_rows.hpp"

namespace {

bench::family const rows([] {
    bench::add_pair_rows(bench::variant<float, decltype(bench::plain)>{"small", bench::plain},
                         {.heads = 8, .length = 16, .size = 16}, 16 * 16);
});

}  // namespace
