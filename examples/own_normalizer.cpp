// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A normalizer of one's own: the heavy-tailed weights of t-SNE (van der Maaten and Hinton 2008) over squared distances.
#include <fovea/fovea.hpp>

#include <cstdio>

using namespace fovea;
using namespace fovea::placeholders;

/// w_j = 1 / (1 + s_j) / sum_k 1 / (1 + s_k): normalize gets all scores of a row and leaves weights.
struct heavy_tailed_t : stage<role::normalizer> {
    static constexpr std::string_view name = "heavy_tailed";

    template <class Row>
    static void normalize(Row const& row) {
        auto const total = row.map_and_sum([](auto s) { return decltype(s)(1) / (decltype(s)(1) + s); });
        if (total > 0) row.rescale(1 / total);  // it is 0 where a query sees no key
    }
};
inline constexpr heavy_tailed_t heavy_tailed{};

int main() {
    tensor<float, 2> point({4, 1}), result({4, 1}), share({4, 4});
    point.elements = {0, 1, 2, 9};

    auto const mean_of_neighbours = compare(sum(square(q - k))) | where(q_idx != kv_idx) | heavy_tailed | weighted_sum;
    attend(mean_of_neighbours, point, result, weights(share));

    for (index_t i = 0; i < 4; ++i) {
        std::printf("point %.0f is drawn to %.2f; shares", double{point(i, 0)}, double{result(i, 0)});
        for (index_t j = 0; j < 4; ++j) std::printf(" %.2f", double{share(i, j)});
        std::puts("");
    }
}
// prints
// point 0 is drawn to 1.42; shares 0.00 0.70 0.28 0.02
// point 1 is drawn to 1.12; shares 0.49 0.00 0.49 0.02
// point 2 is drawn to 0.94; shares 0.28 0.69 0.00 0.03
// point 9 is drawn to 1.16; shares 0.26 0.32 0.42 0.00
