// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys and values in a few bits, with a scale for each block of features: a source of rows that is loaded.
#pragma once

#include <fovea/core/row_run.hpp>
#include <fovea/spec/shapes.hpp>

#include <cmath>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// block_scaled_rows: what block_scaled returns. `Numbers` and `Scales` are views or pages.
template <class Numbers, class Scales>
struct block_scaled_rows {
    using value_type = element_of_rows<Scales>;

    Numbers numbers;
    Scales scales;
    extents_t<4> extents;
    index_t block;  // features that share a scale

    constexpr block_scaled_rows(Numbers const& of, Scales const& by)
        : numbers(of), scales(by), extents(of.extents), block(of.extent(3) / std::max<index_t>(by.extent(3), 1)) {}

    constexpr index_t extent(int axis) const { return extents[static_cast<std::size_t>(axis)]; }
    constexpr value_type operator()(index_t batch, index_t head, index_t position, index_t feature) const {
        return static_cast<value_type>(scales(batch, head, position, feature / block))
             * static_cast<value_type>(numbers(batch, head, position, feature));
    }

    template <class T>
    void load(row_range const& rows, T* to, index_t stride) const {
        for (index_t n = rows.first; n < rows.last; ++n, to += stride)
            load_row(numbers.place(rows.batch, rows.head, n, 0), scales.place(rows.batch, rows.head, n, 0), to);
    }

    bool finite(row_range const& rows) const {
        for (index_t n = rows.first; n < rows.last; ++n)
            for (index_t s = 0; s < scales.extent(3); ++s)
                if (!std::isfinite(static_cast<value_type>(scales(rows.batch, rows.head, n, s)))) return false;
        return true;
    }

    template <class F>
    constexpr void for_each_source(F const& f) const {
        f(numbers);
        f(scales);
    }
    template <class Visit>
    constexpr void for_each_array(Visit const& visit) const {
        auto const of = [&](auto const& rows, char const* what) {
            if constexpr (is_paged<std::remove_cvref_t<decltype(rows)>>) rows.for_each_array(visit);
            else visit(rows, what);
        };
        of(numbers, "'s integers");
        of(scales, "'s scales");
    }

    /// Errors: shape_error where the scales do not fit the integers, and those of their pages.
    void check(char const* argument) const {
        for (std::size_t axis = 0; axis < 3; ++axis)
            if (scales.extents[axis] != extents[axis])
                throw shape_error(argument, " has integers ", extents, " and scales ", scales.extents,
                                  ": they differ along axis ", axis);
        if (extents[3] > 0 && (scales.extent(3) == 0 || extents[3] % scales.extent(3) != 0))
            throw shape_error(argument, " has ", detail::counted(extents[3], "feature"), " and ",
                              detail::counted(scales.extent(3), "scale"),
                              " for each position: features must be a multiple of scales");
        for_each_source([&](auto const& source) {
            if constexpr (requires { source.check(argument); }) source.check(argument);
        });
    }

private:
    /// Source and target are apart, which the compiler has to know to use vectors.
    template <class Number, class Scale, class T>
    void load_row(Number const* FOVEA_RESTRICT number, Scale const* FOVEA_RESTRICT scale, T* FOVEA_RESTRICT to) const {
        constexpr index_t at_once = 16;
        index_t const features = extents[3];
        for (index_t c = 0; c < features; ++scale) {
            T const factor = static_cast<T>(*scale);
            index_t const last = c + block;
            for (; c + at_once <= last; c += at_once)
                for (index_t i = 0; i < at_once; ++i) to[c + i] = factor * static_cast<T>(number[c + i]);
            for (; c < last; ++c) to[c] = factor * static_cast<T>(number[c]);
        }
    }
};

/// block_scaled: keys or values in integers with a scale for each block of features, as caches in 8 bits keep them.
///
///     attend(spec, query, block_scaled(keys, key_scales), block_scaled(values, value_scales), result)
///     x[n][c] = scales[n][c / block] * integers[n][c],   block = features / scales of a position
///
/// integers: (batch, head, position, feature); scales: (batch, head, position, block); views, or pages of both. They
/// are kept as views. Cost: a block of rows is loaded before it is multiplied; lists of keys and running states load
/// all rows beforehand. Errors: shape_error for scales that do not fit, before anything is written.
/// Source: Dettmers et al. 2022 (LLM.int8), block-wise quantisation.
template <class Numbers, class Scales>
constexpr auto block_scaled(Numbers const& numbers, Scales const& scales) {
    auto const of = as_rows(numbers);
    auto const by = as_rows(scales);
    constexpr bool integers = std::is_integral_v<element_of_rows<decltype(of)>>;
    constexpr bool reals = !std::is_integral_v<element_of_rows<decltype(by)>>;
    static_assert(integers && reals, "fovea: block_scaled takes integers, and then the reals that scale them");
    return block_scaled_rows(of, by);
}

}  // namespace fovea::FOVEA_SET
