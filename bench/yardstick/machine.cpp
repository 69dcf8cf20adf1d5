// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/yardstick/machine.hpp"

#include "bench/yardstick/stopwatch.hpp"
#include "bench/yardstick/vector.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace yardstick {
namespace {

/// Keeps a value alive and unknown to the optimiser.
template <class T>
void conceal(T& value) {
    asm volatile("" : "+m"(value));
}

/// Operations per second of one slice of about a quarter of a millisecond.
template <class T, std::size_t... Chain>
double fma_slice(std::index_sequence<Chain...>) {
    constexpr std::size_t rounds = 1 << 16;
    constexpr double flops = 2.0 * rounds * sizeof...(Chain) * (YARDSTICK_VECTOR_BYTES / sizeof(T));
    vector<T> factor{}, term{}, chain[] = {(vector<T>{} + T(Chain))...};
    factor += T(0.999);
    term += T(0.001);
    conceal(factor);
    conceal(term);
    auto const multiplier = factor, addend = term;
    double const seconds = time_once([&] {
        for (std::size_t round = 0; round < rounds; ++round) ((chain[Chain] = chain[Chain] * multiplier + addend), ...);
    });
    conceal(chain);
    return flops / seconds;
}

/// A buffer read chunk after chunk, so that no chunk is met again before the whole buffer has passed.
class stream {
public:
    static constexpr std::size_t chunk_bytes = std::size_t{16} << 20, chunks = 32;

    stream() : buffer_(chunk_bytes * chunks / sizeof(std::uint64_t), 1) {}

    /// Bytes per second of reading one chunk.
    double slice() {
        std::size_t const chunk = next_++ % chunks;
        double const seconds = time_once([&] { read(chunk); });
        return chunk_bytes / seconds;
    }

private:
    void read(std::size_t chunk) const {
        using word = vector<std::uint64_t>;
        constexpr std::size_t ways = 8, count = chunk_bytes / sizeof(word);
        auto const* bytes = reinterpret_cast<char const*>(buffer_.data()) + chunk * chunk_bytes;
        word sums[ways]{};
        for (std::size_t i = 0; i < count; i += ways)
            for (std::size_t way = 0; way < ways; ++way) {
                word loaded;
                __builtin_memcpy(&loaded, bytes + (i + way) * sizeof(word), sizeof(word));
                sums[way] += loaded;
            }
        conceal(sums);
    }

    std::vector<std::uint64_t> buffer_;
    std::atomic<std::size_t> next_{0};
};

/// The sum over the threads of each one's median rate, all measuring at the same time.
template <class Slice>
double rate(int threads, std::size_t slices, Slice slice) {
    std::vector<double> rates(static_cast<std::size_t>(threads));
    std::latch start(threads);
    auto const work = [&](double& result) {
        std::vector<double> samples(slices);
        start.arrive_and_wait();
        for (double& sample : samples) sample = slice();
        result = median(samples);
    };
    std::vector<std::jthread> team;
    for (std::size_t i = 1; i < rates.size(); ++i) team.emplace_back(work, std::ref(rates[i]));
    work(rates[0]);
    team.clear();
    return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

template <class T>
double fma_peak(int threads) {
    return rate(threads, 9, [] { return fma_slice<T>(std::make_index_sequence<YARDSTICK_CHAINS>{}); });
}

template double fma_peak<float>(int);
template double fma_peak<double>(int);

double read_bandwidth(int threads) {
    static stream memory;
    return rate(threads, 7, [] { return memory.slice(); });
}

std::string architecture() {
#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__)
    char const* const arithmetic = "fused multiply-add";
#else
    char const* const arithmetic = "multiply, then add";
#endif
    return std::to_string(8 * YARDSTICK_VECTOR_BYTES) + "-bit vectors, " + arithmetic;
}

}  // namespace yardstick
