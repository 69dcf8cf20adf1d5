// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of what is done to the result after the aggregator.
#pragma once

#include <fovea/reference/cotangents.hpp>
#include <fovea/reference/project.hpp>

#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::reference {

/// The gradients of rows before all maps of heads, from those after them.
template <class Real, row_map M, class Sums>
array<Real> head_maps_gradient(M const& map, array<Real> below, array<Real> d, Sums& sums) {
    if constexpr (headwise_map<M>) {
        index_t const features = d.extent(3);
        std::vector<Real> numbers(static_cast<std::size_t>(prepared_numbers(map, features))),
            memory(static_cast<std::size_t>(rows_of_head_maps_gradient(map) * features));
        std::vector<std::vector<Real>> tables;
        auto const of_tables = sums_of_head_maps<Real>(
            map, [&](auto const& table) { return tables.emplace_back(static_cast<std::size_t>(table.size())).data(); });
        for_each_row_of_heads(d, [&](feature_row<Real> const& d_row, head_place const& at) {
            prepare_head_maps(map, numbers.data(), features, at);
            fovea::head_maps_gradient(map, row_of(below, at), d_row, at, std::as_const(numbers).data(), memory.data(),
                                      of_tables);
        });
        std::size_t n = 0;
        for_each_head_map_table(map, [&](auto const& table) {
            for_each_form(table, [&](auto const& form) { sums.add_all(form, tables[n].data()); });
            ++n;
        });
    }
    return d;
}

/// project_gradient: the gradient of a source, from that of the rows that `project` makes of it.
template <class Real, row_map M, class T, class Sums>
array<Real> project_gradient(M const& map, view<T, 4> const& source, array<Real> d, Sums& sums) {
    auto const& below = row_map_below(map);
    using below_type = map_below<M>;
    d = head_maps_gradient(map, project<Real>(below, source, d.extents), std::move(d), sums);
    array<Real> result(source.extents);
    bool const cut = source.extent(1) == 1;
    for_each_element(d.extents, [&](index_t b, index_t h, index_t n, index_t c) {
        index_t const from = cut ? 0 : h, feature = cut ? h * d.extent(3) + c : c;
        Real const amount = d(b, h, n, c);
        if (amount == 0) return;
        if constexpr (linear_map<below_type>) {
            if (has_bias(below)) sums.add(*below.bias, {feature}, amount);
            for (index_t i = 0; i < source.extent(3); ++i) {
                extents_t<2> const at = below_type::is_transposed ? extents_t<2>{feature, i} : extents_t<2>{i, feature};
                sums.add(below.matrix, at, amount * static_cast<Real>(source(b, from, n, i)));
                result(b, from, n, i) += amount * static_cast<Real>(below.matrix(at[0], at[1]));
            }
        } else {
            result(b, from, n, feature) += amount;
        }
    });
    return result;
}
template <class Real, successive_map M, class T, class Sums>
array<Real> project_gradient(M const& map, view<T, 4> const& source, array<Real> d, Sums& sums) {
    auto extents = source.extents;
    extents[3] = map.first.features(source.extent(3));
    auto const between = project<Real>(map.first, source, extents);
    return project_gradient(map.first, source, project_gradient(map.second, between.view(), std::move(d), sums), sums);
}

/// Rows side by side, as heads of `extents` again.
template <class Real>
array<Real> as_heads_of(extents_t<4> const& extents, array<Real> const& x) {
    if (x.extents == extents) return x;
    array<Real> result(extents);
    for_each_element(extents, [&](index_t b, index_t h, index_t n, index_t c) {
        result(b, h, n, c) = x(b, index_t{0}, n, h * extents[3] + c);
    });
    return result;
}

/// The gradient of `x` before one finish, from that after it; residual adds its part to that of the source.
template <fovea::finish Finish, class Real, class Sums>
array<Real> finish_gradient(Finish const& f, array<Real> const& x, array<Real> const& d, array<Real>& d_source,
                            Sums& sums) {
    if constexpr (averaging_finish<Finish>) {
        array<Real> result(x.extents);
        for_each_element(x.extents, [&](index_t b, index_t h, index_t n, index_t c) {
            result(b, h, n, c) = d(b, index_t{0}, n, c) / static_cast<Real>(x.extent(1));
        });
        return result;
    } else if constexpr (linear_finish<Finish>) {
        auto const rows = side_by_side(x);
        return as_heads_of(x.extents, project_gradient(f.linear(), rows.view(), d, sums));
    } else if constexpr (pointwise_finish<Finish>) {
        auto const expression = f.expression();
        array<Real> result(x.extents);
        for_each_element(x.extents, [&](index_t b, index_t h, index_t n, index_t c) {
            result_environment<Real> const at{{}, x(b, h, n, c), b, n, x.extent(2), h * x.extent(3) + c};
            backpropagate(expression, at, d(b, h, n, c), cotangents<Real, Sums>{sums, {}, {}, &result(b, h, n, c)});
        });
        return result;
    } else {
        if constexpr (residual_finish<Finish>)
            for (std::size_t i = 0; i < d.elements.size(); ++i) d_source.elements[i] += d.elements[i];
        return as_heads_of(x.extents, d);
    }
}

/// The gradient of what the rows aggregate, `sums_of_rows`, from that of the result.
template <class Aggregate, class Real, class Sums>
array<Real> finishes_gradient(Aggregate const& a, array<Real> const& sums_of_rows, array<Real> const& source,
                              array<Real> d, array<Real>& d_source, Sums& sums) {
    if constexpr (is_finished<Aggregate>) {
        auto x = sums_of_rows;
        for_each_finish(a.first, [&](auto const& f) { x = finish(f, std::move(x), source); });
        d = as_heads_of(finish(a.second, x, source).extents, d);
        return finishes_gradient(a.first, sums_of_rows, source, finish_gradient(a.second, x, d, d_source, sums),
                                 d_source, sums);
    } else {
        return as_heads_of(sums_of_rows.extents, d);
    }
}

}  // namespace fovea::FOVEA_SET::reference
