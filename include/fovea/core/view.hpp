// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Views: the address, extents and strides of an array, and what is said of arguments that make none.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/bits.hpp>
#include <fovea/core/config.hpp>
#include <fovea/core/diagnose.hpp>
#include <fovea/core/errors.hpp>
#include <fovea/core/index.hpp>

#include <span>  // and the concepts of ranges: <ranges> itself takes each unit a tenth longer

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <string>
#include <type_traits>

namespace fovea::FOVEA_SET::detail {

/// The sentence for a wrong number of extents.
template <bool Equal>
constexpr bool has_extents_of_rank() {
    static_assert(Equal, "fovea: the rank and the number of extents differ: give one extent for each axis");
    return true;
}

/// The sentence for numbers one after another where rows of them are meant; true otherwise.
template <bool Rows>
constexpr bool says_rows() {
    static_assert(Rows,
                  "fovea: a container of numbers does not say how many features a row has: write "
                  "view(elements, {rows, features})");
    return Rows;
}

/// The sentence for a matrix that is not stored by rows; true where it is.
template <bool Row_major>
constexpr bool is_row_major() {
    static_assert(Row_major,
                  "fovea: a view needs row-major storage: store it by rows, or pass m.transpose() where the transpose "
                  "of a matrix is meant");
    return Row_major;
}

}  // namespace fovea::FOVEA_SET::detail

namespace fovea::FOVEA_SET {

template <int Rank>
using extents_t = std::array<index_t, std::size_t{Rank}>;

/// Extents as text, "(2, 8, 128, 64)".
template <std::size_t Rank>
std::string to_text(std::array<index_t, Rank> const& extents) {
    return detail::message_of({extents});
}

namespace detail {
/// A product of extents, or the greatest index where that is exceeded.
constexpr index_t product_or_most(index_t a, index_t b) {
    index_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<index_t>::max() : product;
}

/// A pointer to elements, or a container, view or matrix of them.
template <class V, class Element>
concept elements_of = std::is_same_v<V, Element*> || requires(V const& v) {
    { std::ranges::data(v) } -> std::same_as<Element*>;
} || requires(V const& v) {
    v.strides;
    { v.data } -> std::same_as<Element* const&>;
};

/// An extent from an integer of any type, as sizes of containers are.
struct any_extent {
    index_t value;
    template <std::integral Size>
    constexpr any_extent(Size n) : value(static_cast<index_t>(n)) {}
};
}  // namespace detail
}  // namespace fovea::FOVEA_SET

namespace fovea {

/// view: a non-owning array of rank `Rank`: a pointer, extents, and strides in elements.
///
/// The last axis is contiguous; any other stride is free, zero included (broadcast). So
/// (batch, head, position, feature) and (batch, position, head, feature) are both just strides. Without elements, any
/// strides are right.
/// Errors: shape_error when the last axis is not contiguous or a span is too short.
template <class T, int Rank>
struct view {
    static_assert(Rank >= 1, "fovea: a view has at least one axis");
    using value_type = std::remove_const_t<T>;
    using pointer = typename detail::element_access<T>::pointer;
    using reference = typename detail::element_access<T>::reference;
    static constexpr int rank = Rank;

    pointer data = nullptr;
    extents_t<Rank> extents{};
    extents_t<Rank> strides{};

    FOVEA_TAGGED constexpr view() = default;

    FOVEA_TAGGED constexpr view(pointer first, extents_t<Rank> sizes) : view(first, sizes, dense_strides(sizes)) {}

    /// An extent for each axis, or a sentence.
    template <std::size_t Extents>
        requires(Extents != std::size_t{Rank})
    FOVEA_TAGGED constexpr view(pointer, index_t const (&)[Extents]) {
        static_assert(detail::has_extents_of_rank<Extents == std::size_t{Rank}>());
    }

    FOVEA_TAGGED constexpr view(pointer first, extents_t<Rank> sizes, extents_t<Rank> steps)
        : data(first), extents(sizes), strides(steps) {
        if (steps[Rank - 1] != 1 && sizes[Rank - 1] > 1 && !empty())
            raise_error(shape_error("view: the last axis must be contiguous, its stride is ", steps[Rank - 1],
                                    " and must be 1: copy the elements"));
        strides[Rank - 1] = 1;
    }

    FOVEA_TAGGED constexpr view(std::span<T> elements, extents_t<Rank> sizes) : view(elements.data(), sizes) {
        if (static_cast<index_t>(elements.size()) < size())
            raise_error(shape_error("view: the span has ", detail::counted(elements.size(), "element"),
                                    ", the extents ", sizes, " need ", size()));
    }

    /// From a container of numbers that outlives the view: view(elements, {rows, features}).
    template <std::ranges::contiguous_range Range>
        requires(std::ranges::borrowed_range<Range> && std::convertible_to<Range, std::span<T>>)
    FOVEA_TAGGED constexpr view(Range&& elements, detail::any_extent const (&sizes)[std::size_t{Rank > 0 ? Rank : 1}])
        : view(std::span<T>(elements), converted(sizes)) {}

    /// All elements of one; several axes need extents. What has a view of its own converts to that.
    template <std::ranges::contiguous_range Range>
        requires(std::ranges::borrowed_range<Range> && std::convertible_to<Range, std::span<T>>
                 && !requires(Range& elements) { elements.view(); })
    FOVEA_TAGGED constexpr explicit view(Range&& elements) : data(std::ranges::data(elements)) {
        static_cast<void>(detail::says_rows<Rank == 1>());
        extents[0] = static_cast<index_t>(std::ranges::size(elements));
        strides[Rank - 1] = 1;
    }

    /// Elements that are const are not written: what would make such a view says so.
    template <class Elements>
        requires(!std::is_const_v<T> && detail::elements_of<Elements, T const>)
    FOVEA_TAGGED constexpr explicit view(Elements const&, extents_t<Rank> = {}, extents_t<Rank> = {}) {
        static_assert(never<Elements>,
                      "fovea: these elements are const and cannot be written: view<T const, Rank> reads them");
    }

    /// From anything that looks like std::mdspan.
    template <class Span>
        requires requires(Span s) {
            s.data_handle();
            s.extent(0);
            s.stride(0);
        } && (Span::rank() == Rank)
    FOVEA_TAGGED constexpr view(Span const& s) : view(s.data_handle(), collect(s, 0), collect(s, 1)) {}

    /// From a row-major Eigen matrix, array or map of it.
    template <class Matrix>
        requires(Rank == 2 && requires(Matrix& m) { m.data(); m.rows(); m.cols(); m.outerStride(); m.IsRowMajor; })
    FOVEA_TAGGED constexpr view(Matrix&& m) : view(m.data(), {m.rows(), m.cols()}, {m.outerStride(), m.innerStride()}) {
        static_cast<void>(detail::is_row_major<static_cast<bool>(std::remove_cvref_t<Matrix>::IsRowMajor)>());
    }

    FOVEA_TAGGED constexpr operator view<T const, Rank>() const
        requires(!std::is_const_v<T>)
    {
        view<T const, Rank> same;  // as it is: the axis along which a table repeats may be the last one
        same.data = data;
        same.extents = extents;
        same.strides = strides;
        return same;
    }

    FOVEA_TAGGED constexpr index_t extent(int axis) const { return extents[static_cast<std::size_t>(axis)]; }
    FOVEA_TAGGED constexpr index_t stride(int axis) const { return strides[static_cast<std::size_t>(axis)]; }

    /// The number of elements; the greatest index_t where there are more.
    FOVEA_TAGGED constexpr index_t size() const {
        index_t n = 1;
        for (auto extent : extents) n = detail::product_or_most(n, extent);
        return empty() ? 0 : n;
    }

    /// Whether it has no elements; of extents so large that their product is no number, too.
    FOVEA_TAGGED constexpr bool empty() const { return std::find(extents.begin(), extents.end(), 0) != extents.end(); }

    template <class... Index>
        requires(sizeof...(Index) == Rank)
    FOVEA_TAGGED constexpr reference operator()(Index... at) const {
        return data[offset(at...)];
    }

    /// Where an element is, or would be in a view without elements.
    template <class... Index>
        requires(sizeof...(Index) == Rank)
    FOVEA_TAGGED constexpr pointer place(Index... at) const {
        return data + offset(at...);
    }

    template <class... Index>
    FOVEA_TAGGED constexpr index_t offset(Index... at) const {
        index_t position = 0;
        int axis = 0;
        ((position += static_cast<index_t>(at) * stride(axis++)), ...);
        return position;
    }

private:
    FOVEA_TAGGED static constexpr extents_t<Rank> converted(
        detail::any_extent const (&sizes)[std::size_t{Rank > 0 ? Rank : 1}]) {
        extents_t<Rank> result{};
        for (std::size_t i = 0; i < std::size_t{Rank}; ++i) result[i] = sizes[i].value;
        return result;
    }
    FOVEA_TAGGED static constexpr extents_t<Rank> dense_strides(extents_t<Rank> const& sizes) {
        extents_t<Rank> steps{};
        index_t step = 1;
        for (auto i = static_cast<std::size_t>(Rank); i-- > 0; step = detail::product_or_most(step, sizes[i]))
            steps[i] = step;
        return steps;
    }

    template <class Span>
    FOVEA_TAGGED static constexpr extents_t<Rank> collect(Span const& s, int what) {
        extents_t<Rank> result{};
        if constexpr (requires { s.is_strided(); })
            if (!s.is_strided()) raise_error(shape_error("view: the layout of this mdspan has no strides"));
        for (std::size_t i = 0; i < Rank; ++i) result[i] = static_cast<index_t>(what == 0 ? s.extent(i) : s.stride(i));
        return result;
    }
};

template <class T, std::size_t Rank>
view(T*, std::array<index_t, Rank>) -> view<T, static_cast<int>(Rank)>;
template <class T, std::size_t Rank>
view(T*, index_t const (&)[Rank]) -> view<T, static_cast<int>(Rank)>;
template <class T, std::size_t Rank>
view(T*, std::array<index_t, Rank>, std::array<index_t, Rank>) -> view<T, static_cast<int>(Rank)>;
template <class T, std::size_t Rank>
view(T*, index_t const (&)[Rank], index_t const (&)[Rank]) -> view<T, static_cast<int>(Rank)>;
template <std::ranges::contiguous_range Range>
view(Range&&) -> view<std::remove_reference_t<std::ranges::range_reference_t<Range&>>, 1>;
template <std::ranges::contiguous_range Range, std::size_t Rank>
view(Range&&, detail::any_extent const (&)[Rank])
    -> view<std::remove_reference_t<std::ranges::range_reference_t<Range&>>, static_cast<int>(Rank)>;

}  // namespace fovea

namespace fovea::FOVEA_SET {

/// A view with axes inserted in front until its rank is `Rank`; the new axes have extent 1. A view that has
/// too many axes gives none: who asks says so.
template <int Rank, class T, int From>
constexpr view<T, Rank> with_leading_axes(view<T, From> const& v) {
    if constexpr (Rank < From) {
        return {};
    } else {
        constexpr std::size_t added = Rank - From;
        extents_t<Rank> extents{}, strides{};
        for (std::size_t i = 0; i < Rank; ++i) {
            extents[i] = i < added ? 1 : v.extents[i - added];
            strides[i] = i < added ? (i + 1 == Rank ? 1 : 0) : v.strides[i - added];
        }
        return {v.data, extents, strides};
    }
}

/// The element of an axis that is nearest to an index: the indices of excluded pairs may be out of range.
FOVEA_INLINE constexpr index_t clamped_index(index_t i, index_t extent) {
    return std::clamp<index_t>(i, 0, extent - 1);
}

/// Where the element nearest to these indices is, those of the first axes; the other indices are 0.
template <class T, int Rank, class... Index>
    requires(sizeof...(Index) <= std::size_t{Rank})
FOVEA_INLINE constexpr index_t clamped_offset(view<T, Rank> const& table, Index const&... at) {
    index_t offset = 0;
    int axis = 0;
    ((offset += clamped_index(static_cast<index_t>(at), table.extent(axis)) * table.stride(axis), ++axis), ...);
    return offset;
}

}  // namespace fovea::FOVEA_SET

namespace fovea::FOVEA_SET::detail {

/// An axis of extent 1 stands for all positions along it: its elements repeat.
inline constexpr index_t everywhere = index_t{1} << 40;
template <class T, int Rank>
constexpr view<T, Rank> repeated(view<T, Rank> table) {
    for (std::size_t axis = 0; axis < std::size_t{Rank}; ++axis)
        if (table.extents[axis] == 1) {
            table.extents[axis] = everywhere;
            table.strides[axis] = 0;
        }
    return table;
}

/// The elements of a table: those that are repeated once.
template <class T, int Rank>
FOVEA_INLINE constexpr view<T, Rank> once(view<T, Rank> table) {
    for (std::size_t axis = 0; axis < std::size_t{Rank}; ++axis)
        if (table.extents[axis] == everywhere) table.extents[axis] = 1;
    return table;
}

/// A number for each element of a table, dense, which repeats as the element does.
template <class Number, class T, int Rank>
FOVEA_INLINE constexpr view<Number, Rank> beside(view<T, Rank> const& table, Number* numbers) {
    view<Number, Rank> all(numbers, once(table).extents);
    for (std::size_t axis = 0; axis < std::size_t{Rank}; ++axis)
        if (table.extents[axis] == everywhere) {
            all.extents[axis] = everywhere;
            all.strides[axis] = 0;
        }
    return all;
}

}  // namespace fovea::FOVEA_SET::detail

#include <fovea/core/epilogue.hpp>
