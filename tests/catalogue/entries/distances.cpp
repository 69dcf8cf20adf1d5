// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores that are distances, taken apart into products where that loses nothing.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct gaussian_kernel : catalogue::specification {
    static constexpr std::string_view name = "gaussian of a distance";
    static auto spec() { return gaussian(2.5) | where(kv_idx % 3 != 1) | softmax | weighted_sum; }
};

struct function_of_distance : catalogue::specification {
    static constexpr std::string_view name = "function of a squared distance";
    static auto spec() {
        return compare(exp(-squared_distance(q, k) / (1 + dim))) | causal | unnormalized | weighted_sum;
    }
};

struct weighted_distance : catalogue::specification {
    static constexpr std::string_view name = "squared distance with a weight for each feature";
    static constexpr auto tables = std::tuple(catalogue::reals<1>{catalogue::of_features, 0, 0.3});
    static auto spec(view<float const, 1> const& w) {
        return compare(-sum(square(q - k) * param(w))) | causal | softmax | weighted_sum;
    }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<gaussian_kernel>(),
                                        catalogue::compile<function_of_distance>(),
                                        catalogue::compile<weighted_distance>()};

}  // namespace
