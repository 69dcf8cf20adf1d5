// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/as_view.hpp>

#include <optional>
#include <string>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// step_gates: a number for each step of a recurrence: one for all, or a view of them.
///
/// Views are (head), (batch, head, position) or (batch, head, position, feature), of the heads of the keys; an axis of
/// extent one stands for all.
template <class T>
struct step_gates {
    T number{};
    std::optional<view<T const, 4>> table{};  // where there is one for each step

    constexpr step_gates() = default;
    constexpr explicit step_gates(T x) : number(x) {}
    template <class Element, int Rank>
    constexpr explicit step_gates(view<Element, Rank> const& v) : table(as_steps(v)) {
        for (std::size_t axis = 0; axis < 3; ++axis)
            if (table->extents[axis] == 1) table->strides[axis] = 0;
    }

    constexpr index_t features() const { return table ? table->extent(3) : 1; }
    constexpr T const* row(index_t batch, index_t head, index_t position) const {
        return table ? table->place(batch, head, position, index_t{0}) : &number;
    }

    /// The steps first ... first + count - 1 of `all`, where there is a number for each.
    ///
    /// Errors: shape_error where there is another number of steps; `name` begins the sentence.
    step_gates part(index_t first, index_t count, index_t all, char const* name) const {
        step_gates result = *this;
        if (!table || table->extent(2) == 1) return result;
        if (table->extent(2) != all)
            raise_error(shape_error(name, " is ", table->extents, ", the sequences have ", detail::counted(all, "key"),
                                    " together"));
        result.table->data = table->place(index_t{0}, index_t{0}, first, index_t{0});
        result.table->extents[2] = count;
        return result;
    }

    /// The array that is read, if there is one: visit(array, what).
    template <class Visit>
    constexpr void memory(Visit const& visit, char const* what) const {
        if (table) visit(*table, what);
    }

    /// Errors: shape_error when the view does not fit keys of (batch, head, position, feature).
    void check(extents_t<4> const& key, bool by_feature, char const* name) const {
        if (!table) return;
        for (std::size_t axis = 0; axis < 4; ++axis) {
            auto const has = table->extents[axis];
            bool const fits = has == 1 || (has == key[axis] && (axis < 3 || by_feature));
            if (!fits)
                raise_error(shape_error(name, " is ", table->extents,
                                        ", (batch, head, position, feature) of the keys is ", key,
                                        (by_feature ? "" : ", and it has one number for each step")));
        }
    }

    /// (batch, head, position, feature) of a view that stands for numbers of steps.
    template <class Element, int Rank>
    static constexpr view<T const, 4> as_steps(view<Element, Rank> const& v) {
        static_assert(Rank == 1 || Rank == 3 || Rank == 4,
                      "fovea: a gate or a rate is (head), (batch, head, position) or (batch, head, position, feature)");
        if constexpr (Rank == 1) return {v.data, {1, v.extent(0), 1, 1}, {0, 1, 0, 1}};
        else if constexpr (Rank == 3)
            return {v.data, {v.extent(0), v.extent(1), v.extent(2), 1}, {v.stride(0), v.stride(1), 1, 1}};
        else if constexpr (Rank == 4) return v;
        else return {};
    }
};

namespace detail {
template <class X>
constexpr auto as_step_table(X& x) {
    if constexpr (std::is_arithmetic_v<std::remove_cv_t<X>>)
        return step_gates<std::conditional_t<std::is_floating_point_v<X>, std::remove_cv_t<X>, double>>(x);
    else {
        auto const v = view_of(x);
        using element = typename std::remove_const_t<decltype(v)>::value_type;
        if constexpr (has_features_of_numbers<element>()) return step_gates<element>(v);
        else return step_gates<float>();
    }
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
