// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention with projections, heads that it makes itself, and finishes.
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

/// Four query heads of 6 features over two key heads, values of 5.
struct grouped_layer : catalogue::specification {
    static constexpr std::string_view name = "a layer of grouped heads";
    static constexpr catalogue::limits sizes{.heads = 4, .key_heads = 2, .least_features = 1, .square = true};
    static constexpr bool in_pages = false, in_few_bits = false;
    static operand_extents extents(drawn_sizes const& n) { return of_sources(n, n.features); }
    static constexpr auto tables =
        std::tuple(catalogue::reals<2>{to_compared<24>, -0.3, 0.3}, catalogue::reals<1>{so_many<24>},
                   catalogue::reals<2>{to_compared<12>, -0.3, 0.3}, catalogue::reals<2>{to_values<10>, -0.3, 0.3},
                   catalogue::reals<2>{[](drawn_sizes const& n) { return extents_t<2>{20, n.features}; }, -0.3, 0.3});
    static auto spec(view<float const, 2> const& wq, view<float const, 1> const& bq, view<float const, 2> const& wk,
                     view<float const, 2> const& wv, view<float const, 2> const& wo) {
        return project(linear(wq, bq) | rotary, linear(wk) | rotary, linear(wv), heads<4, 2>) | scaled_dot | causal
             | softmax | weighted_sum | concat_heads | output(wo) | residual;
    }
};

/// Sources that are normalized, or brought to few features, before their matrices; two heads of 4 features.
struct normalized_layer : catalogue::specification {
    static constexpr std::string_view name = "a layer of normalized rows";
    static constexpr catalogue::limits sizes{.heads = 2, .key_heads = 2, .least_features = 1, .square = true};
    static constexpr bool in_pages = false, in_few_bits = false;
    static operand_extents extents(drawn_sizes const& n) { return of_sources(n, n.features); }
    static constexpr auto tables =
        std::tuple(catalogue::reals<1>{[](drawn_sizes const& n) { return extents_t<1>{n.features}; }, 0.5, 1.5},
                   catalogue::reals<1>{[](drawn_sizes const& n) { return extents_t<1>{n.features}; }, -0.5, 0.5},
                   catalogue::reals<2>{to_compared<8>, -0.5, 0.5}, catalogue::reals<2>{to_compared<3>, -0.5, 0.5},
                   catalogue::reals<2>{[](drawn_sizes const&) { return extents_t<2>{3, 8}; }, -0.5, 0.5},
                   catalogue::reals<2>{to_values<8>, -0.3, 0.3},
                   catalogue::reals<2>{[](drawn_sizes const& n) { return extents_t<2>{8, n.features}; }, -0.3, 0.3});
    static auto spec(view<float const, 1> const& gain, view<float const, 1> const& bias, view<float const, 2> const& wq,
                     view<float const, 2> const& down, view<float const, 2> const& up, view<float const, 2> const& wv,
                     view<float const, 2> const& wo) {
        return project(layer_normalized(gain, bias, 0.1) | wq | rotary, linear(down) | up, wv, heads<2>) | scaled_dot
             | causal | softmax | weighted_sum | output(layer_normalized(0.1) | wo) | residual;
    }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<grouped_layer>(), catalogue::compile<normalized_layer>()};

}  // namespace
