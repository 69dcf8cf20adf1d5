// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the score compares query and key feature by feature, and their types have different numbers of
// features
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

/// As std::mdspan with extents (dynamic, Features).
template <index_t Features>
struct rows_of {
    float* data;
    index_t rows;

    static constexpr int rank() { return 2; }
    static constexpr index_t static_extent(int axis) { return axis == 0 ? -1 : Features; }
    float* data_handle() const { return data; }
    index_t extent(std::size_t axis) const { return axis == 0 ? rows : Features; }
    index_t stride(std::size_t axis) const { return axis == 0 ? Features : 1; }
};

#ifdef FOVEA_BROKEN
using key_rows = rows_of<64>;
#else
using key_rows = rows_of<128>;
#endif

void call(rows_of<128> query, key_rows key, rows_of<32> value, view<float, 2> result) {
    reference::attend(scaled_dot | softmax | weighted_sum, query, key, value, result);
}
