// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights that go by key.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct sigmoids : catalogue::specification {
    static constexpr std::string_view name = "sigmoid of each score";
    static constexpr bool of_products = true;
    static constexpr auto tables = std::tuple(catalogue::reals<1>{catalogue::of_heads});
    static auto spec(view<float const, 1> const& shifts) {
        return scaled_dot | causal | weigh(sigmoid(score - param(shifts)[head])) | weighted_sum;
    }
};

struct over_their_sum : catalogue::specification {
    static constexpr std::string_view name = "functions of scores over their sum";
    static constexpr bool of_products = true;
    static auto spec() { return scaled_dot | normalized(square(relu(score)), 1e-3) | weighted_sum; }
};

struct averages : catalogue::specification {
    static constexpr std::string_view name = "averages of a function of scores";
    static auto spec() { return scaled_dot | causal_at_end | averaged(silu(score)) | weighted_sum; }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<sigmoids>(), catalogue::compile<over_their_sum>(),
                                        catalogue::compile<averages>()};

}  // namespace
