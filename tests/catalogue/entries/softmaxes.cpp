// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Softmax with a sink, and of some keys.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct with_sinks : catalogue::specification {
    static constexpr std::string_view name = "softmax with a sink for each head";
    static constexpr bool of_products = true;
    static constexpr auto tables = std::tuple(catalogue::reals<1>{catalogue::of_heads, -2, 2});
    static auto spec(view<float const, 1> const& sinks) {
        return scaled_dot | causal | softmax_with_sink(sinks) | weighted_sum;
    }
};

struct few_of_softmax : catalogue::specification {
    static constexpr std::string_view name = "softmax of the greatest scores";
    static constexpr bool of_products = true;
    static constexpr index_t chosen = 4;
    static constexpr bool reads_batch = true;  // as random numbers do
    static auto spec() { return scaled_dot | gumbel(5) | keep(top_k(4)) | softmax | weighted_sum; }
};

struct above_a_threshold : catalogue::specification {
    static constexpr std::string_view name = "scores above a threshold, in chunks";
    static constexpr bool of_products = true;
    static auto spec() { return scaled_dot | chunked(40) | keep(threshold(-0.5)) | softmax | weighted_sum; }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<with_sinks>(), catalogue::compile<few_of_softmax>(),
                                        catalogue::compile<above_a_threshold>()};

}  // namespace
