// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients that a call asks for while they are summed, each found by the array that it is of, and written in the
// type that was asked for.
#pragma once

#include <fovea/core/memory.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/core/view.hpp>
#include <fovea/spec/call/grad.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/shapes.hpp>
#include <fovea/spec/step_gates.hpp>

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>

namespace fovea::FOVEA_SET {

namespace detail {
template <std::size_t Rank, class F, class... Index>
void for_each_index(std::array<index_t, Rank> const& extents, F const& f, Index... index) {
    if constexpr (sizeof...(Index) == Rank) f(index...);
    else
        for (index_t i = 0; i < extents[sizeof...(Index)]; ++i) for_each_index(extents, f, index..., i);
}
}  // namespace detail

/// Rounds numbers, at(i) in the order of their indices, to the elements of what is asked for, or to their sums with
/// what these hold.
template <class At, class Asked>
void write_rounded(At const& at, Asked const& asked) {
    auto const& target = asked.target;
    using T = std::remove_pointer_t<decltype(target.data)>;
    constexpr auto last = std::size_t{Asked::rank - 1};
    index_t const count = target.extents[last], stride = target.strides[last];
    std::array<index_t, last> outer;
    std::copy_n(target.extents.begin(), last, outer.begin());
    index_t i = 0;
    detail::for_each_index(outer, [&](auto... index) {
        T* const row = count > 0 ? target.place(index..., index_t{0}) : nullptr;
        auto const write = [&](auto step, bool adds) {
            for (index_t c = 0; c < count; ++c) {
                T& element = row[c * step];
                auto const amount = at(i + c);
                element =
                    rounded_to<T>(adds ? static_cast<std::remove_const_t<decltype(amount)>>(element) + amount : amount);
            }
        };
        if (stride == 1 && !asked.adds) write(std::integral_constant<index_t, 1>(), false);  // in vectors
        else write(stride, asked.adds);
        i += count;
    });
}

/// Whether grad(...) can name an array of this type: it has its elements and axes, or is read as rows.
template <bool AsRows, class Asked, class T, int Rank>
inline constexpr bool may_name = std::is_same_v<typename Asked::element, T>
                              && (Asked::rank == Rank || (AsRows && (Asked::rank == 2 || Asked::rank == 3)));
/// True if grad(x, ...) refers to this array: same address, extents and strides. With AsRows, axes of extent 1 may be
/// missing.
template <bool AsRows = false, class Asked, class T, int Rank>
bool names(Asked const& asked, view<T const, Rank> const& array) {
    if constexpr (!may_name<AsRows, Asked, T, Rank>) return false;
    else if constexpr (Asked::rank == Rank)
        return asked.wanted && fovea::detail::same_elements(asked.of, fovea::detail::once(array));
    else return asked.wanted && fovea::detail::same_elements(as_heads(asked.of), array);
}

/// The same for a table with a number for each step.
template <class Asked, class T>
bool names(Asked const& asked, step_gates<T> const& steps) {
    if constexpr (!std::is_same_v<typename Asked::element, T> || Asked::rank == 2 || Asked::rank > 4) return false;
    else
        return asked.wanted && steps.table
            && fovea::detail::same_elements(step_gates<T>::as_steps(asked.of), *steps.table);
}

/// named_arrays: which of the arrays whose gradients are asked for a call reads.
template <class... Asked>
class named_arrays {
public:
    explicit named_arrays(Asked const&... asked) : asked_(asked...) {}

    /// Says that the call has the gradient of an array.
    template <bool AsRows = false, class T, int Rank>
    void found(view<T const, Rank> const& array) {
        std::size_t n = 0;
        std::apply([&](auto const&... each) { ((is_read_[n] = is_read_[n] || names<AsRows>(each, array), ++n), ...); },
                   asked_);
    }
    template <class T>
    void found(step_gates<T> const& steps) {
        std::size_t n = 0;
        std::apply([&](auto const&... each) { ((is_read_[n] = is_read_[n] || names(each, steps), ++n), ...); }, asked_);
    }
    /// Whether the gradient of an array is asked for.
    template <class T, int Rank>
    bool asks(view<T const, Rank> const& array) const {
        return std::apply([&](auto const&... each) { return (names(each, array) || ...); }, asked_);
    }
    /// The same of the rows of an operand; rows that are no view cannot be asked for.
    template <operand_role, class T>
    bool asks_rows(view<T const, 4> const& rows) const {
        return std::apply([&](auto const&... each) { return (names<true>(each, rows) || ...); }, asked_);
    }
    template <operand_role, class Rows>
    bool asks_rows(Rows const&) const {
        return false;
    }
    /// for_each_read(visit) calls visit with the memory_region of every array that the call reads.
    /// Errors: shape_error for an array that no one has found.
    template <class ForEachRead>
    void require_found(ForEachRead const& for_each_read) const {
        std::size_t n = 0;
        auto const check = [&](auto const& asked) {
            if (is_read_[n++] || !asked.wanted) return;
            auto const here = fovea::detail::region_of(asked.of, "");
            for_each_read([&](fovea::detail::memory_region const& read) {
                if (!here.empty() && read.data == here.data && read.element == here.element)
                    raise_error(shape_error("grad names an array ", asked.of.extents,
                                            " of which the call has no gradient: it begins where ", read.name,
                                            read.owner, " does, and that is of other extents or has no rule"));
            });
            raise_error(
                shape_error("grad names an array ", asked.of.extents,
                            " of which the call has no gradient: it reads none with the same elements, extents and "
                            "strides as an operand, a matrix, a bias or a table of reals"));
        };
        std::apply([&](auto const&... each) { (check(each), ...); }, asked_);
    }

private:
    std::tuple<Asked...> asked_;
    std::array<bool, sizeof...(Asked)> is_read_{};
};

/// gradient_sink: the sums of the gradients that are asked for.
template <class Real, class... Asked>
class gradient_sink : public named_arrays<Asked...> {
public:
    explicit gradient_sink(Asked const&... asked) : named_arrays<Asked...>(asked...), all_{sum<Asked>{asked}...} {}

    /// Adds to the gradient of an element of an array, wherever it is asked for.
    template <class T, int Rank>
    void add(view<T const, Rank> const& array, extents_t<Rank> const& at, Real amount) {
        for_each_named<false>(array, [&](auto& each) {
            auto const sums = fovea::detail::beside(array, each.total().data());
            std::apply([&](auto... index) { sums(index...) += amount; }, at);
        });
    }
    /// The same of the number of a step, (batch, head, position, feature); axes of extent one stand for all.
    template <class T>
    void add_step(step_gates<T> const& steps, extents_t<4> const& at, Real amount) {
        auto const add = [&](auto& each) {
            if (!fovea::names(each.asked, steps)) return;
            index_t place = 0;
            for (std::size_t axis = 0; axis < 4; ++axis) {
                index_t const extent = steps.table->extents[axis];
                place = place * extent + (extent == 1 ? 0 : at[axis]);
            }
            each.total().elements[static_cast<std::size_t>(place)] += amount;
        };
        std::apply([&](auto&... each) { (add(each), ...); }, all_);
    }
    /// The same of `count` positions of one head from `at` on, of each as many numbers as the table has features.
    template <class T>
    void add_steps(step_gates<T> const& steps, extents_t<4> const& at, index_t count, Real const* amounts) {
        auto const add = [&](auto& each) {
            if (!fovea::names(each.asked, steps)) return;
            auto const& n = steps.table->extents;
            view<Real, 4> const sums(each.total().elements.data(), n);
            for (index_t i = 0; i < count; ++i) {
                Real* const to = sums.place(std::min(at[0], n[0] - 1), std::min(at[1], n[1] - 1),
                                            std::min(at[2] + i, n[2] - 1), index_t{0});
                for (index_t f = 0; f < n[3]; ++f) to[f] += amounts[i * n[3] + f];
            }
        };
        std::apply([&](auto&... each) { (add(each), ...); }, all_);
    }
    /// Adds to that of an array as a whole, in the order of its indices.
    template <class T, int Rank>
    void add_all(view<T const, Rank> const& array, Real const* amounts) {
        for_each_named<false>(array, [&](auto& each) { each.add(amounts); });
    }
    /// The same of one of the arrays that lie one after another along its first axis.
    template <class T, int Rank>
    void add_one_of(view<T const, Rank> const& array, index_t number, Real const* amounts) {
        for_each_named<false>(array, [&](auto& each) {
            index_t const size = array.size() / array.extent(0);
            Real* const to = each.total().data() + number * size;
            for (index_t i = 0; i < size; ++i) to[i] += amounts[i];
        });
    }
    /// The same of the rows of an operand, (batch, head, position, feature).
    template <operand_role, class T>
    void add_rows(view<T const, 4> const& rows, Real const* amounts) {
        for_each_named<true>(rows, [&](auto& each) { each.add(amounts); });
    }
    /// The same of some of its positions.
    template <class T>
    void add_rows(view<T const, 4> const& rows, index_t first, index_t count, Real const* amounts) {
        for_each_named<true>(rows, [&](auto& each) {
            index_t const features = rows.extent(3);
            Real* const to = each.total().data();
            for (index_t h = 0; h < rows.extent(0) * rows.extent(1); ++h)
                for (index_t i = 0; i < count * features; ++i)
                    to[(h * rows.extent(2) + first) * features + i] += amounts[h * count * features + i];
        });
    }
    /// Adds to that of the state that a call began with.
    template <class T, int Rank>
    void add_state(view<T const, Rank> const& state, Real const* amounts) {
        add_all(state, amounts);
    }
    /// The sums of what was asked for in place n, dense, for whoever adds to them.
    template <std::size_t N>
    Real* of_asked() {
        return std::get<N>(all_).total().elements.data();
    }
    /// The target of the rows of an operand, where they are summed in it: it is written, as numbers that lie next to
    /// each other, and of no other operand. Without memory otherwise.
    template <class T, class... Others>
    view<Real, 4> rows_in_target(view<T const, 4> const& rows, Others const&... others) {
        view<Real, 4> found{};
        int asked = 0;
        for_each_named<true>(rows, [&](auto& each) {
            if constexpr (std::is_same_v<std::remove_pointer_t<decltype(each.asked.target.data)>, Real>) {
                auto const to = as_heads(each.asked.target);
                bool const apart = to.extents == rows.extents && (to.stride(3) == 1 || to.extent(3) <= 1);
                each.in_target = apart && !each.asked.adds && asked == 0 && !(names_rows(each.asked, others) || ...);
                if (each.in_target) found = to;
            }
            ++asked;
        });
        if (asked > 1) {
            for_each_named<true>(rows, [&](auto& each) { each.in_target = false; });
            return {};
        }
        return found;
    }
    /// The same for amounts that stay until write(): nothing is allocated. An array is read in three places at most.
    template <class T>
    void add_lasting_rows(view<T const, 4> const& rows, Real const* amounts) {
        for_each_named<true>(rows, [&](auto& each) {
            if (!each.in_target) each.rows[each.row_count++] = amounts;
        });
    }
    /// Rows that are no view cannot be asked for.
    template <operand_role, class Rows>
    void add_rows(Rows const&, Real const*) {}
    template <class Rows>
    void add_lasting_rows(Rows const&, Real const*) {}
    template <class Rows, class... Others>
    view<Real, 4> rows_in_target(Rows const&, Others const&...) {
        return {};
    }

    /// Rounds the sums to what was asked for.
    void write() const {
        auto const write_one = [](auto const& each) {
            if (!each.asked.wanted || (each.in_target && each.sums.elements.empty())) return;
            if (each.in_target) {
                auto more = each.asked;
                more.adds = true;
                write_rounded([&](index_t i) { return each.at(i); }, more);
            } else if (each.row_count == 1 && each.sums.elements.empty())
                write_rounded([from = each.rows[0]](index_t i) { return from[i]; }, each.asked);
            else write_rounded([&](index_t i) { return each.at(i); }, each.asked);
        };
        std::apply([&](auto const&... each) { (write_one(each), ...); }, all_);
    }

private:
    template <class Named>
    struct sum {
        Named asked;
        tensor<Real, Named::rank> sums{{}};  // of what does not last; empty where there is nothing
        std::array<Real const*, 3> rows{};   // of what does
        std::size_t row_count = 0;
        bool in_target = false;  // rows are summed there

        tensor<Real, Named::rank>& total() {
            if (sums.extents != asked.of.extents) sums = tensor<Real, Named::rank>(asked.of.extents);
            return sums;
        }
        void add(Real const* amounts) {
            for (auto& element : total().elements) element += *amounts++;
        }
        Real at(index_t i) const {
            Real all = sums.elements.empty() ? Real(0) : sums.elements[static_cast<std::size_t>(i)];
            for (std::size_t n = 0; n < row_count; ++n) all += rows[n][i];
            return all;
        }
    };
    std::tuple<sum<Asked>...> all_;

    template <class Asked_for, class T>
    static bool names_rows(Asked_for const& asked, view<T const, 4> const& rows) {
        return fovea::names<true>(asked, rows);
    }
    template <class Asked_for, class Rows>
    static bool names_rows(Asked_for const&, Rows const&) {
        return false;
    }
    template <bool AsRows, class T, int Rank, class F>
    void for_each_named(view<T const, Rank> const& array, F const& f) {
        [[maybe_unused]] auto const compare = [&](auto& each) {
            if constexpr (may_name<AsRows, std::remove_cvref_t<decltype(each.asked)>, T, Rank>)
                if (names<AsRows>(each.asked, array)) f(each);
        };
        std::apply([&](auto&... each) { (compare(each), ...); }, all_);
    }
};

}  // namespace fovea::FOVEA_SET
