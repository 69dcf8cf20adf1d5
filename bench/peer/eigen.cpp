// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigen, step by step, every score stored.
#include "bench/peer/peer.hpp"

#include <Eigen/Core>

namespace bench::peer {
namespace {

std::string version() {
    return std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "."
         + std::to_string(EIGEN_MINOR_VERSION);
}

template <class T>
library<T> eigen() {
    return {"eigen", version(), [](auto const&, shape const&) { return true; },
            [](request<T> const& asked) {
                return program{[&o = asked.o, steps = asked.steps] {
                    unfused::attend<T>(o.query.view(), o.key.view(), o.value.view(), o.result.view(), steps);
                }};
            }};
}

entry<float> const singles(eigen<float>());
entry<double> const doubles(eigen<double>());

}  // namespace
}  // namespace bench::peer
