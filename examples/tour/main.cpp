// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stations/stations.hpp"

#include "bench/yardstick/machine.hpp"

#include <cstdio>
#include <filesystem>

/// tour [<folder for the pictures>]
int main(int count, char** values) {
    std::filesystem::path const pictures = count > 1 ? values[1] : TOUR_PICTURES;
    std::filesystem::create_directories(pictures);
    std::printf("fovea, a tour. One core of this machine: %.0f GFLOP/s in f32, %s.\n",
                yardstick::fma_peak<float>() / 1e9, yardstick::architecture().c_str());
    tour::retrieval();
    tour::self_attention(pictures);
    tour::cross_attention();
    tour::scores_and_heads();
    tour::graph_attention(pictures);
    tour::own_words();
}
