// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigen, step by step, every score stored.
#include "bench/peer/peer.hpp"

namespace bench::peer {
namespace {

template <class T>
library<T> eigen() {
    return {"eigen", [](auto const&, bool) { return true; },
            [](request<T> const& asked) {
                return [&o = asked.o, steps = asked.steps] {
                    unfused::attend<T>(o.query.view(), o.key.view(), o.value.view(), o.result.view(), steps);
                };
            }};
}

entry<float> const singles(eigen<float>());
entry<double> const doubles(eigen<double>());

}  // namespace
}  // namespace bench::peer
