// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same calls from units that were compiled for several instruction sets, and for size (FOVEA_SIZE), one after
// another in both orders, in one mode of the floating-point unit, which the first argument names.
#include "mode.hpp"

#include <vector>

void calls_sse2(surroundings const&);
void calls_avx2(surroundings const&);
void calls_native(surroundings const&);
void calls_size(surroundings const&);

int main(int argc, char** argv) {
    std::vector<void (*)(surroundings const&)> units;
#ifdef HAS_sse2
    units.push_back(calls_sse2);
#endif
#ifdef HAS_avx2
    units.push_back(calls_avx2);
#endif
#ifdef HAS_native
    units.push_back(calls_native);
#endif
#ifdef HAS_size
    units.push_back(calls_size);
#endif
    std::printf("%zu units\n", units.size());
    if (units.size() < 2) return 1;
    return run_in_mode(argc, argv, [&](surroundings const& around) {
        for (auto const unit : units) unit(around);
        for (auto unit = units.rbegin(); unit != units.rend(); ++unit) (*unit)(around);
    });
}
