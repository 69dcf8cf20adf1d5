// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with a query in each lane: keys and values are read number by number, where they lie.
#pragma once

#include <fovea/kernel/contract.hpp>
#include <fovea/kernel/score_packs.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Features of neighbouring keys: the number of row r at step f is feature f of key r.
template <class T>
struct key_numbers {
    T const* first;
    index_t stride;
    FOVEA_INLINE T operator()(index_t r, index_t f) const { return first[r * stride + f]; }
    FOVEA_INLINE key_numbers from(index_t r) const { return {first + r * stride, stride}; }
};

/// Features of values, key after key: the number of row r at step k is feature r of the value of key k.
template <class T>
struct value_numbers {
    T const* first;
    index_t stride;
    FOVEA_INLINE T operator()(index_t r, index_t k) const { return first[k * stride + r]; }
    FOVEA_INLINE value_numbers from(index_t r) const { return {first + r, stride}; }
};

/// What rows of numbers are met with, and the sums they come to.
template <class T>
struct lane_sums {
    index_t vectors, rows, steps;
    T const* lanes;    // (steps, width)
    T* sums;           // (rows, width)
    index_t width;     // of a step, or a row: some of its vectors are met
    T const* rescale;  // (vectors * lanes), or none
    T* greatest;       // (vectors * lanes), or none
};

/// meet_lanes: rows of numbers met with vectors of queries, in registers.
///
///     sums[r][q] = sums[r][q] * rescale[q] + sum_i numbers(r, i) * lanes[i][q]
///
/// Without `rescale` there is nothing before it. With `greatest` that becomes as great as the sums of its lane.
/// Meanwhile asks for lines that come later; what is left of them is returned.
template <int Rows, int Vectors, class T, class Arch, class Numbers, class Coming = no_lines>
[[gnu::noinline]] Coming meet_lanes(Numbers const numbers, index_t steps,
                                    T const* FOVEA_RESTRICT lanes,    // (steps, Vectors * lanes)
                                    T* FOVEA_RESTRICT sums,           // (Rows, Vectors * lanes)
                                    index_t width,                    // from one step, or one row, to the next
                                    T const* FOVEA_RESTRICT rescale,  // (Vectors * lanes)
                                    T* FOVEA_RESTRICT greatest,       // (Vectors * lanes)
                                    Coming coming = {}) {
    using vector = pack<T, Arch>;
    grid_of<vector, Rows, Vectors> sum;  // (Rows, Vectors), all in registers
    auto const each = [&](auto const& f) FOVEA_LAMBDA {
        unrolled<Rows>([&](auto r) FOVEA_LAMBDA { unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { f(r, v); }); });
    };
    each([&](auto r, auto v) FOVEA_LAMBDA { sum[r][v] = vector(T{0}); });
    for (index_t i = 0; i < steps; ++i, lanes += width) {
        line_of<vector, Vectors> queries;
        coming.ask();
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { queries[v] = held(vector::load(lanes + v * vector::lanes)); });
        unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
            vector const number(numbers(r, i));
            unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v] = fma(number, queries[v], sum[r][v]); });
        });
    }
    // What was there before is added last: what many steps round off does not add up over all of them.
    if (rescale != nullptr)
        each([&](auto r, auto v) FOVEA_LAMBDA {
            sum[r][v] = fma(vector::load(sums + r * width + v * vector::lanes),
                            vector::load(rescale + v * vector::lanes), sum[r][v]);
        });
    each([&](auto r, auto v) FOVEA_LAMBDA { sum[r][v].store(sums + r * width + v * vector::lanes); });
    if (greatest != nullptr)
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
            auto most = vector::load(greatest + v * vector::lanes);
            unrolled<Rows>([&](auto r) FOVEA_LAMBDA { most = greater(sum[r][v], most); });
            most.store(greatest + v * vector::lanes);
        });
    return coming;
}

/// Calls f(vectors) with their number, at most `Most`, as a constant.
template <int Most, class F>
void with_vectors(index_t vectors, F const& f) {
    if constexpr (Most == 1) f(std::integral_constant<int, 1>{});
    else if (vectors == Most) f(std::integral_constant<int, Most>{});
    else with_vectors<Most - 1>(vectors, f);
}

/// meet_lanes for any number of rows and of vectors.
template <class Tile, class Arch, class T, class Numbers>
void meet_rows(Numbers const& numbers, lane_sums<T> const& all, coming_lines& coming) {
    with_vectors<Tile::most_vectors>(all.vectors, [&](auto count) {
        index_t r = 0;
        auto const meet = [&](auto at_once, auto const& lines) {
            return meet_lanes<at_once(), count(), T, Arch>(numbers.from(r), all.steps, all.lanes,
                                                           all.sums + r * all.width, all.width, all.rescale,
                                                           all.greatest, lines);
        };
        constexpr bool side_by_side = std::is_same_v<Numbers, value_numbers<T>>;
        constexpr std::integral_constant<int, side_by_side ? Tile::features_with(count()) : Tile::numbers> most{};
        for (; r + most() <= all.rows; r += most()) {
            if (coming.done()) meet(most, no_lines{});
            else coming = meet(most, coming);
        }
        auto const rest = [&](auto at_once) {
            for (; r + at_once() <= all.rows; r += at_once()) meet(at_once, no_lines{});
        };
        rest(std::integral_constant<int, most() / 2>{});
        if constexpr (most() > 8) rest(std::integral_constant<int, most() / 4>{});
        rest(std::integral_constant<int, 1>{});
    });
}

}  // namespace fovea::FOVEA_SET::kernel
