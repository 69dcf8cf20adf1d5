// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The keys of a head as products read them, packed or in place; squared distances from products and squared norms,
// about a centre amid the queries.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/block_cache.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/pairwise.hpp>
#include <fovea/kernel/packing.hpp>
#include <fovea/kernel/product/contract_rows.hpp>
#include <fovea/simd/simd.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>
#include <cmath>

namespace fovea::FOVEA_SET::kernel {

/// The keys of a panel about a centre: to[f][c] = factor[f] * (keys[f][c] + Sign * centre[f]), and their squared norms.
template <int Vectors, int Sign, class T, class Arch>
FOVEA_INLINE void centre_keys(T const* keys,    // (features, Vectors * lanes)
                              T const* centre,  // (features)
                              T const* factor,  // (features)
                              index_t features,
                              T* to,       // like keys
                              T* norms) {  // (Vectors * lanes)
    using vector = pack<T, Arch>;
    constexpr index_t width = Vectors * vector::lanes;
    c_array<vector, Vectors> sum;
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[v] = vector(T{0}); });
    for (index_t f = 0; f < features; ++f)
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
            index_t const at = f * width + v * vector::lanes;
            auto const key = vector::load(keys + at) + vector(Sign * centre[f]);
            auto const scaled = key * vector(factor[f]);
            scaled.store(to + at);
            sum[v] = fma(scaled, scaled, sum[v]);
        });
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[v].store(norms + v * vector::lanes); });
}

/// Products q k of one query become |q|^2 + |k|^2 + factor q k, where the factor is -2 or 2. What products and norms
/// round is relative to the norms: returns false where the distance of a pair is less than a 16th of their sum, or not
/// a number, and has to be computed in another way.
template <int Vectors, class T, class Arch>
FOVEA_INLINE bool complete_squares(T query_norm, T const* key_norms, T factor, T* products) {
    using vector = pack<T, Arch>;
    auto close = vector::mask::none();
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
        auto const norms = vector(query_norm) + vector::load(key_norms + v * vector::lanes);
        auto const distance = fma(vector(factor), vector::load(products + v * vector::lanes), norms);
        distance.store(products + v * vector::lanes);
        close = close || !(distance - norms * vector(T(0.0625)) >= vector(T{0}));
    });
    return !close.any();
}

}  // namespace fovea::FOVEA_SET::kernel

namespace fovea::FOVEA_SET::driver {

/// How features of queries and keys are moved and scaled before a product makes a squared distance of them.
template <class T>
struct centre {
    T* place;   // (features), amid the queries
    T* factor;  // (features), the root of the weight: NaN of one below 0
};

/// The mean of the query factor of a squared distance over a few queries of some heads, 0 where it is not finite, and
/// the weights: the same for all tiles of these heads and all blocks of their keys. Memory is (3, features).
template <class Call, class Pair, class T = typename Call::number>
centre<T> centre_of_queries(context_of<Call, key_lanes_of<Call>> const& context, head_group heads, Pair const& pair,
                            T* memory) {
    using Arch = typename Call::architecture;
    auto const [first, features] = context.span_of(pair);
    centre<T> const to{memory, memory + features};
    T* const row = to.factor + features;
    index_t const count = std::min<index_t>(context.rows, 8);
    std::fill_n(to.place, features, T{0});
    for (index_t i = 0; i < count; ++i) {
        auto const coordinates = context.coordinates(heads, i * context.rows / count);
        auto const* const query =
            context.operands.query.place(coordinates.batch, coordinates.head, coordinates.q_idx, 0) + first;
        kernel::index_environment<T, Arch, index_t> const base{coordinates, 0};
        auto const store = [&](auto const& body, T scale, T* at) {
            kernel::scatter_features<T, Arch>(body, base, query, features, scale, at, 1);
        };
        plan::for_each_part(pair.factors.queries,
                            [&](auto const& body) { store(body, T{1} / static_cast<T>(count), row); });
        for (index_t f = 0; f < features; ++f) to.place[f] += row[f];
        if (i == 0) store(plan::weight_of_square(pair.factors.body), T{1}, to.factor);
    }
    for (index_t f = 0; f < features; ++f) {
        if (!std::isfinite(to.place[f])) to.place[f] = 0;
        to.factor[f] = std::sqrt(to.factor[f]);
    }
    return to;
}

/// The keys of one head as a call stores them, whatever their type and place: how they are packed, and how they are
/// read in place.
///
/// The products of the call say in which format (kernel/product/product.hpp).
template <class Call>
class stored_keys {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Operands = typename Call::operands;
    using Parts = typename Call::parts;
    using tile = key_lanes_of<Call>;
    using context_type = context_of<Call, tile>;
    using keys_type = head_keys<tile>;

public:
    static constexpr index_t products = plan::count_of<decltype(Parts::products)>;
    static constexpr index_t pairs = plan::count_of<decltype(Parts::pairs)>;
    static constexpr index_t factors = plan::key_factors_of<decltype(Parts::pairs)>;
    static constexpr index_t squares = plan::squares_of<decltype(Parts::pairs)>,
                             tables = plan::key_row_products_of<decltype(Parts::pairs)>;  // multiplied by keys
    static constexpr index_t planes = products + factors + squares + tables;
    static constexpr index_t lanes = kernel::pack<T, Arch>::lanes;
    using key_rows = std::remove_const_t<decltype(Operands::key)>;
    using key_type = read_as<key_rows, T>;
    /// How a part of the score that is a product is multiplied.
    template <class Part>
    using product_of =
        std::conditional_t<rounds_queries_of<Call, Part>, kernel::block_product<T, Arch, block_of<key_rows>>,
                           kernel::score_product<T, Arch, typename Call::query_element, key_type,
                                                 std::remove_cvref_t<decltype(Part::of_query)>,
                                                 std::remove_cvref_t<decltype(Part::of_key)>>>;

    /// The same with packed keys, for which queries are never rounded.
    template <class Product>
    using packed_product_of = std::conditional_t<std::is_base_of_v<kernel::number_product<T, Arch>, Product>,
                                                 kernel::number_product<T, Arch>, Product>;

    stored_keys(context_type const& context, keys_type const& to)
        : context_(context), keys_(to), operands_(context.operands) {}

    /// Calls f(keys, offset, count) with `count` keys from a position on, some at a time, through a body, for
    /// kernel::contract_rows.
    template <class Part, class F>
    void with_keys(Part const& part, index_t key, index_t count, F const& f) const {
        using Body = std::remove_cvref_t<decltype(Part::of_key)>;
        index_t const first_feature = context_.span_of(part).first;
        constexpr bool as_they_are = std::is_same_v<Body, k_t>;
        for_rows_in_place<Arch, as_they_are&& decltype(Part::over)::takes_all>(
            operands_.key, keys_.rows(key, count), keys_.loaded(),
            [&]<class Rows>(Rows const& all, index_t offset, index_t present) {
                auto const rows = all.from(0, first_feature);
                if constexpr (as_they_are) {
                    using keys = typename product_of<Part>::template keys_in_place<Rows>;
                    f(keys{rows}, offset, present);
                } else {
                    index_t const from = key + offset;
                    auto const row = coordinates();
                    auto const base = [&](index_t i) FOVEA_LAMBDA {
                        return kernel::index_environment<T, Arch, index_t>{row, from + i};
                    };
                    f(kernel::evaluated_keys<T, Arch, Body, Rows, decltype(base)>{part.of_key, rows, base}, offset,
                      present);
                }
            });
    }

    /// A pairwise term of one query and one key, straight from the operands.
    template <class Pair>
    T compare(Pair const& pair, kernel::row_coordinates const& row, index_t key) const {
        auto const [first, count] = context_.span_of(pair);
        return kernel::sum_features<T, Arch>(pair.body, kernel::index_environment<T, Arch, index_t>{row, key},
                                             operands_.query.place(row.batch, row.head, row.q_idx, 0) + first,
                                             row_of(operands_.key, keys_.rows(key, 1), keys_.loaded()) + first, count);
    }

    /// The plane of what the nth table is multiplied by.
    static constexpr index_t plane_of_table(index_t n) { return products + factors + squares + n; }

    /// Planes of the keys of a block.
    FOVEA_CONTROL void pack(index_t block) const {
        auto const& parts = context_.spec.score.parts;
        index_t plane = 0, square = 0;
        [[maybe_unused]] index_t table = 0;
        plan::for_each_part(parts.products, [&]([[maybe_unused]] auto const& p) {
            if constexpr (Call::packs_keys)
                if (!keys_.in_place())
                    pack_plane<product_of<std::remove_cvref_t<decltype(p)>>>(block, plane, p.of_key,
                                                                             context_.span_of(p));
            ++plane;
        });
        plan::for_each_part(parts.pairs, [&](auto const& pair) {
            auto const span = context_.span_of(pair);
            index_t const first = plane;
            plan::for_each_part(pair.factors.keys, [&](auto const& factor) {
                pack_plane<kernel::number_product<T, Arch>>(block, plane++, factor, span);
            });
            if constexpr (std::remove_cvref_t<decltype(pair)>::uses_exponentials)
                check_factors(block, {first, plane}, span.count);
            if constexpr (std::remove_cvref_t<decltype(pair)>::sums_squares)
                pack_centred(pair, block, first, square++, span.count);
            if constexpr (std::remove_cvref_t<decltype(pair)>::key_times_row) {
                index_t const of_table = plane_of_table(table++);
                if (plan::multiplies_row(context_.planned, pair))
                    pack_plane<kernel::number_product<T, Arch>>(block, of_table, plan::row_product_of(pair.body).factor,
                                                                span);
            }
        });
    }

private:
    /// Of the first query of the group.
    kernel::row_coordinates coordinates() const { return context_.coordinates(keys_.heads(), 0); }

    template <class Product, class Body>
    FOVEA_CONTROL void pack_plane(index_t block, index_t plane, [[maybe_unused]] Body const& body,
                                  feature_span span) const {
        T* const to = keys_.keys(block, plane);
        auto const row = coordinates();
        index_t const first = keys_.first(block), last = keys_.last(block);
        for (index_t key = first; key < last; key += tile::panel) {
            if (context_.planned.values == plan::reading::in_place)
                prefetch_values(key, std::min(key + tile::panel, last));
            index_t const count = std::min(last - key, tile::panel);
            // Rows in memory after those of the panel are prefetched.
            index_t const available = loaded_rows<key_rows> ? count : operands_.keys() - key;
            auto place =
                addresses_of<tile::panel + 2 * lanes>(operands_.key, keys_.rows(key, available), keys_.loaded());
            place.skip(span.first);
            index_t const column = (key - first) * kernel::steps_over<typename Product::step>(span.count);
            kernel::transpose_target<T> const all{.count = count,
                                                  .padded_rows = tile::panel,
                                                  .available = available,
                                                  .features = span.count,
                                                  .first = to + column,
                                                  .stride = tile::panel};
            if constexpr (std::is_same_v<Product, kernel::number_product<T, Arch>> && std::is_same_v<Body, k_t>
                          && std::is_same_v<key_type, T> && evenly_spaced<key_rows>) {
                T one[tile::panel];
                std::fill_n(one, count, T{1});
                driver::products<T, Arch>::transpose({place, one, all});
            } else {
                Product::transpose(
                    body, place,
                    [&](index_t i) FOVEA_LAMBDA { return kernel::index_environment<T, Arch, index_t>{row, key + i}; },
                    kernel::unscaled{}, all);
            }
        }
    }

    FOVEA_INLINE void prefetch_values(index_t from, index_t to) const {
        auto const& values = context_.value;
        for (index_t key = from; key < to; ++key)
            for (index_t c = 0; c < values.bytes; c += cache_line)
                __builtin_prefetch(values.place(keys_.heads().batch, keys_.heads().index, key) + c, 0, 2);
    }

    /// Looks at the factors of a pairwise term; the zeros after the last key do not count.
    void check_factors(index_t block, index_range of_term, index_t features) const {
        bool& factorable = keys_.factorable(block);
        for (index_t plane = of_term.first; plane < of_term.last; ++plane)
            for (index_t j = 0; j < keys_.last(block) - keys_.first(block); ++j)
                factorable =
                    factorable
                    && kernel::within_exponential_range(
                        keys_.keys(block, plane) + (j / tile::panel) * tile::panel * features + j % tile::panel,
                        features, tile::panel);
    }

    /// The keys of a block less the centre of a squared distance, from the plane of them as they are; and their norms.
    template <class Pair>
    void pack_centred(Pair const& pair, index_t block, index_t plane, index_t square, index_t features) const {
        if (!plan::multiplies_squares(context_.planned, features)) return;
        auto const about = centre_of_queries<Call>(context_, keys_.heads(), pair, keys_.centre());
        T* const norms = keys_.norms(block) + square * tile::block_keys;
        T const* const from = keys_.keys(block, plane);
        T* const to = keys_.keys(block, products + factors + square);
        for (index_t k = 0; k < keys_.last(block) - keys_.first(block); k += tile::panel)
            kernel::centre_keys<tile::nv, Pair::sign, T, Arch>(from + k * features, about.place, about.factor, features,
                                                               to + k * features, norms + k);
    }

    context_type const& context_;
    keys_type const& keys_;
    Operands const& operands_;
};

}  // namespace fovea::FOVEA_SET::driver
