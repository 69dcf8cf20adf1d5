// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finishes of the result after the aggregator: joined or averaged heads, expressions, a last projection.
#pragma once

#include <fovea/driver/layer/project.hpp>
#include <fovea/spec/finish.hpp>

namespace fovea::FOVEA_SET::driver {

/// The environment inside map() with features in lanes: a run of features of the result.
template <class T, class Arch, class Base>
struct result_environment : Base {
    kernel::pack<T, Arch> value;
    index_t feature;  // of the heads side by side
    index_t count;

    using Base::operator();
    FOVEA_INLINE auto operator()(out_t) const { return value; }

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) return Base::lookup(table, at...);
        else return kernel::load_as<T, Arch>(table.data + clamped_offset(table, at...) + feature, count);
    }
};

/// The heads side by side, the same elements: (batch, head, position, feature) stored position by position.
template <class T>
view<T, 4> joined(view<T, 4> const& x) {
    return {x.data, {x.extent(0), 1, x.extent(2), x.extent(1) * x.extent(3)}, {x.stride(0), 0, x.stride(2), 1}};
}

/// Calls f(row, batch, position, head) for each row of features.
template <class T, class F>
void for_rows(view<T, 4> const& x, F const& f) {
    for (index_t b = 0; b < x.extent(0); ++b)
        for (index_t n = 0; n < x.extent(2); ++n)
            for (index_t h = 0; h < x.extent(1); ++h) f(x.place(b, h, n, index_t{0}), b, n, h);
}

/// finish: the result after one finish, in place where it can be, otherwise in scratch memory.
///
/// `x` is stored position by position, so that joining its heads moves nothing.
template <class T, class Arch, class Finish, class Source, class Executor>
view<T, 4> finish(Executor const& executor, workspace& scratch, Finish const& f, view<T, 4> x,
                  view<Source, 4> const& source) {
    using vector = kernel::pack<T, Arch>;
    index_t const features = x.extent(3);
    if constexpr (averaging_finish<Finish>) {
        auto const mean = fresh_rows<T>(scratch, {x.extent(0), 1, x.extent(2), features});
        T const share = T{1} / static_cast<T>(x.extent(1));
        for_rows(x, [&](T const* from, index_t b, index_t n, index_t h) {
            T* const to = mean.place(b, index_t{0}, n, index_t{0});
            for (index_t c = 0; c < features; ++c) to[c] = (h == 0 ? T{0} : to[c]) + from[c] * share;
        });
        return mean;
    } else if constexpr (linear_finish<Finish>) {
        return projected_rows<T, Arch>(executor, scratch, f.linear(), joined(x), 1);
    } else if constexpr (pointwise_finish<Finish>) {
        auto const expression = f.expression();
        for_rows(x, [&](T* row, index_t b, index_t n, index_t h) {
            kernel::row_coordinates const coordinates{b, h, n, x.extent(2), x.extent(2), features};
            using base = kernel::index_environment<T, Arch, index_t>;
            for (index_t c = 0; c < features; c += vector::lanes) {
                auto const value = kernel::load_as<T, Arch>(row + c, features - c);
                result_environment<T, Arch, base> const here{base{coordinates, 0}, value, h * features + c,
                                                             features - c};
                kernel::lanes_of<T, Arch>::store(kernel::as_pack<T, Arch>(evaluate(expression, here)), row + c,
                                                 features - c);
            }
        });
        return x;
    } else if constexpr (residual_finish<Finish>) {
        if (x.extents != source.extents) x = joined(x);
        for_rows(x, [&](T* row, index_t b, index_t n, index_t h) {
            auto const* from = source.place(b, h, n, index_t{0});
            for (index_t c = 0; c < x.extent(3); ++c) row[c] += static_cast<T>(from[c]);
        });
        return x;
    } else {
        return joined(x);
    }
}

/// True where a finish works in place on the result.
template <class Finish>
inline constexpr bool works_in_place = !averaging_finish<Finish> && !linear_finish<Finish>;

}  // namespace fovea::FOVEA_SET::driver
