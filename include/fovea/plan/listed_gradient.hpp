// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lowered score of listed keys as its gradient takes it: every factor of a product is a part or stands in the rest.
#pragma once

#include <fovea/expr/substitute.hpp>
#include <fovea/plan/lowered_spec.hpp>

#include <boost/hana/append.hpp>
#include <boost/hana/transform.hpp>

namespace fovea::FOVEA_SET::plan {

/// Where the parts of a score stand when they are numbered together: products, pairwise terms, row terms, key terms.
template <class Parts>
struct part_places {
    static constexpr index_t products = count_of<decltype(Parts::products)>, pairs = count_of<decltype(Parts::pairs)>,
                             rows = count_of<decltype(Parts::rows)>, keys = count_of<decltype(Parts::keys)>;
    static constexpr index_t planes = products + pairs, all = planes + rows + keys;
    template <part Kind>
    static constexpr index_t first = Kind == part::product  ? 0
                                   : Kind == part::pairwise ? products
                                   : Kind == part::row_term ? planes
                                                            : planes + rows;
};

template <class E>
inline constexpr bool refers_to_a_part = false;
template <part Kind, std::size_t I>
inline constexpr bool refers_to_a_part<reference<Kind, I>> = true;

/// A score whose products have no scale: that of product I on multiplies it in the rest, as a row term where it reads
/// tables or features.
template <std::size_t I = 0, class Pointwise, class Parts>
constexpr auto with_scales_in_rest(Pointwise const& pointwise, Parts const& all) {
    if constexpr (I == static_cast<std::size_t>(count_of<decltype(Parts::products)>)) {
        auto const products = hana::transform(all.products, [](auto const& p) {
            using term = std::remove_cvref_t<decltype(p)>;
            return product_term<std::remove_cvref_t<decltype(term::of_query)>,
                                std::remove_cvref_t<decltype(term::of_key)>, unit,
                                std::remove_cvref_t<decltype(term::over)>>{p.of_query, p.of_key, {}, p.over};
        });
        using products_type = std::remove_const_t<decltype(products)>;
        using parts_type =
            parts<products_type, std::remove_cvref_t<decltype(Parts::pairs)>,
                  std::remove_cvref_t<decltype(Parts::rows)>, std::remove_cvref_t<decltype(Parts::keys)>>;
        return lowered<Pointwise, parts_type>{pointwise, {products, all.pairs, all.rows, all.keys}};
    } else {
        constexpr reference<part::product, I> product;
        auto const& scale = hana::at_c<I>(all.products).scale;
        using scale_type = std::remove_cvref_t<decltype(scale)>;
        if constexpr (std::is_same_v<scale_type, unit>) {
            return with_scales_in_rest<I + 1>(pointwise, all);
        } else if constexpr (!detail::worth_hoisting<scale_type>) {
            return with_scales_in_rest<I + 1>(
                substitute(pointwise, product, make_node<operations::times>(product, scale)), all);
        } else {
            auto const found = detail::collect<part::row_term>(all, single_term<scale_type>{scale});
            return with_scales_in_rest<I + 1>(
                substitute(pointwise, product, make_node<operations::times>(product, found.pointwise)), found.parts);
        }
    }
}

/// The lowered specification of a call with listed keys, for its gradient.
template <attention_spec A, class Prepare = as_written>
constexpr auto lower_listed_gradient(A const& a, Prepare const& prepare = {}) {
    auto const score = lower_for<true>(prepare(a.score.expression()));
    auto const predicate = prepare(a.mask.predicate());
    auto const unscaled = with_scales_in_rest(score.pointwise, score.parts);
    return lowered_spec{unscaled, predicate, normalizer_of(a.normalize), prepare(reweighting_of(a.normalize)),
                        core_of(a.aggregate)};
}

}  // namespace fovea::FOVEA_SET::plan
