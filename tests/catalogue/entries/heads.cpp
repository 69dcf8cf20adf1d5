// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Heads that are cut from the operands, and heads with a network of their own.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

using catalogue::drawn_sizes;
using catalogue::operand_extents;

/// (batch, position, feature) of queries, of keys and of values, to so many features of the result.
template <index_t QueryFeatures = 0>
operand_extents of_sources(drawn_sizes const& n, index_t of_result) {
    return {{n.batches, 1, n.queries, QueryFeatures > 0 ? QueryFeatures : n.features},
            {n.batches, 1, n.keys, QueryFeatures > 0 ? QueryFeatures : n.features},
            {n.batches, 1, n.keys, n.value_features},
            {n.batches, 1, n.queries, of_result}};
}

template <index_t Outputs>
extents_t<2> to_compared(drawn_sizes const& n) {
    return {n.features, Outputs};
}
template <index_t Outputs>
extents_t<2> to_values(drawn_sizes const& n) {
    return {n.value_features, Outputs};
}
template <index_t Elements>
extents_t<1> so_many(drawn_sizes const&) {
    return {Elements};
}

/// Heads that are cut from the operands as they are.
struct cut_heads : catalogue::specification {
    static constexpr std::string_view name = "heads cut from the operands, normalized and turned";
    static constexpr catalogue::limits sizes{.heads = 3, .key_heads = 3, .features = 12, .value_features = 15};
    static constexpr bool in_pages = false, in_few_bits = false;
    static operand_extents extents(drawn_sizes const& n) { return of_sources(n, 5); }
    static constexpr auto tables =
        std::tuple(catalogue::reals<1>{so_many<4>, 0.5, 2}, catalogue::reals<1>{so_many<2>, 0.01, 0.5});
    static auto spec(view<float const, 1> const& gain, view<float const, 1> const& frequencies) {
        return project(as_is | rms_normalized(gain), as_is | l2_normalized | rotary.frequencies(frequencies), as_is,
                       heads<3>)
             | scaled_dot | sliding_window(9, 9) | softmax | weighted_sum | mean_heads
             | map(elu(fovea::placeholders::out));
    }
};

/// Queries of one projection, keys and values of the same.
struct cross_layer : catalogue::specification {
    static constexpr std::string_view name = "a layer of additive scores with a table in its result";
    static constexpr catalogue::limits sizes{.heads = 2, .key_heads = 2, .least_features = 1};
    static constexpr bool in_pages = false, in_few_bits = false;
    static operand_extents extents(drawn_sizes const& n) { return of_sources(n, 6); }
    static constexpr auto tables =
        std::tuple(catalogue::reals<2>{to_compared<8>, -0.3, 0.3}, catalogue::reals<2>{to_values<6>, -0.3, 0.3},
                   catalogue::reals<1>{so_many<4>}, catalogue::reals<1>{so_many<6>});
    static auto spec(view<float const, 2> const& wq, view<float const, 2> const& wv, view<float const, 1> const& v,
                     view<float const, 1> const& shift) {
        return project(linear(wq), linear(wq), linear(wv), heads<2>) | additive(v) | causal_at_end | sparsemax
             | weighted_sum | concat_heads | map(tanh(fovea::placeholders::out + param(shift)));
    }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<cut_heads>(), catalogue::compile<cross_layer>()};

}  // namespace
