// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores of one inner product.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct plain : catalogue::specification {
    static constexpr std::string_view name = "dot product, softmax";
    static constexpr bool of_products = true;
    static auto spec() { return dot | softmax | weighted_sum; }
};

struct causal_softmax : catalogue::specification {
    static constexpr std::string_view name = "scaled dot product, causal";
    static constexpr bool of_products = true;
    static auto spec() { return scaled_dot | causal | softmax | weighted_sum; }
};

struct cosine_at_end : catalogue::specification {
    static constexpr std::string_view name = "cosine, causal at the end";
    static constexpr catalogue::limits sizes{.least_features = 2};  // of one, gradients are what rounding leaves of 0
    static auto spec() { return cosine | temperature(0.3) | causal_at_end | softmax | weighted_sum; }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<plain>(), catalogue::compile<causal_softmax>(),
                                        catalogue::compile<cosine_at_end>()};

}  // namespace
