// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same calls from units that were compiled for several instruction sets, one after another in both orders.
#include "judge.hpp"

void calls_sse2(surroundings const&);
void calls_avx2(surroundings const&);
void calls_native(surroundings const&);

int main() {
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
    surroundings const plain{[] {}, [] {}, judge::take};
    for (auto const unit : units) unit(plain);
    for (auto unit = units.rbegin(); unit != units.rend(); ++unit) (*unit)(plain);
    std::printf("%zu units: %d of %d calls differ from the definition\n", units.size(), judge::failures, judge::calls);
    return judge::failures == 0 && units.size() > 1 ? 0 : 1;
}
