// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A state that is carried from position to position in place of keys.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

using catalogue::drawn_sizes;

struct with_state : catalogue::specification {
    static constexpr catalogue::limits sizes{.square = true};
    static constexpr bool in_pages = false, in_few_bits = false;
};
inline extents_t<3> of_key_positions(drawn_sizes const& n) { return {1, n.key_heads, n.keys}; }
inline extents_t<4> of_key_rows(drawn_sizes const& n) { return {1, n.key_heads, n.keys, n.features}; }

struct linear_attention : with_state {
    static constexpr std::string_view name = "linear attention";
    static auto spec() { return feature_map(elu(q) + 1) | causal | proportional | running_state; }
};

struct gated_state : with_state {
    static constexpr std::string_view name = "a running state that forgets";
    static constexpr bool ragged = false;  // one gate for each position of a batch element
    static constexpr auto tables = std::tuple(catalogue::reals<4>{of_key_rows, -0.5, 0});
    static auto spec(view<float const, 4> const& decay) {
        return scaled_dot | causal | unnormalized | running_state | gated(decay);
    }
};

struct delta_rule : with_state {
    static constexpr std::string_view name = "a running state that corrects itself";
    static constexpr bool ragged = false;
    static constexpr catalogue::limits sizes{.features = 5, .most_queries = 40, .square = true};
    static constexpr auto tables = std::tuple(catalogue::reals<3>{of_key_positions, 0, 0.1});
    static auto spec(view<float const, 3> const& rate) {
        return scaled_dot | causal | unnormalized | running_state | gated(-0.3) | delta(rate);
    }
};

struct state_of_all : with_state {
    static constexpr std::string_view name = "a state of all keys";
    static constexpr catalogue::limits sizes{.most_keys = 600};  // each of which the definition records a state of
    static auto spec() { return scaled_dot | unnormalized | running_state; }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<linear_attention>(), catalogue::compile<gated_state>(),
                                        catalogue::compile<delta_rule>(), catalogue::compile<state_of_all>()};

}  // namespace
