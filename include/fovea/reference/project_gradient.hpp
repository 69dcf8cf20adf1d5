// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of projections: of their sources, matrices and biases.
#pragma once

#include <fovea/reference/finish.hpp>
#include <fovea/reference/project.hpp>

#include <numeric>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::reference {

/// The gradient of one row before a map of heads, from that after it: by its rule, or by what a linear map makes of
/// each unit vector. `numbers` are those that it has prepared, if any.
template <class Real, head_map M, class... Numbers>
void head_map_gradient(M const& map, feature_row<Real> const& before, feature_row<Real> const& d, head_place const& at,
                       Numbers const*... numbers) {
    if constexpr (requires { requires M::linear; }) {
        std::vector<Real> const after(d.features, d.features + d.count);
        for (index_t i = 0; i < d.count; ++i) {
            std::vector<Real> column(after.size());
            column[static_cast<std::size_t>(i)] = 1;
            map.apply(feature_row<Real>{column.data(), d.count}, at, numbers...);
            d[i] = std::inner_product(column.begin(), column.end(), after.begin(), Real(0));
        }
    } else {
        map.gradient(before, d, at, numbers...);
    }
}
template <class Real, head_map M>
void head_map_gradient(M const& map, array<Real>& before, array<Real>& d) {
    for (index_t b = 0; b < d.extent(0); ++b)
        for (index_t h = 0; h < d.extent(1); ++h)
            for (index_t n = 0; n < d.extent(2); ++n) {
                head_place const at{b, h, n};
                auto const row = [&](array<Real>& rows) {
                    return feature_row<Real>{rows.data() + rows.view().offset(b, h, n, 0), rows.extent(3)};
                };
                if constexpr (prepared_head_map<M>) {
                    std::vector<Real> numbers(static_cast<std::size_t>(map.prepared(d.extent(3))));
                    map.prepare(numbers.data(), d.extent(3), at);
                    head_map_gradient(map, row(before), row(d), at, std::as_const(numbers).data());
                } else {
                    head_map_gradient(map, row(before), row(d), at);
                }
            }
}

/// The same of all maps of heads; `below` are the rows before the first.
template <class Real, row_map M>
array<Real> head_maps_gradient(M const& map, array<Real> const& below, array<Real> d) {
    if constexpr (headwise_map<M>) {
        auto before = below;
        map_heads(map.first, before);
        head_map_gradient(map.second, before, d);
        return head_maps_gradient(map.first, below, std::move(d));
    } else {
        return d;
    }
}

/// project_gradient: the gradient of a source, from that of the rows that `project` makes of it.
template <class Real, row_map M, class T, class Sums>
array<Real> project_gradient(M const& map, view<T, 4> const& source, array<Real> d, Sums& sums) {
    auto const& below = row_map_below(map);
    using below_type = map_below<M>;
    d = head_maps_gradient(map, project<Real>(below, source, d.extents), std::move(d));
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

}  // namespace fovea::FOVEA_SET::reference
