// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of what is done to the result after the aggregator.
#pragma once

#include <fovea/driver/call/copies.hpp>
#include <fovea/driver/layer/backward/project_gradient.hpp>
#include <fovea/driver/layer/finish.hpp>
#include <fovea/expr/backpropagate.hpp>
#include <fovea/spec/result_shapes.hpp>
#include <fovea/spec/shapes.hpp>

namespace fovea::FOVEA_SET::driver {

/// What backpropagate hands amounts to for a vector of features of the result: to these, and to tables.
template <class T, class Arch, class Sums>
struct result_leaves {
    using vector = kernel::pack<T, Arch>;
    Sums& sums;
    vector& value;

    template <class Names>
    FOVEA_INLINE void name(Names const&, vector const& amount, out_t) const {
        value = value + amount;
    }
    /// A table with one axis without an index is read at a feature.
    template <class Names, class Element, int Rank, class... Index>
    void table(Names const& at, vector const& amount, view<Element const, Rank> const& table, Index... index) const {
        if (!sums.asks(table)) return;
        auto const amounts = kernel::lanes_of<T, Arch>::to_array(amount);
        for (index_t i = 0; i < std::min(vector::lanes, at.count); ++i) {
            T const each = amounts[static_cast<std::size_t>(i)];
            if (each == 0) continue;
            if constexpr (sizeof...(Index) == Rank) sums.add(table, {static_cast<index_t>(index)...}, each);
            else sums.add(table, {static_cast<index_t>(index)..., at.feature + i}, each);
        }
    }
};

/// True where the gradient of a finish reads the result before it.
template <class Finish>
inline constexpr bool gradient_reads_result =
    linear_finish<Finish> || (pointwise_finish<Finish> && !row_adding_finish<Finish>);

/// Whether that of any finish does.
template <class Aggregate>
constexpr bool gradients_read_result() {
    if constexpr (is_finished<Aggregate>)
        return gradient_reads_result<std::remove_cvref_t<decltype(std::declval<Aggregate>().second)>>
            || gradients_read_result<std::remove_cvref_t<decltype(std::declval<Aggregate>().first)>>();
    else return false;
}

/// The gradient before one finish, from that after it, `d`: position by position, as results are. `x` is the result
/// before the finish where that is read, and its extents are those of it; `source` is what the queries are made of.
template <class T, class Arch, class Finish, class Source, class Executor, class Sums>
view<T, 4> finish_gradient(Executor const& executor, workspace& scratch, Finish const& f, view<T, 4> const& x,
                           view<T, 4> const& d, view<Source const, 4> const& source, Sums& sums) {
    auto const as_before = [&](view<T, 4> const& rows) {
        return rows.extent(1) == x.extent(1) ? rows : split_heads(rows, x.extent(1), "result");
    };
    if constexpr (averaging_finish<Finish>) {
        auto const all = as_before(fresh_rows<T>(scratch, {x.extent(0), 1, x.extent(2), x.extent(1) * x.extent(3)}));
        for_rows(all, [&](T* to, index_t b, index_t n, index_t) {
            T const* const from = d.place(b, index_t{0}, n, index_t{0});
            for (index_t c = 0; c < x.extent(3); ++c) to[c] = from[c] / static_cast<T>(x.extent(1));
        });
        return all;
    } else if constexpr (linear_finish<Finish>) {
        return as_before(
            project_gradient<T, Arch>(executor, scratch, f.linear(), view<T const, 4>(joined(x)), d, true, sums));
    } else if constexpr (pointwise_finish<Finish>) {
        using vector = kernel::pack<T, Arch>;
        using base = kernel::index_environment<T, Arch, index_t>;
        auto const expression = f.expression();
        index_t const features = x.extent(3);
        auto const result = as_before(d);
        for_rows(result, [&](T* row, index_t b, index_t n, index_t h) {
            kernel::row_facts const facts{b, h, n, x.extent(2), x.extent(2), features};
            T const* const from = gradient_reads_result<Finish> ? x.place(b, h, n, index_t{0}) : row;
            for (index_t c = 0; c < features; c += vector::lanes) {
                result_environment<T, Arch, base> const here{
                    base{facts, 0}, kernel::load_as<T, Arch>(from + c, features - c), h * features + c, features - c};
                vector value(T{0});
                backpropagate(expression, here, kernel::load_as<T, Arch>(row + c, features - c),
                              result_leaves<T, Arch, Sums>{sums, value});
                kernel::lanes_of<T, Arch>::store(value, row + c, features - c);
            }
        });
        return result;
    } else {
        if constexpr (residual_finish<Finish>)
            if (sums.template asks_rows<operand_role::query>(source)) {
                auto const dense = fresh_rows<T>(scratch, source.extents);
                copy_rows<T>(executor, d.extent(1) == source.extent(1) ? d : split_heads(d, source.extent(1), "result"),
                             dense);
                sums.template add_rows<operand_role::query>(source, dense.data);
            }
        return as_before(d);
    }
}

/// The gradient of what the rows aggregate, `x`, from that of the result. What stands before a finish is computed again
/// from `x`, where it is read.
template <class T, class Arch, class Aggregate, class Source, class Executor, class Sums>
view<T, 4> finishes_gradient(Executor const& executor, workspace& scratch, Aggregate const& a, view<T, 4> const& x,
                             view<T, 4> d, view<Source const, 4> const& source, Sums& sums) {
    if constexpr (is_finished<Aggregate>) {
        using second = std::remove_cvref_t<decltype(a.second)>;
        view<T, 4> before = x;
        if constexpr (is_finished<std::remove_cvref_t<decltype(a.first)>>) {
            if constexpr (gradient_reads_result<second>) {
                before = split_heads(fresh_rows<T>(scratch, {x.extent(0), 1, x.extent(2), x.extent(1) * x.extent(3)}),
                                     x.extent(1), "result");
                copy_rows<T>(executor, x, before);
                for_each_finish(a.first,
                                [&](auto const& f) { before = finish<T, Arch>(executor, scratch, f, before, source); });
            } else {
                for_each_finish(a.first, [&](auto const& f) {
                    before.extents = fovea::detail::finished_extents(f, before.extents, source.extents);
                });
            }
        }
        d = finish_gradient<T, Arch>(executor, scratch, a.second, before, d, source, sums);
        return finishes_gradient<T, Arch>(executor, scratch, a.first, x, d, source, sums);
    } else {
        return d;
    }
}

}  // namespace fovea::FOVEA_SET::driver
