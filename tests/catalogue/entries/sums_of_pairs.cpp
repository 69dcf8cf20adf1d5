// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores that are summed for each pair; tanh also where exponentials, or only their products, leave their range.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct manhattan : catalogue::specification {
    static constexpr std::string_view name = "sum of absolute differences";
    static auto spec() { return l1_distance(2) | (sliding_window(2, 2) || global_tokens(2)) | softmax | weighted_sum; }
};

struct additive_network : catalogue::specification {
    static constexpr std::string_view name = "additive network";
    static constexpr catalogue::limits sizes{.greatest = 60};
    static constexpr auto tables = std::tuple(catalogue::reals<1>{catalogue::of_features, -0.5, 0.5});
    static auto spec(view<float const, 1> const& v) { return additive(v) | softmax | weighted_sum; }
};

struct network_by_head : catalogue::specification {
    static constexpr std::string_view name = "additive network of each head";
    static constexpr catalogue::limits sizes{.greatest = 60};
    static constexpr auto tables = std::tuple(catalogue::reals<2>{catalogue::of_head_features, -0.5, 0.5});
    static auto spec(view<float const, 2> const& a) {
        return compare(sum(param(a)[head] * tanh(k + 2 * q)) / 3) | causal | softmax | weighted_sum;
    }
};

struct squares_of_tanh : catalogue::specification {
    static constexpr std::string_view name = "squares of tanh of sums";
    static constexpr catalogue::limits sizes{.greatest = 40};
    static auto spec() { return compare(sum(square(tanh(q + k)))) | softmax | weighted_sum; }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<manhattan>(), catalogue::compile<additive_network>(),
                                        catalogue::compile<network_by_head>(), catalogue::compile<squares_of_tanh>()};

}  // namespace
