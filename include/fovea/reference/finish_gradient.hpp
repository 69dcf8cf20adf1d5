// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of what is done to the result after the aggregator.
#pragma once

#include <fovea/reference/leaves.hpp>
#include <fovea/reference/project_gradient.hpp>

#include <utility>

namespace fovea::FOVEA_SET::reference {

/// What lies side by side as heads of `extents` again.
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
            backpropagate(expression, at, d(b, h, n, c), leaves<Real, Sums>{sums, {}, {}, &result(b, h, n, c)});
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
