// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/testing/law.hpp>
#include <fovea/testing/random.hpp>

#include <limits>
#include <vector>

namespace fovea::FOVEA_SET::testing {

/// scattered: (batch, head, position, feature) in memory that nothing prefers: rows with gaps, any order of heads and
/// positions, any alignment. Gaps hold NaN, so that what is read there shows, and what is written there is seen.
template <class T>
struct scattered {
    std::vector<T> buffer;
    view<T, 4> elements;

    scattered(dice& from, extents_t<4> const& n) {
        index_t const first = from.between(0, 3), row = n[3] + from.between(0, 3);
        bool const heads_inside = from.chance(0.5);
        index_t const head_step = heads_inside ? row : row * n[2];
        index_t const position_step = heads_inside ? row * n[1] : row;
        buffer.assign(static_cast<std::size_t>(first + n[0] * n[1] * n[2] * row), gap());
        elements = {buffer.data() + first, n, {row * n[1] * n[2], head_step, position_step, 1}};
    }
    scattered(scattered const&) = delete;

    static constexpr T gap() { return std::numeric_limits<T>::quiet_NaN(); }

    template <class F>
    void for_each(F const& f) const {
        for (index_t b = 0; b < elements.extent(0); ++b)
            for (index_t h = 0; h < elements.extent(1); ++h)
                for (index_t n = 0; n < elements.extent(2); ++n)
                    for (index_t c = 0; c < elements.extent(3); ++c) f(elements(b, h, n, c));
    }

    void fill(dice& from, double size) {
        for_each([&](T& x) { x = static_cast<T>(from.real(-size, size)); });
    }

    /// The elements in C order.
    std::vector<T> collected() const {
        std::vector<T> all;
        for_each([&](T const& x) { all.push_back(x); });
        return all;
    }

    /// Errors: law_broken when something was written between the rows.
    void check_gaps() const {
        std::vector<bool> is_element(buffer.size());
        for_each([&](T const& x) { is_element[static_cast<std::size_t>(&x - buffer.data())] = true; });
        for (std::size_t i = 0; i < buffer.size(); ++i)
            law(is_element[i] || buffer[i] != buffer[i], "nothing is written beside the elements of a view",
                [&] { return "element " + std::to_string(i) + " of the memory, " + std::to_string(buffer[i]); });
    }
};

}  // namespace fovea::FOVEA_SET::testing
