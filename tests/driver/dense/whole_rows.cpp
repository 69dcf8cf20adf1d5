// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Normalizers of whole rows under masks: a row is as long as what is visible, and nothing else changes.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

#include <algorithm>
#include <atomic>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

std::atomic<index_t> longest{0};

/// Notes how long rows are; otherwise equal weights.
struct measured_t : stage<role::normalizer> {
    template <class Row>
    static void normalize(Row const& row) {
        longest = std::max<index_t>(longest, row.size());
        row.map([](auto s) { return s - s + decltype(s)(1); });
    }
};

index_t longest_row(auto const& mask, index_t n) {
    tensor<float, 2> const x({n, 4}, 1);
    tensor<float, 2> y({n, 4});
    longest = 0;
    attend(scaled_dot | mask | measured_t{} | weighted_sum, x, y);
    return longest;
}

}  // namespace

TEST_CASE("a row is as long as what a few neighbouring queries see", "[driver]") {
    index_t const lanes = kernel::pack<float, arch::best>::lanes,
                  tile = plan::key_lanes_blocking<float, arch::best>::rows;
    index_t const around = tile + 4 * lanes;
    CHECK(longest_row(sliding_window(64, 0), 2000) <= 65 + around);
    CHECK(longest_row(sliding_window(64, 64), 2000) <= 129 + around);
    CHECK(longest_row(sliding_window(64, 0), 700) == longest_row(sliding_window(64, 0), 5000));
    CHECK(longest_row(chunked(100), 2000) <= 200 + around);
    CHECK(longest_row(where(kv_idx == q_idx + 1000), 2000) <= around);
    CHECK(longest_row(where(kv_idx > 1900), 2000) <= 100 + around);
    CHECK(longest_row(where(kv_idx < -1), 300) == 0);
    CHECK(longest_row(causal, 512) >= 512);
}

TEST_CASE("the scratch of whole rows under a window does not depend on the length", "[driver]") {
    auto const room_for = [](index_t n) {
        tensor<float, 2> const x({n, 4}, 1);
        tensor<float, 2> y({n, 4});
        workspace scratch;
        attend(scratch, scaled_dot | sliding_window(64, 0) | top_k_softmax(5) | weighted_sum, x, y);
        return scratch.tiles().full + scratch.tiles().mixed;
    };
    CHECK(room_for(8000) < 3 * room_for(4000));  // tiles that were looked at: a band
}
