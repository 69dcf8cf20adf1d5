// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/pack_run.hpp>
#include <fovea/driver/packed_keys.hpp>
#include <fovea/driver/row_scales.hpp>
#include <fovea/kernel/contract.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Calls f(std::integral_constant<int, N>) with the smallest register tile of at least `rows` rows.
template <class Tile, std::size_t I = 0, class F>
void with_rows(index_t rows, F&& f) {
    if constexpr (I + 1 == std::size(Tile::row_steps)) f(std::integral_constant<int, Tile::row_steps[I]>{});
    else if (rows <= Tile::row_steps[I]) f(std::integral_constant<int, Tile::row_steps[I]>{});
    else with_rows<Tile, I + 1>(rows, f);
}

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
            using products = typename Packed::template products_of<product>;
            T const* const queries = factors_ + n * plane(features_) * step_;
            T const* const scales = scales_ + n * tile::rows;
            T* const to = scores + n * plane_stride;
            if (features_ == 0) contract_nothing(run, scales, to, stride);
            else if (keys.in_place())
                contract_in_place<product>(p.of_key, keys, block, run, queries, scales, to, stride);
            if constexpr (!Packed::always_in_place)
                if (features_ != 0 && !keys.in_place())
                    contract_packed<products>(queries, keys.keys(block, n), run, scales, to, stride, keys.coming());
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
            using met = typename std::remove_cvref_t<decltype(from)>::products;
            static_assert(std::is_same_v<met, typename Packed::template products_of<Product>>,
                          "queries are laid out for what keys are met with");
            auto const contract = [&](auto rows) {
                kernel::contract_rows<rows(), T, Arch>(queries, step_, from, count, features_, scores + column, stride,
                                                       scales);
            };
            if (step_ == 1) contract(std::integral_constant<int, 1>{});
            else contract(std::integral_constant<int, tile::row_steps[1]>{});
        });
    }

    /// Whole panels, and single packs where the run begins or ends within one.
    template <class Products>
    void contract_packed(T const* queries, T const* keys, pack_run<tile> run, T const* scales, T* scores,
                         index_t stride, kernel::coming_lines& coming) const {
        index_t const terms = Products::scales ? kernel::words_of(features_) : features_;
        with_rows<tile>(step_, [&](auto rows) {
            for (index_t pack = run.first; pack < run.last;) {
                index_t const offset = pack % tile::vectors;
                T const* const from = keys + (pack - offset) * tile::lanes * terms + offset * tile::lanes;
                T* const to = scores + pack * tile::lanes;
                if (offset == 0 && run.last - pack >= tile::vectors) {
                    auto const contract = [&](auto const& lines) {
                        return kernel::contract<rows(), tile::vectors, T, Arch, Products>(
                            queries, from, tile::panel, terms, to, stride, scales, lines);
                    };
                    if constexpr (rows() == tile::rows) {
                        if (coming.done()) contract(kernel::no_lines{});
                        else coming = contract(coming);
                    } else {
                        contract(kernel::no_lines{});
                    }
                    pack += tile::vectors;
                } else {
                    kernel::contract<rows(), 1, T, Arch, Products>(queries, from, tile::panel, terms, to, stride,
                                                                   scales);
                    ++pack;
                }
            }
        });
    }

    T* factors_ = nullptr;  // (products, features, step); for keys in place (products, packs, step, lanes)
    T scales_[static_cast<std::size_t>(room_for_scales)];
    int step_ = tile::rows;
    index_t features_ = 0;
};

}  // namespace fovea::FOVEA_SET::driver
