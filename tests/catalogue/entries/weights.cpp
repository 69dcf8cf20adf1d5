// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights that are divided, changed, the same for all, or of one's own.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct over_absolutes : catalogue::specification {
    static constexpr std::string_view name = "scores over the sum of their absolute values";
    static constexpr bool of_products = true;
    static auto spec() { return scaled_dot | sliding_window(9, 3) | l1_weights | weighted_sum; }
};

struct gates_of_weights : catalogue::specification {
    static constexpr std::string_view name = "weights times a table";
    static constexpr auto tables = std::tuple(catalogue::reals<1>{catalogue::of_heads, 0.5, 1.5});
    static auto spec(view<float const, 1> const& gates) {
        return scaled_dot | causal | sparsemax | reweight(tanh(weight) * param(gates)[head]) | weighted_sum;
    }
};

struct same_for_all : catalogue::specification {
    static constexpr std::string_view name = "the same weight for all keys";
    static constexpr bool of_products = true;
    static auto spec() { return dot | where(kv_idx <= q_idx + 3) | uniform | weighted_sum; }
};

/// Words of a user's own: weights from one score alone, and the greatest product of weight and value.
struct softplus_t : stage<role::normalizer> {
    static constexpr std::string_view name = "softplus";
    template <class V>
    static V weight(V const& score) {
        using std::exp, std::log;
        return log(exp(score) + V(1));
    }
};
struct greatest_t : stage<role::aggregator> {
    static constexpr std::string_view name = "greatest";
    template <class V, class W>
    static constexpr V step(V const& sum, W const& weight, V const& value) {
        using std::max;
        return max(sum, V(weight * value));
    }
};
struct own_words : catalogue::specification {
    static constexpr std::string_view name = "a normalizer and an aggregator of one's own";
    static auto spec() { return scaled_dot | causal | softplus_t{} | greatest_t{}; }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<over_absolutes>(), catalogue::compile<gates_of_weights>(),
                                        catalogue::compile<same_for_all>(), catalogue::compile<own_words>()};

}  // namespace
