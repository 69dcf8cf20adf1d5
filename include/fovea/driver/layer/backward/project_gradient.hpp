// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of projections and of finishes: of their sources, matrices, biases and tables, by matrix products.
#pragma once

#include <fovea/driver/call/copies.hpp>
#include <fovea/driver/layer/finish.hpp>
#include <fovea/driver/layer/project.hpp>
#include <fovea/expr/backpropagate.hpp>
#include <fovea/spec/call/differentiable.hpp>
#include <fovea/spec/result_shapes.hpp>
#include <fovea/spec/shapes.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace fovea::FOVEA_SET::driver {

/// A matrix that rows are multiplied by, which belongs to no projection.
template <class T, bool Transposed = false>
struct plain_matrix {
    using row_map_tag = void;
    static constexpr bool is_transposed = Transposed;
    view<T const, 2> matrix;
    std::optional<view<T const, 1>> bias{};
    constexpr index_t features(index_t) const { return matrix.extent(Transposed ? 0 : 1); }
    static std::string text() { return "matrix"; }
};

/// Whether a table of a map of heads is asked for, and whether any of all is.
template <class Table, class Sums>
bool asks_head_map_table(Table const& table, Sums& sums) {
    bool any = false;
    for_each_form(table, [&](auto const& form) { any = any || sums.asks(form); });
    return any;
}
template <class Map, class Sums>
bool asks_head_map_tables(Map const& map, Sums& sums) {
    bool any = false;
    for_each_head_map_table(map, [&](auto const& table) { any = any || asks_head_map_table(table, sums); });
    return any;
}

/// The gradients of rows before the maps of heads, in place, from those after them, and those of the tables of these
/// maps, added to `sums`. `below` are the rows before them, which are only read where `reads_rows`.
template <class T, class Arch, class Map, class Source, class Executor, class Sums>
void head_maps_gradient(Executor const& executor, workspace& scratch, Map const& map, view<Source, 4> const& below,
                        view<T, 4> const& d, bool reads_rows, Sums& sums) {
    constexpr index_t positions_at_once = 64;
    index_t const features = d.extent(3), positions = d.extent(2), blocks = ceil_div(positions, positions_at_once),
                  tasks = d.extent(0) * blocks;
    // Of each table that is asked for, sums of each task, which are joined in their order.
    std::array<T*, head_map_tables_in<Map>> tables{};
    std::size_t count = 0;
    for_each_head_map_table(map, [&](auto const& table) {
        T*& all = tables[count++];
        if (!asks_head_map_table(table, sums)) return;
        all = scratch.shared().template take<T>(tasks * table.size());
        std::fill_n(all, tasks * table.size(), T{0});
    });
    executor.run(tasks, [&](index_t task, index_t worker) {
        auto& memory = scratch.worker(worker);
        memory.clear();
        T *const numbers = memory.take<T>(prepared_numbers(map, features)), *const row = memory.take<T>(features),
                 *const rows = memory.take<T>(features * rows_of_head_maps_gradient(map));
        std::fill_n(row, features, T{0});
        std::size_t n = 0;
        auto const of_tables = sums_of_head_maps<T>(map, [&](auto const& table) {
            T* const first = tables[n++];
            return first == nullptr ? first : first + task * table.size();
        });
        index_t const batch = task / blocks, begin = task % blocks * positions_at_once;
        for (index_t i = begin; i < std::min(begin + positions_at_once, positions); ++i) {
            prepare_head_maps(map, numbers, features, head_place{batch, 0, i});
            for (index_t h = 0; h < d.extent(1); ++h) {
                if (reads_rows) {
                    auto const* const from = below.place(batch, h, i, index_t{0});
                    std::transform(from, from + features, row, [](auto x) { return static_cast<T>(x); });
                }
                using row_type = kernel::feature_row<T, Arch>;
                fovea::head_maps_gradient(map, row_type{row, features},
                                          row_type{d.place(batch, h, i, index_t{0}), features}, head_place{batch, h, i},
                                          static_cast<T const*>(numbers), rows, of_tables);
            }
        }
    });
    count = 0;
    for_each_head_map_table(map, [&](auto const& table) {
        T* const all = tables[count++];
        index_t const size = table.size();
        if (all == nullptr || tasks == 0) return;
        for (index_t i = size; i < tasks * size; ++i) all[i % size] += all[i];
        for_each_form(table, [&](auto const& form) { sums.add_all(form, all); });
    });
}

/// The gradient of a matrix, x^T dy, as it is multiplied: (in, out). Both are (batch, 1, position, feature), dy dense.
///
/// A row of x that is not finite is added element by element, where its dy is not 0.
template <class T, class Arch, class Source, class Executor>
view<T, 4> matrix_gradient(Executor const& executor, workspace& scratch, view<Source, 4> const& x,
                           view<T, 4> const& dy) {
    constexpr index_t rows_of_block = 64;
    index_t const inputs = x.extent(3), outputs = dy.extent(3), positions = x.extent(2);
    index_t const rows = x.extent(0) * positions;
    auto const row = [&](index_t r) { return x.place(r / positions, index_t{0}, r % positions, index_t{0}); };
    auto const turned = fresh_rows<T>(scratch, {1, 1, inputs, rows}),
               d = fresh_rows<T>(scratch, {1, 1, inputs, outputs});
    auto* const finite = scratch.shared().template take<bool>(rows);
    executor.run(ceil_div(rows, rows_of_block), [&](index_t block, index_t) {
        index_t const first = block * rows_of_block, last = std::min(first + rows_of_block, rows);
        Source* from[rows_of_block];
        for (index_t r = first; r < last; ++r) {
            from[r - first] = row(r);
            finite[r] = kernel::all_finite<T, Arch>([&](index_t) { return from[r - first]; }, 1, inputs);
        }
        for (index_t i = 0; i < inputs; ++i)
            for (index_t r = first; r < last; ++r)
                turned.data[i * rows + r] = finite[r] ? static_cast<T>(from[r - first][i]) : T{0};
    });
    plain_matrix<T> const of_outputs{view<T const, 2>(dy.data, {rows, outputs})};
    matrix_product<T, Arch>(executor, scratch, of_outputs, view<T const, 4>(turned), d);
    for (index_t r = 0; r < rows; ++r)
        for (index_t i = 0; i < inputs && !finite[r]; ++i)
            for (index_t c = 0; c < outputs; ++c)
                if (T const amount = dy.data[r * outputs + c]; amount != 0)
                    d.data[i * outputs + c] += amount * static_cast<T>(row(r)[i]);
    return d;
}

/// Adds the gradients of the matrix and the bias of a linear map, from those of the rows that it makes of `x`.
template <class T, class Arch, class Map, class Source, class Executor, class Sums>
void add_linear_gradient(Executor const& executor, workspace& scratch, Map const& map, view<Source, 4> const& x,
                         view<T, 4> const& dy, Sums& sums) {
    index_t const inputs = inputs_of(map), outputs = outputs_of(map);
    if (has_bias(map) && sums.asks(*map.bias)) {
        T* const total = scratch.shared().template take<T>(outputs);
        std::fill_n(total, outputs, T{0});
        for (index_t i = 0; i < dy.size(); i += outputs)
            for (index_t c = 0; c < outputs; ++c) total[c] += dy.data[i + c];
        for (index_t c = 0; c < outputs; ++c) sums.add(*map.bias, {c}, total[c]);
    }
    if (!sums.asks(map.matrix)) return;
    auto const d = matrix_gradient<T, Arch>(executor, scratch, x, dy);
    if constexpr (Map::is_transposed) {
        T* const stored = scratch.shared().template take<T>(d.size());
        for (index_t c = 0; c < outputs; ++c)
            for (index_t i = 0; i < inputs; ++i) stored[c * inputs + i] = d.data[i * outputs + c];
        sums.add_all(map.matrix, stored);
    } else {
        sums.add_all(map.matrix, d.data);
    }
}

/// The gradient of what a linear map is applied to, dy W^T: dense, (batch, 1, position, feature).
template <class T, class Arch, class Map, class Executor>
view<T, 4> linear_source_gradient(Executor const& executor, workspace& scratch, Map const& map, view<T, 4> const& dy) {
    using element = std::remove_const_t<std::remove_pointer_t<decltype(map.matrix.data)>>;
    auto const dx = fresh_rows<T>(scratch, {dy.extent(0), 1, dy.extent(2), inputs_of(map)});
    plain_matrix<element, !Map::is_transposed> const back{map.matrix};
    matrix_product<T, Arch>(executor, scratch, back, view<T const, 4>(dy), dx);
    return dx;
}

/// Whether a row map has anything that is asked for: a matrix, a bias, a table of its maps of heads.
template <class Map, class Sums>
bool asks_parameters(Map const& map, Sums& sums) {
    bool any = false;
    fovea::detail::for_each_parameter(map, [&](auto const& array) { any = any || sums.asks(array); });
    return any;
}

/// The gradient of a source, dense, from that of the rows that `project` makes of it, or nothing where it is not
/// `wanted`; those of the matrices, biases and tables of the map are added to `sums`. The gradients of heads may lie
/// side by side, and are overwritten.
template <class T, class Arch, class Map, class Source, class Executor, class Sums>
view<T, 4> project_gradient(Executor const& executor, workspace& scratch, Map const& map,
                            view<Source const, 4> const& x, view<T, 4> const& d, bool wanted, Sums& sums) {
    auto const& below = row_map_below(map);
    constexpr bool linear = linear_map<map_below<Map>>;
    bool const makes_heads = x.extent(1) == 1;
    index_t const heads = d.extent(1), features = d.extent(3);
    view<T, 4> dy = d;  // dense, as the source is
    view<T, 4> as_heads = d;
    if (makes_heads && heads > 1 && d.stride(1) == features && d.stride(2) == heads * features) {
        dy = joined(d);
    } else if (makes_heads && heads > 1) {
        dy = fresh_rows<T>(scratch, {d.extent(0), 1, d.extent(2), heads * features});
        as_heads = split_heads(dy, heads, "projection");
        copy_rows<T>(executor, d, as_heads);
    }
    if constexpr (headwise_map<Map>) {
        constexpr bool may_read = gradient_reads_rows<Map>() || head_map_tables_in<Map> > 0;
        bool const reads_rows = gradient_reads_rows<Map>() || asks_head_map_tables(map, sums);
        auto const gradient_from = [&](auto const& rows) {
            head_maps_gradient<T, Arch>(executor, scratch, map, rows, as_heads, reads_rows, sums);
        };
        if constexpr (may_read) {
            using rows = decltype(project<T, Arch>(executor, scratch, below, x, index_t{1}));
            gradient_from(reads_rows ? project<T, Arch>(executor, scratch, below, x, makes_heads ? heads : 1) : rows{});
        } else {
            gradient_from(view<T const, 4>(as_heads));
        }
    }
    if constexpr (linear) {
        add_linear_gradient<T, Arch>(executor, scratch, below, x, dy, sums);
        return wanted ? linear_source_gradient<T, Arch>(executor, scratch, below, dy) : view<T, 4>{};
    } else {
        return dy;
    }
}
template <class T, class Arch, successive_map Map, class Source, class Executor, class Sums>
view<T, 4> project_gradient(Executor const& executor, workspace& scratch, Map const& map,
                            view<Source const, 4> const& x, view<T, 4> const& d, bool wanted, Sums& sums) {
    auto const between = project<T, Arch>(executor, scratch, map.first, x, 1);
    bool const goes_on = wanted || asks_parameters(map.first, sums);
    auto const before = project_gradient<T, Arch>(executor, scratch, map.second, between, d, goes_on, sums);
    return goes_on ? project_gradient<T, Arch>(executor, scratch, map.first, x, before, wanted, sums) : before;
}

/// add_project_gradient: adds the gradients of the source of an operand and of the parameters of its projection, from
/// those of the rows that `project` makes of it, which have no memory where nobody asks.
template <operand_role Of, class T, class Arch, class Map, class Source, class Executor, class Sums>
void add_project_gradient(Executor const& executor, workspace& scratch, Map const& map, view<Source const, 4> const& x,
                          view<T, 4> const& d, Sums& sums) {
    if (d.data == nullptr) return;
    bool const wanted = sums.template asks_rows<Of>(x);
    auto const of_source = project_gradient<T, Arch>(executor, scratch, map, x, d, wanted, sums);
    if (wanted) sums.template add_rows<Of>(x, of_source.data);
}

/// The cotangents of a vector of features of the result: they go to these, and to tables.
template <class T, class Arch, class Sums>
struct result_cotangents {
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
            kernel::row_coordinates const coordinates{b, h, n, x.extent(2), x.extent(2), features};
            T const* const from = gradient_reads_result<Finish> ? x.place(b, h, n, index_t{0}) : row;
            for (index_t c = 0; c < features; c += vector::lanes) {
                result_environment<T, Arch, base> const here{base{coordinates, 0},
                                                             kernel::load_as<T, Arch>(from + c, features - c),
                                                             h * features + c, features - c};
                vector value(T{0});
                backpropagate(expression, here, kernel::load_as<T, Arch>(row + c, features - c),
                              result_cotangents<T, Arch, Sums>{sums, value});
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
