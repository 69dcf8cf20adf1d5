// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ten specifications, as a program with as many kinds of layers has them: all in this unit, or the one numbered ONLY.
#include "specs.hpp"

#include <fovea/fovea.hpp>

namespace {

template <int N>
constexpr auto specification() {
    using namespace fovea;
    if constexpr (N == 0) return scaled_dot | softmax | weighted_sum;
    else if constexpr (N == 1) return scaled_dot | causal | softmax | weighted_sum;
    else if constexpr (N == 2) return scaled_dot | sliding_window(128, 0) | softmax | weighted_sum;
    else if constexpr (N == 3) return scaled_dot | softcap(30) | causal | softmax | weighted_sum;
    else if constexpr (N == 4) return scaled_dot | causal | softmax_plus_one | weighted_sum;
    else if constexpr (N == 5) return scaled_dot | causal | chunked(64) | softmax | weighted_sum;
    else if constexpr (N == 6) return cosine | temperature(0.1) | softmax | weighted_sum;
    else if constexpr (N == 7) return gaussian(1.5) | softmax | weighted_sum;
    else if constexpr (N == 8) return scaled_dot | causal | sparsemax | weighted_sum;
    else return scaled_dot | prefix_lm(16) | softmax | weighted_sum;
}

}  // namespace

template <int N>
void run(rows_read query, rows_read key, rows_read value, rows_written to) {
    fovea::attend(specification<N>(), query, key, value, to);
}

#ifdef ONLY
template void run<ONLY>(rows_read, rows_read, rows_read, rows_written);
#else
template void run<0>(rows_read, rows_read, rows_read, rows_written);
template void run<1>(rows_read, rows_read, rows_read, rows_written);
template void run<2>(rows_read, rows_read, rows_read, rows_written);
template void run<3>(rows_read, rows_read, rows_read, rows_written);
template void run<4>(rows_read, rows_read, rows_read, rows_written);
template void run<5>(rows_read, rows_read, rows_read, rows_written);
template void run<6>(rows_read, rows_read, rows_read, rows_written);
template void run<7>(rows_read, rows_read, rows_read, rows_written);
template void run<8>(rows_read, rows_read, rows_read, rows_written);
template void run<9>(rows_read, rows_read, rows_read, rows_written);
#endif
