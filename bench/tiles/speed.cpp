// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the matrix unit of this machine reaches, alone and in attention, in multiples of the float32 multiply-add peak.
// `available` as an argument: nothing is measured, the exit status says whether there is a unit.
#include <fovea/fovea.hpp>
#include <fovea/kernel/tile_sums.hpp>
#include <fovea/testing/random.hpp>

#include "bench/yardstick/machine.hpp"
#include "bench/yardstick/stopwatch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

using namespace fovea;

namespace {

using unit = kernel::matrix_unit<arch::avx512_amx>;
using four = kernel::tile_sums<unit, float, 2, 2>;
constexpr double flops_of_product = 2.0 * 16 * 16 * 32;

/// Prints a rate in multiples of the peak, which is measured right before and right after.
template <class Call>
void report(char const* name, double flops, Call const& call) {
    yardstick::around const peak([] { return yardstick::fma_peak<float>(); });
    auto const seconds = yardstick::time_in_turn<1>(0.3, call)[0];
    std::printf("%-54s %8.2f x peak  %8.1f Gflop/s\n", name, flops / seconds / peak.mean(), flops / seconds / 1e9);
}

/// Four products with operands in registers, or that are loaded for them from `bytes` of memory.
void report_unit(char const* name, index_t bytes) {
    constexpr index_t rounds = 4096, tile = 1024, step = 4 * tile;
    std::vector<float> memory(static_cast<std::size_t>(std::max(bytes, step)) / sizeof(float) + 16);
    report(name, rounds * 4 * flops_of_product, [&] {
        unit::scope const configured;
        four::clear();
        for (index_t i = 0; i < rounds; ++i) {
            float const* const from = memory.data() + (bytes == 0 ? 0 : i * step % bytes) / index_t{sizeof(float)};
            if (bytes > 0 || i == 0) {
                unit::load<four::left>(from, 64);
                unit::load<four::left + 1>(from + 256, 64);
                four::multiply(from + 512, 32);
            } else {
                kernel::each_of<2, 2>(
                    [](auto m, auto n) { unit::add_products<2 * m() + n(), four::left + m(), four::right + n()>(); });
            }
        }
        four::store(memory.data(), 32);
    });
}

/// Sums that are stored, and read by vectors at once.
void report_way_to_vectors() {
    alignas(64) static float sums[32 * 32];
    constexpr int rounds = 4096;
    float sink = 0;
    auto const seconds = yardstick::time_in_turn<1>(0.3, [&] {
        unit::scope const configured;
        four::clear();
        for (int i = 0; i < rounds; ++i) {
            four::store(sums, 32);
            using vector = kernel::pack<float, arch::avx512_amx>;
            vector most(0.0f);
            for (index_t k = 0; k < 64; ++k) most = max(vector::load(sums + 16 * k), most);
            sink += kernel::lanes_of<float, arch::avx512_amx>::sum(most);
        }
    })[0];
    std::printf("%-54s %8.1f ns%s\n", "four tiles stored, then read as 64 vectors", seconds / rounds * 1e9,
                sink == 0 ? "" : " ?");
}

tensor<bfloat16, 4> drawn(testing::dice& random, index_t rows, index_t features) {
    tensor<bfloat16, 4> to({1, 4, rows, features});
    for (auto& x : to) x = bfloat16(static_cast<float>(random.real(-2, 2)));
    return to;
}

/// A specification on each architecture; how far results are from those in float32 arithmetic.
template <class Spec>
void report_attention(char const* name, Spec const& spec, index_t positions, index_t features, double share) {
    testing::dice random(1);
    auto const q = drawn(random, positions, features), k = drawn(random, positions, features),
               v = drawn(random, positions, features);
    tensor<bfloat16, 4> by_unit(q.extents), by_floats(q.extents);
    workspace scratch;
    double const squared = static_cast<double>(positions) * static_cast<double>(positions),
                 flops = share * 4 * 4 * squared * static_cast<double>(features);
    auto const run = [&]<class Arch>(Arch, tensor<bfloat16, 4>& to) {
        std::string const row = std::string(name) + ", " + std::string(Arch::name);
        report(row.c_str(), flops, [&] { attend_on<Arch>(serial, scratch, spec, q, k, v, to); });
    };
    run(arch::avx512{}, by_floats);
    run(arch::avx512_bf16{}, by_unit);
    run(arch::avx512_amx{}, by_unit);
    float worst = 0;
    for (std::size_t i = 0; i < by_unit.elements.size(); ++i)
        worst = std::max(worst,
                         std::abs(static_cast<float>(by_unit.elements[i]) - static_cast<float>(by_floats.elements[i])));
    std::printf("%-54s %8.2g\n", "    farthest from float32 arithmetic", static_cast<double>(worst));
}

}  // namespace

int main(int argc, char** argv) {
    bool const available = kernel::amx_permission::granted();
    if (!available) std::puts("this machine has no matrix unit, or does not let this process use it");
    if (!available || (argc > 1 && std::string_view(argv[1]) == "available")) return available ? 0 : 1;
    report_unit("products of tiles, operands in registers", 0);
    report_unit("products of tiles, operands in 16 KB", 16 << 10);
    report_unit("products of tiles, operands in 512 KB", 512 << 10);
    report_way_to_vectors();
    auto const dense = scaled_dot | softmax | weighted_sum;
    auto const triangular = scaled_dot | causal | softmax | weighted_sum;
    report_attention("dense, n 2048, d 64", dense, 2048, 64, 1);
    report_attention("dense, n 2048, d 128", dense, 2048, 128, 1);
    report_attention("causal, n 2048, d 128", triangular, 2048, 128, 0.5);
}
