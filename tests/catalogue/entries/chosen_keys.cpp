// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights of one key, and the greatest of weighted values.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct hard : catalogue::specification {
    static constexpr std::string_view name = "the best key alone";
    static constexpr bool of_products = true;
    static constexpr index_t chosen = 1;
    static auto spec() { return scaled_dot | where(kv_idx % 5 != 3) | hardmax | weighted_sum; }
};

struct hard_with_gradient : catalogue::specification {
    static constexpr std::string_view name = "the best key, with the gradient of softmax";
    static constexpr index_t chosen = 1;
    static constexpr bool differences = false;
    static auto spec() { return scaled_dot | causal | straight_through | weighted_sum; }
};

struct maxima : catalogue::specification {
    static constexpr std::string_view name = "greatest weighted values";
    static constexpr bool of_products = true;
    static auto spec() { return dot | sliding_window(12, 0) | softmax | max_pool; }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<hard>(), catalogue::compile<hard_with_gradient>(),
                                        catalogue::compile<maxima>()};

}  // namespace
