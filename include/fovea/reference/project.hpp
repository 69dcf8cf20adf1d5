// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/tensor.hpp>
#include <fovea/reference/environment.hpp>
#include <fovea/spec/concepts.hpp>
#include <fovea/spec/finish.hpp>
#include <fovea/spec/head_map_rows.hpp>
#include <fovea/spec/plain_row.hpp>
#include <fovea/spec/result_shapes.hpp>

#include <vector>

namespace fovea::FOVEA_SET::reference {

template <class Real>
using feature_row = plain_row<Real>;

/// Everything the reference computes lies in arrays of this kind: (batch, head, position, feature).
template <class Real>
using array = tensor<Real, 4>;

/// mapped: one feature of a row after a row map; `x` gives the features of the row.
template <class Real, row_map M>
Real mapped(M const& map, index_t inputs, index_t feature, auto const& x) {
    if constexpr (linear_map<M>) {
        Real y = has_bias(map) ? element_of<Real>(*map.bias, feature) : Real(0);
        for (index_t i = 0; i < inputs; ++i)
            y += x(i)
               * (M::is_transposed ? element_of<Real>(map.matrix, feature, i)
                                   : element_of<Real>(map.matrix, i, feature));
        return y;
    } else {
        return x(feature);
    }
}

/// The features of one head at one position.
template <class Real>
feature_row<Real> row_of(array<Real>& rows, head_place const& at) {
    return {rows.data() + rows.view().offset(at.batch, at.head, at.position, 0), rows.extent(3)};
}
/// Calls f(row, place) for those of all heads and positions.
template <class Real, class F>
void for_each_row_of_heads(array<Real>& rows, F const& f) {
    for (index_t b = 0; b < rows.extent(0); ++b)
        for (index_t h = 0; h < rows.extent(1); ++h)
            for (index_t n = 0; n < rows.extent(2); ++n) f(row_of(rows, head_place{b, h, n}), head_place{b, h, n});
}

/// map_heads: the maps of each head on every row, in the order in which they were written.
template <class Real, row_map M>
void map_heads(M const& map, array<Real>& rows) {
    if constexpr (headwise_map<M>) {
        std::vector<Real> numbers(static_cast<std::size_t>(prepared_numbers(map, rows.extent(3))));
        for_each_row_of_heads(rows, [&](feature_row<Real> const& row, head_place const& at) {
            prepare_head_maps(map, numbers.data(), row.count, at);
            Real const* prepared = numbers.data();
            for_each_head_map(map, [&](auto const& each) { prepared = apply_head_map(each, row, at, prepared); });
        });
    }
}

/// project: the rows of a source through a row map, cut into the heads of `extents` unless the source has heads.
template <class Real, row_map M, class Rows>
array<Real> project(M const& map, Rows const& source, extents_t<4> const& extents) {
    array<Real> result(extents);
    bool const cut = source.extent(1) == 1;
    for (index_t b = 0; b < extents[0]; ++b)
        for (index_t h = 0; h < extents[1]; ++h)
            for (index_t n = 0; n < extents[2]; ++n)
                for (index_t c = 0; c < extents[3]; ++c)
                    result(b, h, n, c) =
                        mapped<Real>(row_map_below(map), source.extent(3), cut ? h * extents[3] + c : c,
                                     [&](index_t i) { return static_cast<Real>(source(b, cut ? 0 : h, n, i)); });
    map_heads(map, result);
    return result;
}
template <class Real, successive_map M, class Rows>
array<Real> project(M const& map, Rows const& source, extents_t<4> const& extents) {
    auto between = source.extents;
    between[3] = map.first.features(source.extent(3));
    auto const rows = project<Real>(map.first, source, between);
    return project<Real>(map.second, rows.view(), extents);
}

/// copy: a source as it is, in the type of the computation.
template <class Real, class Rows>
array<Real> copy(Rows const& source) {
    array<Real> result(source.extents);
    for (index_t b = 0; b < source.extent(0); ++b)
        for (index_t h = 0; h < source.extent(1); ++h)
            for (index_t n = 0; n < source.extent(2); ++n)
                for (index_t c = 0; c < source.extent(3); ++c)
                    result(b, h, n, c) = static_cast<Real>(source(b, h, n, c));
    return result;
}

/// The operands of an attention as the score sees them.
template <class Real>
struct operands {
    array<Real> query, key, value;
};

template <class Real, attention_spec A, class Q, class K, class V>
operands<Real> project_operands(A const& a, operand_shapes const& shapes, view<Q, 4> const& q, K const& k, V const& v) {
    if constexpr (projection<decltype(a.project)>)
        return {project<Real>(a.project.query, q, shapes.query), project<Real>(a.project.key, k, shapes.key),
                project<Real>(a.project.value, v, shapes.value)};
    else return {copy<Real>(q), copy<Real>(k), copy<Real>(v)};
}

/// for_each_element: calls f(batch, head, position, feature) for every element.
template <class F>
void for_each_element(extents_t<4> const& extents, F const& f) {
    for (index_t b = 0; b < extents[0]; ++b)
        for (index_t h = 0; h < extents[1]; ++h)
            for (index_t n = 0; n < extents[2]; ++n)
                for (index_t c = 0; c < extents[3]; ++c) f(b, h, n, c);
}

/// side_by_side: the heads of each position in one row of features.
template <class Real>
array<Real> side_by_side(array<Real> const& x) {
    auto const size = x.extent(3);
    array<Real> result({x.extent(0), 1, x.extent(2), x.extent(1) * size});
    for_each_element(x.extents, [&](index_t b, index_t h, index_t n, index_t c) {
        result(b, index_t{0}, n, h * size + c) = x(b, h, n, c);
    });
    return result;
}

/// finish: the result after one finish; `source` is what the queries are made of. Most finishes return `x` changed.
template <fovea::finish Finish, class Real>
// NOLINTNEXTLINE(performance-unnecessary-value-param)
array<Real> finish(Finish const& f, array<Real> x, array<Real> const& source) {
    if constexpr (averaging_finish<Finish>) {
        array<Real> mean({x.extent(0), 1, x.extent(2), x.extent(3)});
        for_each_element(x.extents, [&](index_t b, index_t h, index_t n, index_t c) {
            mean(b, index_t{0}, n, c) += x(b, h, n, c) / static_cast<Real>(x.extent(1));
        });
        return mean;
    } else if constexpr (linear_finish<Finish>) {
        auto const rows = side_by_side(x);
        return project<Real>(f.linear(), rows.view(),
                             {x.extent(0), 1, x.extent(2), f.linear().features(rows.extent(3))});
    } else if constexpr (pointwise_finish<Finish>) {
        auto const expression = f.expression();
        for_each_element(x.extents, [&](index_t b, index_t h, index_t n, index_t c) {
            auto& element = x(b, h, n, c);
            result_environment<Real> const at{{}, element, b, n, x.extent(2), h * x.extent(3) + c};
            element = static_cast<Real>(evaluate(expression, at));
        });
        return x;
    } else if constexpr (residual_finish<Finish>) {
        if (x.extents != source.extents) x = side_by_side(x);
        for (std::size_t i = 0; i < x.elements.size(); ++i) x.elements[i] += source.elements[i];
        return x;
    } else {
        return side_by_side(x);
    }
}

/// finish_all: the finishes of an aggregator, in the order in which they were written.
template <attention_spec A, class Real>
array<Real> finish_all(A const& a, array<Real> x, array<Real> const& source) {
    for_each_finish(a.aggregate, [&](auto const& f) { x = finish(f, std::move(x), source); });
    return projection<decltype(a.project)> && source.extent(1) == 1 ? side_by_side(x) : x;
}

}  // namespace fovea::FOVEA_SET::reference
