// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores of products over ranges of features, through a matrix, of functions of features, beside terms.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct two_ranges : catalogue::specification {
    static constexpr std::string_view name = "products over two ranges of features";
    static constexpr catalogue::limits sizes{.least_features = 9};
    static auto spec() {
        return compare(sum(q * k, features(0, 4)) + tanh(sum(q * k, features(4, 9)))) | prefix_lm(4) | softmax
             | weighted_sum;
    }
};

struct bilinear : catalogue::specification {
    static constexpr std::string_view name = "product through a matrix";
    static constexpr bool in_pages = false, in_few_bits = false;
    static constexpr catalogue::limits sizes{.heads = 1, .key_heads = 1, .least_features = 1};
    static constexpr auto tables = std::tuple(catalogue::reals<2>{
        [](catalogue::drawn_sizes const& n) { return extents_t<2>{n.features, n.features}; }, -0.2, 0.2});
    static auto spec(view<float const, 2> const& matrix) { return general(matrix) | softmax_plus_one | weighted_sum; }
};

struct mapped_features : catalogue::specification {
    static constexpr std::string_view name = "product of mapped features";
    static auto spec() { return feature_map(elu(q) + 1) | causal | proportional | weighted_sum; }
};

struct terms_of_sides : catalogue::specification {
    static constexpr std::string_view name = "a product beside terms of the query and of the key";
    static constexpr auto tables = std::tuple(catalogue::reals<1>{catalogue::of_features, -0.3, 0.3});
    static auto spec(view<float const, 1> const& w) {
        return compare(tanh(sum(q * k) * rsqrt(dim) + sum(q * param(w)) * sum(tanh(k) * param(w)))) | chunked(17)
             | softmax | weighted_sum;
    }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<two_ranges>(), catalogue::compile<bilinear>(),
                                        catalogue::compile<mapped_features>(), catalogue::compile<terms_of_sides>()};

}  // namespace
