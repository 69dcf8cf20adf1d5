// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The speed of the matrix unit of this machine, alone and in attention, in multiples of the float32 multiply-add peak.
// `available` as an argument: nothing is measured, the exit status says whether there is a unit.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>
#include <fovea/kernel/product/amx_vectors.hpp>
#include <fovea/testing/random.hpp>

#include "bench/yardstick/machine.hpp"
#include "bench/yardstick/stopwatch.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

using namespace fovea;

namespace {

using unit = kernel::matrix_unit<arch::avx512_amx>;
using four = kernel::tile_sums<unit, float, 2, 2>;
/// Prints a rate in multiples of the peak, which is measured right before and right after.
template <class Call>
void report(char const* name, double flops, Call const& call) {
    yardstick::around const peak([] { return yardstick::fma_peak<float>(); });
    auto const seconds = yardstick::time_in_turn<1>(0.3, call)[0];
    std::printf("%-62s %8.2f x peak  %8.1f Gflop/s\n", name, flops / seconds / peak.mean(), flops / seconds / 1e9);
}

/// Memory at cache lines, or some bytes after them.
struct lines {
    static constexpr index_t bytes = 1 << 20;
    std::vector<std::byte> memory = std::vector<std::byte>(bytes + 2 * cache_line);
    std::byte* at(index_t past) {
        auto const first = reinterpret_cast<std::uintptr_t>(memory.data()) % cache_line;
        return memory.data() + (cache_line - static_cast<index_t>(first)) + past;
    }
};

constexpr int rounds = 1024;

void four_products() {
    kernel::each_of<2, 2>(
        [](auto m, auto n) { unit::add_products<2 * m() + n(), four::left + m(), four::right + n()>(); });
}

/// The seconds of a round in products of a unit that does nothing else.
template <class Round>
void report_round(char const* name, double product, Round const& round) {
    auto const seconds = yardstick::time_in_turn<1>(0.1, [&] {
        unit::scope const configured;
        for (int i = 0; i < rounds; ++i) round(i);
    })[0];
    std::printf("%-62s %8.2f products\n", name, seconds / rounds / product);
}

void report_unit() {
    double const product = yardstick::time_in_turn<1>(0.3,
                                                      [] {
                                                          unit::scope const configured;
                                                          for (int i = 0; i < rounds; ++i) four_products();
                                                      })[0]
                         / rounds / 4;
    std::printf("a product takes %.2f ns\n", product * 1e9);
    lines from, to;
    auto const with_loads = [&](index_t past, index_t bytes, auto const& also) {
        return [&from, past, bytes, also](int i) {
            auto const* const at = from.at(past) + i * index_t{4096} % bytes;
            unit::load<four::left>(at, 64);
            unit::load<four::left + 1>(at + 1024, 64);
            unit::load<four::right>(at + 2048, 64);
            unit::load<four::right + 1>(at + 3072, 64);
            four_products();
            also(i);
        };
    };
    auto const nothing = [](int) {};
    report_round("four products and their loads, 16 KB", product, with_loads(0, 16 << 10, nothing));
    report_round("the same from 512 KB", product, with_loads(0, 512 << 10, nothing));
    report_round("the same, rows across cache lines, 16 KB", product, with_loads(16, 16 << 10, nothing));
    auto* const number = reinterpret_cast<int volatile*>(to.at(0));
    report_round("the same beside the store of a number, 16 KB", product,
                 with_loads(0, 16 << 10, [number](int i) { *number = i; }));
    report_round("four stores of tiles", product, [&](int) { four::store(reinterpret_cast<float*>(to.at(0)), 32); });
    for (int idle : {0, 100, 200, 300, 500, 1000}) {
        double least = 1;
        unit::scope const configured;
        for (int i = 0; i < 300; ++i) {
            for (int n = 0; n < 64; ++n) four_products();
            auto const until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(idle);
            while (std::chrono::steady_clock::now() < until) {}
            least = std::min(least, yardstick::time_once([&] {
                                 four_products();
                                 unit::store<0>(to.at(0), 64);
                             }));
        }
        std::printf("four products and a store after %4d ns without one %11.2f products\n", idle, least / product);
    }
}

template <class Element>
tensor<Element, 4> drawn(testing::dice& random, index_t rows, index_t features) {
    tensor<Element, 4> to({1, 4, rows, features});
    for (auto& x : to) x = Element(static_cast<float>(random.real(-2, 2)));
    return to;
}

template <class Element>
void report_farthest(tensor<Element, 4> const& found, tensor<Element, 4> const& expected) {
    float worst = 0;
    for (std::size_t i = 0; i < found.elements.size(); ++i)
        worst =
            std::max(worst, std::abs(static_cast<float>(found.elements[i]) - static_cast<float>(expected.elements[i])));
    std::printf("%-62s %8.2g\n", "    farthest from float32 arithmetic", static_cast<double>(worst));
}

/// A specification on each architecture, `by_parts` on that of the unit; how far results are from those in float32
/// arithmetic. Operands and results are elements of one type.
template <class Element, class Spec, class ByParts>
void report_attention(char const* name, Spec const& spec, ByParts const& by_parts, index_t positions, index_t features,
                      double share) {
    testing::dice random(1);
    auto const q = drawn<Element>(random, positions, features), k = drawn<Element>(random, positions, features),
               v = drawn<Element>(random, positions, features);
    tensor<Element, 4> by_unit(q.extents), by_floats(q.extents);
    workspace scratch;
    double const squared = static_cast<double>(positions) * static_cast<double>(positions),
                 flops = share * 4 * 4 * squared * static_cast<double>(features);
    auto const run = [&]<class Arch>(Arch, auto const& of_arch, tensor<Element, 4>& to) {
        std::string const row = std::string(name) + ", " + std::string(Arch::name);
        report(row.c_str(), flops, [&] { attend_on<Arch>(serial, scratch, of_arch, q, k, v, to); });
    };
    run(arch::avx512{}, spec, by_floats);
    if constexpr (plan::multiplies_as_stored<float, arch::avx512_bf16, Element>)
        run(arch::avx512_bf16{}, spec, by_unit);
    run(arch::avx512_amx{}, by_parts, by_unit);
    report_farthest(by_unit, by_floats);
}

/// A forward call that saves its rows and its gradients, of which five products are the pass back.
template <class Spec>
void report_training(char const* name, Spec const& spec, index_t positions, index_t features, double share) {
    testing::dice random(1);
    auto const q = drawn<bfloat16>(random, positions, features), k = drawn<bfloat16>(random, positions, features),
               v = drawn<bfloat16>(random, positions, features), d = drawn<bfloat16>(random, positions, features);
    tensor<bfloat16, 4> result(q.extents), d_q(q.extents), d_v(q.extents), by_unit(q.extents), by_floats(q.extents);
    workspace scratch;
    saved_rows<float> rows;
    double const squared = static_cast<double>(positions) * static_cast<double>(positions),
                 flops = share * 4 * 14 * squared * static_cast<double>(features);
    auto const run = [&]<class Arch>(Arch, tensor<bfloat16, 4>& d_k) {
        std::string const row = std::string(name) + ", forward and back, " + std::string(Arch::name);
        report(row.c_str(), flops, [&] {
            attend_on<Arch>(serial, scratch, spec, q, k, v, result, save(rows));
            gradient_on<Arch>(serial, scratch, spec, q, k, v, d, rows, grad(q, d_q), grad(k, d_k), grad(v, d_v));
        });
    };
    run(arch::avx512{}, by_floats);
    run(arch::avx512_amx{}, by_unit);
    report_farthest(by_unit, by_floats);
}

}  // namespace

int main(int argc, char** argv) {
    bool const available = kernel::amx_permission::granted();
    if (!available) std::puts("this machine has no matrix unit, or does not let this process use it");
    if (!available || (argc > 1 && std::string_view(argv[1]) == "available")) return available ? 0 : 1;
    report_unit();
    auto const dense = scaled_dot | softmax | weighted_sum;
    auto const triangular = scaled_dot | causal | softmax | weighted_sum;
    report_attention<bfloat16>("dense, n 2048, d 64", dense, dense, 2048, 64, 1);
    report_attention<bfloat16>("dense, n 2048, d 128", dense, dense, 2048, 128, 1);
    report_attention<bfloat16>("causal, n 2048, d 128", triangular, triangular, 2048, 128, 0.5);
    for (index_t const d : {64, 128}) {
        auto const row = [&](char const* what) { return std::string(what) + ", n 2048, d " + std::to_string(d); };
        report_attention<float16>(row("float16").c_str(), dense, dense, 2048, d, 1);
        report_attention<float>(row("float32, bf16x3").c_str(), dense, dense | precision(bf16x3), 2048, d, 1);
        report_attention<float>(row("float32, bf16x2").c_str(), dense, dense | precision(bf16x2), 2048, d, 1);
    }
    report_training("dense, n 2048, d 64", dense, 2048, 64, 1);
    report_training("dense, n 2048, d 128", dense, 2048, 128, 1);
    report_training("causal, n 2048, d 128", triangular, 2048, 128, 0.5);
}
