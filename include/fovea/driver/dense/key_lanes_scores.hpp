// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores of a tile with a key in each lane: products with the keys of a panel, and the lines of tables that are
// prefetched for it.
#pragma once

#include <fovea/driver/dense/pair_sums.hpp>
#include <fovea/driver/dense/score_terms.hpp>
#include <fovea/driver/dense/stored_keys.hpp>
#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/prefetch.hpp>
#include <fovea/kernel/product/contract_columns.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The matrix products of a tile of queries with keys: the query side of each product, prepared once for the tile, and
/// the sums over the features.
template <class Call>
class tile_products {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using tile = key_lanes_of<Call>;
    using context_type = context_of<Call, tile>;
    using rows_type = tile_rows<tile>;
    using stored = stored_keys<Call>;
    using element = typename Call::query_element;

public:
    /// The query sides of a tile; sources[r] are the features of row r.
    FOVEA_CONTROL static void prepare(context_type const& context, rows_type& rows, element const* const* sources) {
        bool const in_place = context.planned.keys == plan::reading::in_place;
        index_t n = 0;
        plan::for_each_part(context.spec.score.parts.products, [&](auto const& p) {
            using product = typename stored::template product_of<std::remove_cvref_t<decltype(p)>>;
            auto const [first_feature, features] = context.span_of(p);
            auto const row = [&, at = first_feature](index_t r) FOVEA_LAMBDA { return sources[r] + at; };
            auto const base = [&](index_t r) FOVEA_LAMBDA {
                return kernel::index_environment<T, Arch, index_t>{rows.coordinates[static_cast<std::size_t>(r)], 0};
            };
            T* const scales = rows.scales + n * tile::rows;
            T* const to = factors_of(rows, n++, context.summed.most);
            score_terms<Call, tile>::scale_rows(context, rows, p.scale, scales);
            for (index_t r = rows.count; r < rows.width; ++r) scales[r] = T{0};
            auto const scale = [&](index_t r) FOVEA_LAMBDA { return scales[r]; };
            [[maybe_unused]] kernel::transpose_target<T> const destination{.count = rows.count,
                                                                           .padded_rows = rows.width,
                                                                           .available = rows.count,
                                                                           .features = features,
                                                                           .first = to,
                                                                           .stride = rows.width};
            constexpr bool as_they_are = std::is_same_v<product, kernel::number_product<T, Arch>>
                                      && std::is_same_v<std::remove_cvref_t<decltype(p.of_query)>, q_t>
                                      && std::is_same_v<element, T>;
            constexpr bool transposes = Call::packs_keys && plan::compiled.transposed_queries;
            if constexpr (transposes && as_they_are) {
                if (!in_place) return transpose_as_they_are(context, rows, p, scales, destination);
            } else if constexpr (transposes) {
                if (!in_place) return product::transpose(p.of_query, row, base, scale, destination);
            }
            std::fill_n(to, plane(kernel::steps_over<typename product::step>(features)) * rows.width, T{0});
            auto const lay_out = [&]<class Product>(std::type_identity<Product>) {
                for (index_t r = 0; r < rows.count; ++r)
                    Product::for_packs(p.of_query, row(r), base(r), scale(r), features,
                                       [&](index_t pack, auto const& value) {
                                           value.store(to + (pack * rows.width + r) * tile::lanes);
                                       });
            };
            using packed = typename stored::template packed_product_of<product>;
            if constexpr (!plan::compiled.transposed_queries && !std::is_same_v<packed, product>)
                if (!in_place) return lay_out(std::type_identity<packed>{});
            lay_out(std::type_identity<product>{});
        });
    }

    /// The products with a run of keys of a block.
    FOVEA_CONTROL static void contract(context_type const& context, rows_type const& rows, head_keys<tile> const& keys,
                                       key_run<tile> const& at, score_block<tile> const& to,
                                       kernel::prefetch_queue& next) {
        index_t n = 0;
        plan::for_each_part(context.spec.score.parts.products, [&](auto const& p) {
            using part = std::remove_cvref_t<decltype(p)>;
            using product = typename stored::template product_of<part>;
            using step = typename product::step;
            index_t const features = context.span_of(p).count;
            T const* const queries = factors_of(rows, n, context.summed.most);
            T const* const scales = rows.scales + n * tile::rows;
            T* const scores = to.scores + n * to.plane_stride;
            auto const mr = static_cast<int>(rows.width);
            if (features == 0) {
                contract_no_features(mr, scales, to, scores);
            } else if (keys.in_place()) {
                kernel::row_products<T> const all{queries, mr, to.count, features, scores, to.stride, scales};
                stored(context, keys)
                    .template with_keys<part>(p, to.first, to.count,
                                              [&](auto const& from, index_t offset, index_t count) {
                                                  auto run = all;
                                                  run.scores += offset;
                                                  run.count = count;
                                                  contract_in_place<step>(from, run);
                                              });
            }
            if constexpr (Call::packs_keys)
                if (features != 0 && !keys.in_place())
                    packed_products<product>::contract({.queries = queries,
                                                        .keys = keys.keys(at.block, n),
                                                        .first = at.granules.first,
                                                        .last = at.granules.last,
                                                        .features = kernel::steps_over<step>(features),
                                                        .mr = mr,
                                                        .scales = scales,
                                                        .scores = scores - at.granules.first * tile::lanes,
                                                        .stride = to.stride},
                                                       next);
            ++n;
        });
    }

private:
    static index_t plane(index_t features) { return round_up(features, tile::lanes); }
    /// The queries of a product that changes none, of the type of the arithmetic.
    template <class Part>
    static void transpose_as_they_are(context_type const& context, rows_type const& rows, Part const& part,
                                      T const* scales, kernel::transpose_target<T> const& to) {
        auto const [first_feature, features] = context.span_of(part);
        auto queries = rows.strided(context, context.operands.query);
        queries.skip(first_feature);
        products<T, Arch>::transpose({queries, scales, to});
    }
    static T* factors_of(rows_type const& rows, index_t product, index_t features) {
        return rows.queries + product * plane(features) * rows.width;
    }

    /// Products over no features: 0 times the scale, which may be infinite, as the expression says.
    [[gnu::cold]] static void contract_no_features(int mr, T const* scales, score_block<tile> const& to, T* scores) {
        for (index_t r = 0; r < mr; ++r)
            std::fill_n(scores + r * to.stride, to.packs() * tile::lanes, T{0} * scales[r]);
    }

    /// Keys in place.
    template <class Step, class Keys>
    static void contract_in_place(Keys const& from, kernel::row_products<T> const& all) {
        static_assert(std::is_same_v<typename Keys::products, Step>,
                      "queries are laid out for the product of the keys");
        if constexpr (Call::fixed_order && std::is_same_v<Step, kernel::number_products>)
            with_rows<tile>(all.rows, [&](auto rows) {
                if constexpr (rows() <= tile::most_rows_in_order) kernel::contract_columns<rows(), T, Arch>(from, all);
            });
        else contract_stored<Arch>(from, all);
    }
};

}  // namespace fovea::FOVEA_SET::driver

namespace fovea::FOVEA_SET::kernel {

/// The first element that a row reads along its keys, if it reads any.
struct table_place {
    unsigned char const* first = nullptr;
    index_t bits = 0;  // of an element
};

/// Evaluating an expression here finds the place of its first table that is read along the keys; parts of the score
/// are 0.
template <class T, class Arch>
struct table_finder : index_environment<T, Arch, positions<T, Arch>> {
    using base = index_environment<T, Arch, positions<T, Arch>>;
    table_place& found;

    using base::operator();
    template <plan::part Part, std::size_t I>
    FOVEA_INLINE pack<T, Arch> operator()(plan::reference<Part, I>) const {
        return pack<T, Arch>(T{0});
    }

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (along_keys<Index...>)
            if (found.first == nullptr && table.stride(Rank - 1) == 1)
                found = {fovea::detail::byte_of(table.data + offset_of_numbers(table, at...)
                                                + clamped_index(first_along_keys(at...), table.extent(Rank - 1))),
                         fovea::detail::bits_of_element<Element>};
        return base::lookup(table, at...);
    }
};

/// Consecutive keys.
struct key_range {
    index_t first, count;
};

/// The cache lines of a table that some rows read at a run of keys: none unless the rows of the table are one stride
/// apart, of at least a line. Rows that are closer share lines, which the first of them brings into the L1 cache. They
/// are prefetched while microkernels take `steps` steps.
template <class T, class Arch, class Expression>
prefetch_queue table_lines(Expression const& expression, row_coordinates const* rows, index_t count, key_range keys,
                           index_t steps) {
    auto const place = [&](index_t r) {
        table_place found;
        static_cast<void>(evaluate(expression, table_finder<T, Arch>{{rows[r], {keys.first}}, found}));
        return found;
    };
    auto const first = place(0);
    if (count < 2 || first.first == nullptr) return {};
    index_t const stride = place(1).first - first.first, distance = stride < 0 ? -stride : stride;
    if (distance < cache_line || place(count - 1).first != first.first + (count - 1) * stride) return {};
    index_t const row_bytes = ceil_div(keys.count * first.bits, 8), lines = count * ceil_div(row_bytes, cache_line);
    return prefetch_queue({.first = first.first, .rows = count, .row_bytes = row_bytes, .stride_bytes = stride},
                          std::max<index_t>(steps / lines, 1));
}

}  // namespace fovea::FOVEA_SET::kernel

namespace fovea::FOVEA_SET::driver {

/// The functions of a score and a mask with a key in each lane.
template <class Call>
class key_lanes_scores {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Parts = typename Call::parts;
    using tile = key_lanes_of<Call>;
    using context_type = context_of<Call, tile>;
    using call_type = score_call<tile>;
    using terms = score_terms<Call, tile>;
    using rows_type = tile_rows<tile>;
    using keys_type = head_keys<tile>;
    using stored = stored_keys<Call>;
    using query_element = typename Call::query_element;

    static context_type const& of(call_type const& call) { return static_cast<context_type const&>(call); }

    FOVEA_CONTROL static void begin(call_type const& call, rows_type& rows) {
        auto const& context = of(call);
        terms::prepare_rows(context, rows);
        query_element const* sources[tile::rows];  // where the features of each row begin
        for (index_t r = 0; r < rows.width; ++r) {
            auto const& row = rows.coordinates[static_cast<std::size_t>(r)];
            sources[r] = context.operands.query.place(row.batch, row.head, row.q_idx, 0);
        }
        tile_products<Call>::prepare(context, rows, sources);
        pair_sums<Call>::prepare(context, rows, sources);
    }

    FOVEA_CONTROL static void prepare(call_type const& call, keys_type const& keys, index_t block) {
        stored(of(call), keys).pack(block);
        terms::prepare_keys(of(call), keys, block);
    }

    FOVEA_CONTROL static void multiply(call_type const& call, rows_type const& rows, keys_type const& keys,
                                       key_run<tile> const& at, score_block<tile> const& to, next_lines& next) {
        auto const& context = of(call);
        prefetch_tables(context, rows, keys, to, next);
        tile_products<Call>::contract(context, rows, keys, at, to, next.queue());
        pair_sums<Call>::add_up(context, rows, keys, at, to, next);
    }

    /// Prefetches what score and mask read of tables while the products are computed.
    static void prefetch_tables(context_type const& context, rows_type const& rows, keys_type const& keys,
                                score_block<tile> const& to, next_lines& next) {
        auto const& pointwise = context.spec.score.pointwise;
        auto const& predicate = context.spec.predicate;
        if (keys.in_place() || !next.queue().empty()) return;
        kernel::key_range const range{.first = to.first, .count = to.packs() * tile::lanes};
        index_t const steps = range.count / tile::panel * context.features * stored::products;
        if constexpr (reads_a_table<std::remove_cvref_t<decltype(pointwise)>>)
            next.tables = kernel::table_lines<T, Arch>(pointwise, rows.coordinates.data(), rows.count, range, steps);
        if constexpr (reads_a_table<std::remove_cvref_t<decltype(predicate)>>)
            if (next.tables.empty())
                next.tables =
                    kernel::table_lines<T, Arch>(predicate, rows.coordinates.data(), rows.count, range, steps);
    }

public:
    static constexpr score_functions<tile> functions{.products = stored::products,
                                                     .pairs = pair_sums<Call>::count,
                                                     .squares = pair_sums<Call>::squares,
                                                     .tables = pair_sums<Call>::tables,
                                                     .key_tables = stored::tables,
                                                     .query_factors = pair_sums<Call>::query_factors,
                                                     .row_terms = terms::row_terms,
                                                     .row_indices = terms::row_indices,
                                                     .planes = stored::planes,
                                                     .key_terms = terms::key_terms,
                                                     .key_indices = terms::key_indices,
                                                     .terms_per_head = terms::per_head,
                                                     .loads_keys = loaded_rows<typename stored::key_rows>,
                                                     .is_bare_product = Call::is_bare_product,
                                                     .begin = &begin,
                                                     .prepare = &prepare,
                                                     .multiply = &multiply,
                                                     .transform = &terms::transform};
};

}  // namespace fovea::FOVEA_SET::driver
