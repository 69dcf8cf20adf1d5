// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>

#include <cmath>
#include <cstdint>
#include <utility>

namespace fovea::FOVEA_SET {

/// The cosine and the sine of one angle.
struct direction {
    double cosine, sine;
};

/// direction_of: the direction of an angle in radians, within 3e-9: for results in float.
///
/// Angles below 1e6 in size; larger ones lose digits. Free of branches and of calls, so that loops of it are vectors,
/// and of sums that must not be computed in another order: it holds under -ffast-math.
FOVEA_INLINE direction direction_of(double angle) {
    constexpr double quarter = 0x1.921fb544p+0;             // pi/2, its first 33 bits
    constexpr double quarter_rest = 0x1.0b4611a626331p-34;  // and what follows
    auto const turned = static_cast<std::int32_t>(angle * 0x1.45f306dc9c883p-1 + (angle < 0 ? -0.5 : 0.5));
    auto const quarters = static_cast<double>(turned);
    double const x = (angle - quarters * quarter) - quarters * quarter_rest, square = x * x;
    double const sine =
        x * (1 + square * (-1. / 6 + square * (1. / 120 + square * (-1. / 5040 + square * (1. / 362880)))));
    double const cosine =
        1
        + square
              * (-1. / 2
                 + square * (1. / 24 + square * (-1. / 720 + square * (1. / 40320 + square * (-1. / 3628800)))));
    bool const swapped = (turned & 1) != 0;
    double const along = swapped ? sine : cosine, across = swapped ? cosine : sine;
    return {((turned + 1) & 2) != 0 ? -along : along, (turned & 2) != 0 ? -across : across};
}

/// The cosines and sines of `count` angles, as exact as T is; `Run` of them are there to be read.
template <std::size_t Run, class Exact, class T>
FOVEA_INLINE void write_directions(Exact const (&angles)[Run], index_t count, T* cosines, T* sines) {
    bool plain = sizeof(T) == sizeof(float);
    for (Exact const angle : angles) plain = plain && angle < 1e6 && angle > -1e6;
    if (plain) {
        direction all[Run];
        for (std::size_t i = 0; i < Run; ++i) all[i] = direction_of(static_cast<double>(angles[i]));
        for (index_t i = 0; i < count; ++i) {
            cosines[i] = static_cast<T>(all[i].cosine);
            sines[i] = static_cast<T>(all[i].sine);
        }
    } else {
        for (index_t i = 0; i < count; ++i) {
            cosines[i] = static_cast<T>(std::cos(angles[i]));
            sines[i] = static_cast<T>(std::sin(angles[i]));
        }
    }
}

/// Rotates pairs of features of a row, halves or `neighbors`, by angles of which `numbers` has the cosines, then the
/// sines; or, where `sign` is -1, back.
template <class Row, class T>
FOVEA_INLINE void rotate_pairs(Row const& row, T const* numbers, index_t pairs, bool neighbors, int sign) {
    T const way = static_cast<T>(sign);
    auto const f = [way](auto x, auto y, auto cosine, auto sine)
                       FOVEA_LAMBDA { return std::pair(x * cosine - y * sine * way, y * cosine + x * sine * way); };
    if (neighbors) row.map_neighbors(pairs, f, numbers, numbers + pairs);
    else row.map_halves(pairs, f, numbers, numbers + pairs);
}
/// Adds the gradients of what is multiplied by `factor` to these angles, from those of the rotated pairs, (d_x, d_y):
/// d_y x' - d_x y' with the pair (x', y') after the rotation of `row`.
template <class Row, class T, class Sums>
void add_angle_gradients(Row const& row, Row const& d, T const* numbers, index_t pairs, bool neighbors, double factor,
                         Sums const& sums) {
    for (index_t i = 0; i < pairs; ++i) {
        index_t const x = neighbors ? 2 * i : i, y = neighbors ? 2 * i + 1 : i + pairs;
        T const cosine = numbers[i], sine = numbers[pairs + i], rotated_x = row[x] * cosine - row[y] * sine,
                rotated_y = row[y] * cosine + row[x] * sine;
        sums(i) += static_cast<T>(factor) * (d[y] * rotated_x - d[x] * rotated_y);
    }
}

}  // namespace fovea::FOVEA_SET
