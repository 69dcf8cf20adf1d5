// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights of whole rows.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct sparse : catalogue::specification {
    static constexpr std::string_view name = "sparsemax";
    static constexpr bool of_products = true;
    static auto spec() { return scaled_dot | causal | sparsemax | weighted_sum; }
};

struct half_sparse : catalogue::specification {
    static constexpr std::string_view name = "entmax of 1.5";
    static constexpr bool of_products = true;
    static auto spec() { return dot | entmax15 | weighted_sum; }
};

struct any_sparse : catalogue::specification {
    static constexpr std::string_view name = "entmax of any alpha";
    static constexpr bool of_products = true;
    static auto spec() { return scaled_dot | sliding_window(30, 30) | entmax(1.25) | weighted_sum; }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<sparse>(), catalogue::compile<half_sparse>(),
                                        catalogue::compile<any_sparse>()};

}  // namespace
