// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/reference/environment.hpp>
#include <fovea/reference/project.hpp>
#include <fovea/spec/finish.hpp>

namespace fovea::FOVEA_SET::reference {

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
