// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys and values as integers with scales, and perhaps zero points, in arrays of their own: a source of rows that is
// loaded, and what writes one.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/row_run.hpp>
#include <fovea/spec/shapes.hpp>
#include <fovea/spec/stored_rows.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// no_zeros: integers of which 0 stands for 0.
struct no_zeros {};

namespace detail {
/// Scales whose axes of extent 1 repeat along those of the integers; each position has its number of blocks.
template <class T>
constexpr view<T, 4> repeated_along(view<T, 4> scales, extents_t<4> const& integers) {
    for (std::size_t axis = 0; axis < 3; ++axis)
        if (scales.extents[axis] == 1) {
            scales.extents[axis] = integers[axis];
            scales.strides[axis] = 0;
        }
    return scales;
}
template <class T, class Numbers>
constexpr view<T, 4> repeated_along(view<T, 4> const& scales, Numbers const& numbers) {
    return repeated_along(scales, extents_t<4>(numbers.extents));
}
template <class T, class Numbers>
constexpr paged_rows<T> repeated_along(paged_rows<T> const& scales, Numbers const& numbers) {
    auto along = scales.pages.extents;
    if constexpr (is_paged<Numbers>) along = numbers.pages.extents;
    else along[1] = numbers.extents[1];
    if (scales.extents[2] == numbers.extents[2]) along[2] = scales.pages.extents[2];  // pages of one position each
    return {repeated_along(scales.pages, along), scales.table};
}
template <class Numbers>
constexpr no_zeros repeated_along(no_zeros, Numbers const&) {
    return {};
}

/// Errors: shape_error where scales, or zero points, do not fit the integers.
inline void check_scales(char const* argument, extents_t<4> const& integers, extents_t<4> const& scales,
                         char const* what) {
    for (std::size_t axis = 0; axis < 3; ++axis)
        if (scales[axis] != integers[axis])
            raise_error(shape_error(argument, " has integers ", integers, " and ", what, "s ", scales,
                                    ": they differ along axis ", axis));
    if (integers[3] > 0 && (scales[3] == 0 || integers[3] % scales[3] != 0))
        raise_error(shape_error(argument, " has ", counted(integers[3], "feature"), " and ", counted(scales[3], what),
                                " for each position: features must be a multiple of ", what, "s"));
}
inline void check_scales(char const* argument, extents_t<4> const& integers, extents_t<4> const& scales,
                         extents_t<4> const& zeros) {
    check_scales(argument, integers, scales, "scale");
    check_scales(argument, integers, zeros, "zero");
    if (zeros[3] != scales[3])
        raise_error(shape_error(argument, " has ", counted(scales[3], "scale"), " and ", counted(zeros[3], "zero"),
                                " for each position"));
}

/// The zero point of the ith block as a T.
template <class T, class Zero>
FOVEA_INLINE T zero_point([[maybe_unused]] Zero const* zeros, [[maybe_unused]] index_t i) {
    if constexpr (std::is_same_v<Zero, no_zeros>) return T{0};
    else return static_cast<T>(zeros[i]);
}
}  // namespace detail

/// block_scaled_rows: what block_scaled returns. `Numbers`, `Scales` and `Zeros` are views or pages.
template <class Numbers, class Scales, class Zeros = no_zeros>
struct block_scaled_rows {
    using value_type = compute_type<element_of_rows<Scales>>;
    static constexpr bool has_zeros = !std::is_same_v<Zeros, no_zeros>;

    Numbers numbers;
    Scales scales;
    FOVEA_NO_UNIQUE_ADDRESS Zeros zeros;
    extents_t<4> extents;
    index_t block;  // features that share a scale

    constexpr block_scaled_rows(Numbers const& of, Scales const& by, Zeros const& from = {})
        : numbers(of),
          scales(detail::repeated_along(by, of)),
          zeros(detail::repeated_along(from, of)),
          extents(of.extents),
          block(of.extent(3) / std::max<index_t>(by.extent(3), 1)) {}

    constexpr index_t extent(int axis) const { return extents[static_cast<std::size_t>(axis)]; }
    constexpr value_type operator()(index_t batch, index_t head, index_t position, index_t feature) const {
        auto const scale = static_cast<value_type>(scales(batch, head, position, feature / block));
        auto const number = static_cast<value_type>(numbers(batch, head, position, feature));
        return scale * (number - detail::zero_point<value_type>(zeros_of(batch, head, position), feature / block));
    }

    template <class T>
    void load(row_range const& rows, T* to, index_t stride) const {
        for (index_t n = rows.first; n < rows.last; ++n, to += stride)
            load_row(numbers.place(rows.batch, rows.head, n, 0), scales.place(rows.batch, rows.head, n, 0),
                     zeros_of(rows.batch, rows.head, n), to);
    }

    bool finite(row_range const& rows) const {
        using integer = std::numeric_limits<element_of_rows<Numbers>>;
        constexpr auto most =
            std::max(static_cast<value_type>(integer::max()), -static_cast<value_type>(integer::min()));
        for (index_t n = rows.first; n < rows.last; ++n) {
            auto const* const scale = scales.place(rows.batch, rows.head, n, 0);
            auto const* const zero = zeros_of(rows.batch, rows.head, n);
            bool bounded = true;  // whatever the integers are
            for (index_t s = 0; s < scales.extent(3); ++s) {
                auto const reach = most + std::abs(detail::zero_point<value_type>(zero, s));
                bounded = bounded && std::isfinite(static_cast<value_type>(scale[s]) * reach);
            }
            if (bounded) continue;
            for (index_t c = 0; c < extents[3]; ++c)
                if (!std::isfinite((*this)(rows.batch, rows.head, n, c))) return false;
        }
        return true;
    }

    template <class F>
    constexpr void for_each_source(F const& f) const {
        f(numbers);
        f(scales);
        if constexpr (has_zeros) f(zeros);
    }
    template <class Visit>
    constexpr void for_each_array(Visit const& visit) const {
        auto const of = [&](auto const& rows, char const* what) {
            if constexpr (is_paged<std::remove_cvref_t<decltype(rows)>>) rows.for_each_array(visit);
            else visit(rows, what);
        };
        of(numbers, "'s integers");
        of(scales, "'s scales");
        if constexpr (has_zeros) of(zeros, "'s zeros");
    }

    /// Errors: shape_error where the scales do not fit the integers, and those of their pages.
    void check(char const* argument) const {
        if constexpr (has_zeros) detail::check_scales(argument, extents, scales.extents, zeros.extents);
        else detail::check_scales(argument, extents, scales.extents, "scale");
        for_each_source([&](auto const& source) {
            if constexpr (requires { source.check(argument); }) source.check(argument);
        });
    }

private:
    constexpr auto const* zeros_of([[maybe_unused]] index_t batch, [[maybe_unused]] index_t head,
                                   [[maybe_unused]] index_t position) const {
        if constexpr (has_zeros) return zeros.place(batch, head, position, 0);
        else return &zeros;
    }

    /// Source and target are apart, which the compiler has to know to use vectors.
    template <class Number, class Scale, class Zero, class T>
    void load_row(Number const* FOVEA_RESTRICT number, Scale const* FOVEA_RESTRICT scale,
                  Zero const* FOVEA_RESTRICT zero, T* FOVEA_RESTRICT to) const {
        constexpr index_t at_once = 16;
        index_t const features = extents[3];
        if (block == 1) {
            for (index_t c = 0; c < features; ++c)
                to[c] = static_cast<T>(scale[c]) * (static_cast<T>(number[c]) - detail::zero_point<T>(zero, c));
            return;
        }
        for (index_t c = 0, s = 0; c < features; ++s) {
            T const factor = static_cast<T>(scale[s]), origin = detail::zero_point<T>(zero, s);
            index_t const last = c + block;
            for (; c + at_once <= last; c += at_once)
                for (index_t i = 0; i < at_once; ++i) to[c + i] = factor * (static_cast<T>(number[c + i]) - origin);
            for (; c < last; ++c) to[c] = factor * (static_cast<T>(number[c]) - origin);
        }
    }
};

namespace detail {
template <class Numbers, class Scales, class Zeros>
constexpr auto scaled_by(Numbers const& numbers, Scales const& scales, Zeros const& zeros) {
    auto const of = as_rows(numbers);
    auto const by = as_rows(scales);
    constexpr bool integers = std::is_integral_v<element_of_rows<decltype(of)>>;
    constexpr bool reals = !std::is_integral_v<element_of_rows<decltype(by)>>;
    static_assert(integers && reals, "fovea: block_scaled takes integers, and then the reals that scale them");
    return block_scaled_rows(of, by, zeros);
}
}  // namespace detail

/// block_scaled: keys or values in integers with a scale, and perhaps a zero point, for each block of features, each
/// position, each head and feature, or each page.
///
///     attend(spec, query, block_scaled(keys, key_scales), block_scaled(values, value_scales, value_zeros), result)
///     x[n][c] = scales[n][c / block] * (integers[n][c] - zeros[n][c / block]),   block = features / scales of a
///     position
///
/// integers: (batch, head, position, feature); scales, zeros: (batch, head, position, block), views or pages; one along
/// an axis, or one in a page, is for all. Cost: few queries scale integers in registers as they read them, many load a
/// block of rows once; lists of keys and running states load all. Errors: shape_error for scales that do not fit,
/// before anything is written. Source: Dettmers et al. 2022 (LLM.int8), block-wise quantisation; Jacob et al. 2018,
/// section 2.1, zero points.
template <class Numbers, class Scales>
constexpr auto block_scaled(Numbers const& numbers, Scales const& scales) {
    return detail::scaled_by(numbers, scales, no_zeros{});
}
template <class Numbers, class Scales, class Zeros>
constexpr auto block_scaled(Numbers const& numbers, Scales const& scales, Zeros const& zeros) {
    return detail::scaled_by(numbers, scales, as_rows(zeros));
}

namespace detail {
/// Rounds rows to integers of a cache. Scales, and zero points, that belong to one position are computed for its row;
/// those that are const, or that several positions share, are read.
template <class Integer, class Scale, class Zero>
class scaled_rounding {
    using zeros_type = std::conditional_t<std::is_same_v<Zero, no_zeros>, no_zeros, view<Zero, 4>>;
    static constexpr bool has_zeros = !std::is_same_v<Zero, no_zeros>;

public:
    scaled_rounding(view<Integer, 4> const& integers, view<Scale, 4> const& scales, zeros_type const& zeros)
        : integers_(integers),
          scales_(repeated_along(scales, integers)),
          zeros_(repeated_along(zeros, integers)),
          computes_scales_(is_of_position(scales)) {
        if constexpr (has_zeros) {
            check_scales("store: the cache", integers.extents, scales_.extents, zeros_.extents);
            computes_zeros_ = computes_scales_ && is_of_position(zeros);
        } else {
            check_scales("store: the cache", integers.extents, scales_.extents, "scale");
        }
    }

    /// Errors: shape_error where scales or zero points cannot be read or, where they are computed, written.
    template <class Zeros, class Element>
    void check(view<Scale, 4> const& scales, Zeros const& zeros, view<Element, 4> const& source) const {
        auto const integers = region_of(integers_, "store: the cache"), from = region_of(source, "source");
        require_sound(region_of(scales, "store: the scales"));
        if (computes_scales_) check_written(scales, integers, from);
        if constexpr (has_zeros) {
            require_sound(region_of(zeros, "store: the zero points"));
            if (computes_zeros_) check_written(zeros, integers, from, region_of(scales, "store: the scales"));
        }
    }

    template <class Element>
    void operator()(Element const* row, place_of_row const& at) const {
        auto* const to = integers_.place(at.outer, at.head, at.row, index_t{0});
        auto* const scale = scales_.place(at.outer, at.head, at.row, index_t{0});
        index_t const features = integers_.extent(3), block = features / std::max<index_t>(scales_.extent(3), 1);
        for (index_t c = 0, s = 0; c < features; c += block, ++s)
            if constexpr (has_zeros)
                round_block(row + c, block, to + c, scale[s], zeros_.place(at.outer, at.head, at.row, index_t{0})[s]);
            else round_block(row + c, block, to + c, scale[s], zeros_);
    }

private:
    template <class T>
    bool is_of_position(view<T, 4> const& numbers) const {
        bool each = !std::is_const_v<T>;
        for (std::size_t axis = 0; axis < 3; ++axis)
            each = each && (integers_.extents[axis] == 1 || (numbers.extents[axis] != 1 && numbers.strides[axis] != 0));
        return each;
    }

    template <class Element, class Zeros>
    void round_block(Element const* row, index_t count, Integer* to, Scale& scale, Zeros& zero) const {
        using T = compute_type<Element, std::remove_const_t<Scale>>;
        constexpr T least = std::numeric_limits<Integer>::min(), most = std::numeric_limits<Integer>::max();
        if constexpr (!std::is_const_v<Scale>)
            if (computes_scales_) find_scale<T>(row, count, scale, zero);
        T const step = static_cast<T>(scale), origin = zero_point<T>(&zero, 0);
        T const steps = step != 0 ? 1 / step : 0;
        for (index_t c = 0; c < count; ++c) {
            T const rounded = std::round(static_cast<T>(row[c]) * steps + origin);
            to[c] = static_cast<Integer>(std::min(most, std::max(least, rounded)));  // the least for a NaN
        }
    }

    /// A zero point as near as its type has it.
    template <class Zeros, class T>
    static T within(T origin) {
        if constexpr (!std::is_integral_v<Zeros>) return origin;
        else
            return std::clamp(std::round(origin), static_cast<T>(std::numeric_limits<Zeros>::min()),
                              static_cast<T>(std::numeric_limits<Zeros>::max()));
    }

    /// The least scale with which all numbers of a block that the integers can hold are held.
    template <class T, class Element, class Zeros>
    void find_scale(Element const* row, index_t count, Scale& scale, [[maybe_unused]] Zeros& zero) const {
        constexpr T least = std::numeric_limits<Integer>::min(), most = std::numeric_limits<Integer>::max();
        T lo = static_cast<T>(row[0]), hi = lo, sum = 0;
        for (index_t c = 0; c < count; ++c) {
            T const x = static_cast<T>(row[c]);
            lo = std::min(lo, x);
            hi = std::max(hi, x);
            sum += x - x;  // no number where one is not finite
        }
        if (!(sum == 0)) {
            scale = static_cast<Scale>(std::numeric_limits<T>::quiet_NaN());
            return;
        }
        if constexpr (has_zeros && !std::is_const_v<Zeros>)
            if (computes_zeros_) {
                if constexpr (std::is_integral_v<Zeros>) lo = std::min(lo, T{0}), hi = std::max(hi, T{0});
                T const step = hi / (most - least) - lo / (most - least), alike = lo != 0 ? std::abs(lo) : T{1};
                scale = static_cast<Scale>(step > 0 ? step : alike);
                T const stored = static_cast<T>(scale), origin = stored != 0 ? least - lo / stored : least;
                zero = static_cast<Zeros>(within<Zeros>(origin));
                return;
            }
        T const origin = zero_point<T>(&zero, 0);
        T const above = most > origin ? hi / (most - origin) : 0, below = origin > least ? lo / (least - origin) : 0;
        scale = static_cast<Scale>(std::max(T{0}, std::max(above, below)));
    }

    view<Integer, 4> integers_;
    view<Scale, 4> scales_;
    FOVEA_NO_UNIQUE_ADDRESS zeros_type zeros_;
    bool computes_scales_, computes_zeros_ = false;
};

/// Stores in one array, or, with a table of theirs, in pages.
template <class Zero, class Integer, class Scale, class Zeros, class Element, class... Table>
void store_scaled(view<Integer, 4> const& integers, view<Scale, 4> const& scales, Zeros const& zeros,
                  view<Element, 4> const& source, index_t first, Table const&... table) {
    scaled_rounding<Integer, Scale, Zero> const round(integers, scales, zeros);
    check_stored(integers.extents, integers, table..., source, first);
    round.check(scales, zeros, source);
    if constexpr (sizeof...(Table) == 0) for_each_stored(source, first, round);
    else for_each_stored(source, table..., integers.extent(2), first, round);
}

template <class Integer>
concept stored_integer = std::is_integral_v<Integer> && !std::is_same_v<Integer, bool> && sizeof(Integer) <= 2;
}  // namespace detail

/// store: rounds new rows to integers of a cache, from a position on.
///
///     store(integers, scales, source, first)             store(integers, scales, zeros, source, first)
///     store(pages, scales, table, source, first)         store(pages, scales, zeros, table, source, first)
///
/// integers, scales, zeros: views as of block_scaled, with (page, head, slot, ..) in pages; integers of at most 16
/// bits. source: (batch, head, position, feature), of any real type. Scales and zeros of one position are computed;
/// those that are const, or that positions share, are read, and numbers beyond the integers saturate. A NaN makes a
/// computed scale NaN. Errors: shape_error, before anything is written, as of the store of blocks.
template <detail::stored_integer Integer, class Scale, class Element>
void store(view<Integer, 4> const& integers, view<Scale, 4> const& scales, view<Element, 4> const& source,
           index_t first) {
    detail::store_scaled<no_zeros>(integers, scales, no_zeros{}, source, first);
}
template <detail::stored_integer Integer, class Scale, class Zero, class Element>
void store(view<Integer, 4> const& integers, view<Scale, 4> const& scales, view<Zero, 4> const& zeros,
           view<Element, 4> const& source, index_t first) {
    detail::store_scaled<Zero>(integers, scales, zeros, source, first);
}
template <detail::stored_integer Integer, class Scale, class Element>
void store(view<Integer, 4> const& pages, view<Scale, 4> const& scales, view<std::int32_t const, 2> const& table,
           view<Element, 4> const& source, index_t first) {
    detail::store_scaled<no_zeros>(pages, scales, no_zeros{}, source, first, table);
}
template <detail::stored_integer Integer, class Scale, class Zero, class Element>
void store(view<Integer, 4> const& pages, view<Scale, 4> const& scales, view<Zero, 4> const& zeros,
           view<std::int32_t const, 2> const& table, view<Element, 4> const& source, index_t first) {
    detail::store_scaled<Zero>(pages, scales, zeros, source, first, table);
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
