// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks of tables, and conditions in scores and weights.
#include "catalogue/compiled.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

using catalogue::drawn_sizes;
using testing::dice;

struct documents : catalogue::specification {
    static constexpr std::string_view name = "documents, causal";
    static constexpr bool of_products = true;
    static void ascending(dice& from, drawn_sizes const&, std::span<std::int32_t> to) {
        std::int32_t id = 0;
        for (auto& x : to) x = id += from.chance(0.07);
    }
    static constexpr auto tables = std::tuple(catalogue::integers<1>{catalogue::of_positions, ascending});
    static auto spec(view<std::int32_t const, 1> const& ids) {
        return scaled_dot | where(param(ids)[q_idx] == param(ids)[kv_idx]) | causal | softmax | weighted_sum;
    }
};

struct padded : catalogue::specification {
    static constexpr std::string_view name = "keys up to a length of each sequence";
    static constexpr bool of_products = true;
    static constexpr bool reads_batch = true;
    static void up_to_keys(dice& from, drawn_sizes const& n, std::span<std::int32_t> to) {
        for (auto& x : to) x = static_cast<std::int32_t>(from.between(-1, n.keys + 1));
    }
    static constexpr auto tables = std::tuple(catalogue::integers<1>{catalogue::of_batches, up_to_keys});
    static auto spec(view<std::int32_t const, 1> const& lengths) {
        return scaled_dot | key_lengths(param(lengths)[batch]) | softmax | weighted_sum;
    }
};

struct chosen_conditions : catalogue::specification {
    static constexpr catalogue::limits sizes{.least_features = 1};
    static constexpr std::string_view name = "values chosen by conditions, and random numbers";
    static constexpr bool reads_batch = true;
    static constexpr auto tables = std::tuple(catalogue::reals<1>{catalogue::of_heads, 0.5, 1});
    static auto spec(view<float const, 1> const& gates) {
        return scaled_dot | rescore(select(q_idx % 3 == kv_idx % 2, score, score * param(gates)[head] - 0.5)) | softmax
             | reweight(weight * select(random(3) < 0.2, 0, 1.25)) | weighted_sum;
    }
};

[[maybe_unused]] bool const listed[] = {catalogue::compile<documents>(), catalogue::compile<padded>(),
                                        catalogue::compile<chosen_conditions>()};

}  // namespace
