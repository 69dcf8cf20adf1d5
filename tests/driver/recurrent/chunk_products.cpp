// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products and decays within a chunk of steps, against sums that are written out.
#include <fovea/driver/recurrent/chunk_products.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"

#include <limits>
#include <vector>

using namespace fovea;

namespace {
constexpr index_t steps = 16, columns = 48;

struct matrix {
    std::vector<float> numbers;
    kernel::padded_rows<float> rows;
    explicit matrix(index_t n, index_t width = columns)
        : numbers(static_cast<std::size_t>(n * width + 16)), rows{aligned(numbers.data()), width} {}
    matrix(testing::dice& dice, index_t n, index_t width = columns) : matrix(n, width) {
        for (auto& x : numbers) x = static_cast<float>(dice.real(-1, 1));
    }
    float operator()(index_t i, index_t j) const { return rows.row(i)[j]; }
    static float* aligned(float* p) { return p + (64 - reinterpret_cast<std::uintptr_t>(p) % 64) % 64 / 4; }
};

template <class F>
void in_vectors_of_every_width(F const& f) {
    [&]<class... Arch>(std::type_identity<std::tuple<Arch...>>) {
        (f(std::type_identity<Arch>()), ...);
    }(std::type_identity<lane_widths>{});
}
}  // namespace

TEST_CASE("products of a chunk are sums over its steps", "[driver]") {
    in_vectors_of_every_width([]<class Arch>(std::type_identity<Arch>) {
        testing::dice dice(3);
        matrix const a(dice, steps, steps), b(dice, steps);
        matrix plain(steps), transposed(steps), triangle(steps);
        std::vector<float> const twice(steps, 2.f);
        kernel::multiply<float, Arch>(kernel::factors(a.rows), steps, 5, b.rows, columns, plain.rows);
        kernel::multiply<float, Arch>(kernel::transposed(a.rows), steps, 5, b.rows, columns, transposed.rows);
        kernel::multiply<float, Arch>(kernel::factors(a.rows), steps, 5, b.rows, columns, transposed.rows,
                                      twice.data());
        kernel::add_triangle<kernel::chunk_part::before, float, Arch>(kernel::factors(a.rows), 9, b.rows, columns,
                                                                      triangle.rows);
        for (index_t i = 0; i < 9; ++i)
            for (index_t c = 0; c < columns; ++c) {
                double sum = 0, other = 0, before = 0;
                for (index_t j = 0; j < 5; ++j) sum += a(i, j) * b(j, c), other += a(j, i) * b(j, c);
                for (index_t j = 0; j < i; ++j) before += a(i, j) * b(j, c);
                CHECK(plain(i, c) == Approx(sum).margin(1e-5));
                CHECK(transposed(i, c) == Approx(2 * other + sum).margin(1e-5));
                CHECK(triangle(i, c) == Approx(before).margin(1e-5));
            }
    });
}

TEST_CASE("a gate of 0 leaves nothing of what was before it, and all of what comes after", "[driver]") {
    in_vectors_of_every_width([]<class Arch>(std::type_identity<Arch>) {
        matrix gates(steps), begin(steps), end(steps), between(steps, steps);
        std::vector<float> all(static_cast<std::size_t>(columns) + 16);
        for (index_t t = 0; t < steps; ++t)
            for (index_t f = 0; f < columns; ++f) gates.rows.row(t)[f] = t == 4 ? 0.f : t == 6 ? 0.5f : 1.f;
        kernel::decay_chunk<float, Arch>(gates.rows, 9, columns, true,
                                         {begin.rows, end.rows, matrix::aligned(all.data()), between.rows});
        for (index_t t = 0; t < 9; ++t) {
            CHECK(begin(t, 3) == (t < 4 ? 1 : 0));
            CHECK(end(t, 3) == (t < 4 ? 0 : t < 6 ? 0.5f : 1));
            for (index_t s = 0; s <= t; ++s) CHECK(between(s, t) == (s < 4 && t >= 4 ? 0 : s < 6 && t >= 6 ? 0.5f : 1));
        }
        CHECK(matrix::aligned(all.data())[3] == 0);
    });
}
