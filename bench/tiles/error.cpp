// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far attention by the products of parts is from its definition in double, beside attention in float arithmetic.
// The matrix unit is the emulation, which computes every bit as AMX does, so that any machine tells.
#include <fovea/fovea.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>

using namespace fovea;

namespace {

using by_parts = arch::emulated<64, 32, true>;
constexpr index_t query_count = 64;  // a few tiles: errors do not depend on the number of queries

/// Rows from a normal distribution, as elements and in double.
template <class Element>
struct drawn {
    tensor<Element, 4> rows;
    tensor<double, 4> exact;

    drawn(std::mt19937_64& random, index_t count, index_t features, double size = 1)
        : rows({1, 1, count, features}), exact(rows.extents) {
        std::normal_distribution<double> normal(0, size);
        for (std::size_t i = 0; i < rows.elements.size(); ++i) {
            rows.elements[i] = Element(static_cast<float>(normal(random)));
            exact.elements[i] = static_cast<double>(static_cast<float>(rows.elements[i]));
        }
    }
};

template <class Element>
struct operands {
    drawn<Element> query, key, value;
    tensor<double, 4> expected;

    operands(std::mt19937_64& random, index_t keys, index_t features, double size)
        : query(random, query_count, features, size),
          key(random, keys, features),
          value(random, keys, features),
          expected(query.exact.extents) {
        attend(scaled_dot | softmax | weighted_sum, query.exact, key.exact, value.exact, expected);
    }
    /// The farthest result on an architecture, as a share of the greatest.
    template <class Arch, class Result, class Spec>
    double farthest(Spec const& spec) const {
        tensor<Result, 4> got(expected.extents);
        workspace scratch;
        attend_on<Arch>(serial, scratch, spec, query.rows, key.rows, value.rows, got);
        double off = 0, greatest = 0;
        for (std::size_t i = 0; i < expected.elements.size(); ++i) {
            off = std::max(off,
                           std::abs(static_cast<double>(static_cast<float>(got.elements[i])) - expected.elements[i]));
            greatest = std::max(greatest, std::abs(expected.elements[i]));
        }
        return off / greatest;
    }
};

}  // namespace

int main() {
    constexpr auto plain = scaled_dot | softmax | weighted_sum;
    std::puts(
        "the farthest of 64 results, as a share of the greatest; queries, keys and values from a normal distribution");
    std::printf("%5s %4s %8s | %9s %9s %9s | %9s %9s | %9s %9s\n", "n", "d", "queries", "float32", "bf16x3", "bf16x2",
                "float16", "parts", "stored", "parts");
    for (index_t const features : {64, 128})
        for (index_t const keys : {1024, 4096, 16384})
            for (double const size : {1.0, 3.0}) {
                std::mt19937_64 random(static_cast<unsigned>(keys + features));
                operands<float> const of_floats(random, keys, features, size);
                operands<float16> const of_halves(random, keys, features, size);
                std::printf("%5td %4td   x %4.0f | %9.1e %9.1e %9.1e | %9.1e %9.1e | %9.1e %9.1e\n", keys, features,
                            size, of_floats.farthest<arch::best, float>(plain),
                            of_floats.farthest<by_parts, float>(plain | precision(bf16x3)),
                            of_floats.farthest<by_parts, float>(plain | precision(bf16x2)),
                            of_halves.farthest<arch::best, float>(plain), of_halves.farthest<by_parts, float>(plain),
                            of_halves.farthest<arch::best, float16>(plain),
                            of_halves.farthest<by_parts, float16>(plain));
            }
}
