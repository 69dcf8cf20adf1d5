// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/pack_run.hpp>
#include <fovea/driver/dense/packed_keys.hpp>
#include <fovea/driver/dense/row_scales.hpp>
#include <fovea/driver/products.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The matrix products of a tile of queries: their factors, rows side by side, and the sums over the features.
template <class T, class Arch, class Packed>
class tile_products {
public:
    using tile = plan::tile<T, Arch>;
    static constexpr int room_for_scales = std::max<int>(Packed::products, 1) * tile::rows;

    static index_t room(index_t features) { return Packed::products * plane(features) * tile::rows + tile::lanes; }
    void take(arena& memory, index_t features) { factors_ = memory.template take<T>(room(features)); }

    /// Of the first `rows` of so many rows; the features of row r begin at sources[r].
    template <class Parts, class Element>
    void prepare(Parts const& parts, kernel::row_facts const* facts, Element const* const* sources, index_t rows,
                 int step, bool in_place) {
        step_ = step;
        features_ = facts[0].dim;
        index_t n = 0;
        plan::for_each_part(parts.products, [&](auto const& p) {
            using product = std::remove_cvref_t<decltype(p)>;
            auto const row = [&](index_t r) FOVEA_LAMBDA { return sources[r]; };
            auto const base = [&](index_t r)
                                  FOVEA_LAMBDA { return kernel::index_environment<T, Arch, index_t>{facts[r], 0}; };
            T* const scales = scales_ + n * tile::rows;
            T* const to = factors_ + n++ * plane(features_) * step;
            scales_of_rows<decltype(p.scale)>(rows, scales, [&](index_t r) {
                kernel::single_environment<T, Arch, Element, Element> const here{base(r), row(r), row(r), features_,
                                                                                 features_};
                return static_cast<T>(evaluate(p.scale, here));
            });
            for (index_t r = rows; r < step; ++r) scales[r] = T{0};
            if constexpr (Packed::template multiplies_words<product>) {
                if (Packed::always_in_place || in_place) place_words(row, rows, to);
                else kernel::transpose_words<Arch>(row, rows, step, rows, features_, to, step);
            } else {
                auto const scale = [&](index_t r) FOVEA_LAMBDA { return scales[r]; };
                if constexpr (!Packed::always_in_place)
                    if (!in_place)
                        return kernel::transpose_features<T, Arch>(p.of_query, row, base, scale, rows, step, rows,
                                                                   features_, to, step);
                place_features(p.of_query, row, base, scale, rows, to);
            }
        });
    }

    /// The products of a run of packs of a block: (planes, rows, stride).
    template <class Parts>
    void contract(Parts const& parts, Packed const& keys, index_t block, pack_run<tile> run, T* scores, index_t stride,
                  index_t plane_stride) const {
        index_t n = 0;
        plan::for_each_part(parts.products, [&](auto const& p) {
            using product = std::remove_cvref_t<decltype(p)>;
            using arithmetic = typename Packed::template products_of<product>;
            T const* const queries = factors_ + n * plane(features_) * step_;
            T const* const scales = scales_ + n * tile::rows;
            T* const to = scores + n * plane_stride;
            if (features_ == 0) contract_nothing(run, scales, to, stride);
            else if (keys.in_place())
                contract_in_place<product>(p.of_key, keys, block, run, queries, scales, to, stride);
            if constexpr (!Packed::always_in_place)
                if (features_ != 0 && !keys.in_place()) {
                    panel_product<T> const all{queries,
                                               keys.keys(block, n),
                                               run.first,
                                               run.last,
                                               arithmetic::scales ? kernel::words_of(features_) : features_,
                                               step_,
                                               scales,
                                               to,
                                               stride};
                    if constexpr (arithmetic::scales) products<T, Arch>::contract_words(all, keys.prefetches());
                    else products<T, Arch>::contract(all, keys.prefetches());
                }
            ++n;
        });
    }

private:
    static index_t plane(index_t features) { return round_up(features, tile::lanes); }

    /// A pack of features of each row after the other: (packs, step, lanes).
    template <class Body, class Rows, class Bases, class Scales>
    void place_features(Body const& body, Rows const& row, Bases const& base, Scales const& scale, index_t rows,
                        T* to) const {
        std::fill_n(to, plane(features_) * step_, T{0});
        for (index_t r = 0; r < rows; ++r)
            kernel::for_features<T, Arch>(body, base(r), row(r), row(r), features_, [&](index_t f, auto const& value) {
                (value * kernel::pack<T, Arch>(scale(r))).store(to + f * step_ + r * tile::lanes);
            });
    }
    template <class Rows>
    void place_words(Rows const& row, index_t rows, T* to) const {
        std::fill_n(to, plane(kernel::words_of(features_)) * step_, T{0});
        for (index_t r = 0; r < rows; ++r)
            for (index_t w = 0; w < kernel::words_of(features_); w += tile::lanes)
                kernel::load_words<Arch>(row(r) + 2 * w, features_ - 2 * w).store(to + w * step_ + r * tile::lanes);
    }

    /// A sum over no features is 0, and its scale may be infinite: what the expression says, not what queries carry.
    void contract_nothing(pack_run<tile> run, T const* scales, T* scores, index_t stride) const {
        for (index_t r = 0; r < step_; ++r)
            std::fill(scores + r * stride + run.first * tile::lanes, scores + r * stride + run.last * tile::lanes,
                      T{0} * scales[r]);
    }

    /// Keys where they lie.
    template <class Product, class Body>
    void contract_in_place(Body const& of_key, Packed const& keys, index_t block, pack_run<tile> run, T const* queries,
                           T const* scales, T* scores, index_t stride) const {
        index_t const column = run.first * tile::lanes;
        index_t const count = std::min(run.last * tile::lanes, keys.last(block) - keys.first(block)) - column;
        keys.template with_keys<Product>(of_key, block, column, [&](auto const& from) {
            using arithmetic = typename std::remove_cvref_t<decltype(from)>::products;
            static_assert(std::is_same_v<arithmetic, typename Packed::template products_of<Product>>,
                          "queries are laid out for the arithmetic of the keys");
            row_product<T> const all{queries, step_, count, features_, scales, scores + column, stride};
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(from)>, kernel::strided_keys<T, Arch, T>>)
                driver::products<T, Arch>::contract_in_place(from, all);
            else driver::contract_in_place<Arch>(from, all);
        });
    }

    T* factors_ = nullptr;  // (products, features, step); for keys in place (products, packs, step, lanes)
    T scales_[static_cast<std::size_t>(room_for_scales)];
    int step_ = tile::rows;
    index_t features_ = 0;
};

}  // namespace fovea::FOVEA_SET::driver
