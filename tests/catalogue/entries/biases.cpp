// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores with numbers by head and distance.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

using catalogue::drawn_sizes;
using testing::dice;

struct capped_slopes : catalogue::specification {
    static constexpr std::string_view name = "slopes under a cap, in a window";
    static constexpr auto tables = std::tuple(catalogue::reals<1>{catalogue::of_heads, 0, 0.3});
    static auto spec(view<float const, 1> const& slopes) {
        return scaled_dot | alibi(slopes) | softcap(3) | sliding_window(20, 4) | softmax | weighted_sum;
    }
};

struct biases_of_distances : catalogue::specification {
    static constexpr std::string_view name = "a bias for each head and distance";
    static constexpr auto tables = std::tuple(catalogue::reals<2>{catalogue::of_head_distances<9>});
    static auto spec(view<float const, 2> const& table) {
        return scaled_dot | relative_bias(table) | softmax | weighted_sum;
    }
};

struct biases_of_buckets : catalogue::specification {
    static constexpr std::string_view name = "a bias for each bucket of distances";
    static void bucket(dice&, drawn_sizes const&, std::span<std::int32_t> to) {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::int32_t>(std::min<std::size_t>(i / 3, 4));
    }
    static constexpr auto tables =
        std::tuple(catalogue::reals<2>{[](drawn_sizes const& n) { return extents_t<2>{10, n.heads()}; }},
                   catalogue::integers<1>{catalogue::of_positions, bucket});
    static auto spec(view<float const, 2> const& biases, view<std::int32_t const, 1> const& buckets) {
        return scaled_dot | t5_bias(biases, buckets) | softmax | weighted_sum;
    }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<capped_slopes>(), catalogue::compile<biases_of_distances>(),
                                        catalogue::compile<biases_of_buckets>()};

}  // namespace
