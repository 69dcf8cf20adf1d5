// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores, as far as both blockings compute them alike: terms of the rows of a tile and of a block of keys, and the rest
// once these and the products are known.
#pragma once

#include <fovea/driver/dense/block_cache.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/kernel/transform.hpp>
#include <fovea/plan/lower.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The terms of the score of a call, the rest of it, and its mask.
template <class Call, class Blocking>
class score_terms {
    using T = typename Blocking::number;
    using Arch = typename Blocking::architecture;
    using context_type = context_of<Call, Blocking>;
    using parts = typename Call::parts;
    using rows_type = tile_rows<Blocking>;
    using keys_type = head_keys<Blocking>;
    using query_element = typename Call::query_element;

public:
    static constexpr index_t row_terms = plan::count_of<decltype(parts::rows)>;
    static constexpr index_t row_indices = plan::count_of<decltype(context_type::indices_type::queries)>;
    static constexpr index_t key_terms = plan::count_of<decltype(parts::keys)>;
    static constexpr index_t key_indices = plan::count_of<decltype(context_type::indices_type::keys)>;
    static constexpr bool per_head = !Blocking::queries_in_lanes && plan::any_uses_head<decltype(parts::keys)>;

    /// An expression of the query side for one row.
    template <class Expression>
    static auto of_row(context_type const& context, kernel::row_coordinates const& coordinates,
                       Expression const& expression) {
        auto const* const row = context.operands.query.place(coordinates.batch, coordinates.head, coordinates.q_idx, 0);
        return evaluate(expression, kernel::single_environment<T, Arch, query_element, query_element>{
                                        {coordinates, index_t{0}}, row, row, coordinates.dim, coordinates.dim});
    }

    /// The terms and index terms of the rows of a tile.
    static void prepare_rows(context_type const& context, rows_type& rows) {
        auto const compute = [&](auto const& expression, auto* to) {
            using number = std::remove_pointer_t<decltype(to)>;
            for (index_t r = 0; r < rows.width; ++r)
                to[r] = static_cast<number>(of_row(context, rows.facts_of(context, r), expression));
        };
        index_t n = 0;
        plan::for_each_part(context.spec.score.parts.rows,
                            [&](auto const& t) { compute(t.expression, rows.terms + n++ * Blocking::rows); });
        n = 0;
        plan::for_each_part(context.indices.queries,
                            [&](auto const& t) { compute(t, rows.indices + n++ * Blocking::rows); });
    }

    /// The factor of a product for each row of a tile; evaluated once where they are all the same.
    template <class Scale>
    static void scale_rows(context_type const& context, rows_type const& rows, Scale const& scale, T* to) {
        if constexpr (uses<std::remove_cvref_t<Scale>, head_t, q_idx_t, q_t>)
            for (index_t r = 0; r < rows.count; ++r)
                to[r] = static_cast<T>(of_row(context, rows.facts_of(context, r), scale));
        else std::fill_n(to, rows.count, static_cast<T>(of_row(context, rows.facts_of(context, 0), scale)));
    }

    /// The terms and index terms of a block of keys; those of keys after the last may be anything.
    static void prepare_keys(context_type const& context, keys_type const& keys, index_t block) {
        constexpr index_t stride = Blocking::block_keys;
        if constexpr (key_terms > 0)
            for (index_t g = 0; g < (per_head ? context.tile_heads : 1); ++g) {
                T* to = keys.terms(block, g);
                std::fill_n(to, key_terms * stride, T{0});
                auto const coordinates = context.coordinates(keys.heads(), g);
                plan::for_each_part(context.spec.score.parts.keys, [&](auto const& term) {
                    if constexpr (uses<std::remove_cvref_t<decltype(term.expression)>, k_t>)
                        for_runs(context.operands.key, keys.range(block), keys.loaded(),
                                 [&](auto const& run, index_t offset) {
                                     compute_key_terms(context, coordinates, term.expression, run,
                                                       keys.first(block) + offset, to + offset);
                                 });
                    else compute_position_terms(coordinates, term.expression, keys.range(block), to);
                    to += stride;
                });
            }
        auto* to = keys.indices(block);
        auto const coordinates = context.coordinates(keys.heads(), 0);
        plan::for_each_part(context.indices.keys, [&](auto const& term) {
            compute_index_terms(coordinates, term, keys.range(block), to);
            to += stride;
        });
    }

    /// Products become scores, and the mask is applied if `masked`; with queries in lanes row_max is raised to the
    /// maximum of each row.
    static void transform(score_call<Blocking> const& call, rows_type const& rows, keys_type const& keys,
                          score_block<Blocking> const& scores, bool masked) {
        auto const& context = static_cast<context_type const&>(call);
        constexpr bool may_mask = Call::masks || Blocking::pads_keys;
        if (may_mask && masked) transform_rows<may_mask>(context, rows, keys, scores);
        else transform_rows<false>(context, rows, keys, scores);
    }

    /// Calls f(coordinates of the (first) row, queries, at) for the vectors of each row [first, last) of a tile, or of
    /// each vector of rows: what kernel::transform takes, and what else goes over the pairs of a tile.
    template <class F>
    FOVEA_INLINE static void for_rows(context_type const& context, rows_type const& rows, keys_type const& keys,
                                      score_block<Blocking> const& scores, index_t first, index_t last, F const& f) {
        constexpr bool in_lanes = Blocking::queries_in_lanes;
        constexpr index_t step = in_lanes ? Blocking::lanes : 1;  // rows
        index_t const block = scores.first / Blocking::block_keys, key = scores.first % Blocking::block_keys;
        T const* terms = key_terms > 0 ? keys.terms(block, 0) + key : scores.scores;
        for (index_t r = first; r < last; r += step) {
            auto const coordinates = rows.facts_of(context, r);
            if constexpr (per_head) terms = keys.terms(block, coordinates.head % context.tile_heads) + key;
            kernel::score_vectors<T, in_lanes> const at{.scores = scores.scores + (in_lanes ? r : r * scores.stride),
                                                        .stride = in_lanes ? scores.stride : Blocking::lanes,
                                                        .count = in_lanes ? scores.count : scores.packs(),
                                                        .first_key = scores.first,
                                                        .plane_stride = scores.plane_stride,
                                                        .products = plan::count_of<decltype(parts::products)>,
                                                        .row_terms = rows.terms + r,
                                                        .row_stride = Blocking::rows,
                                                        .key_terms = terms,
                                                        .key_stride = Blocking::block_keys,
                                                        .row_indices = rows.indices + r,
                                                        .key_indices = keys.indices(block) + key,
                                                        .row_max = in_lanes ? scores.row_max + r : nullptr};
            if constexpr (!in_lanes) {
                f(coordinates, kernel::one_query{}, at);
            } else {
                if constexpr (reads_queries)
                    if (context.tile_heads > 1) {
                        f(coordinates,
                          kernel::queries_of_heads<T, Arch>{rows.queries_of.data() + r, rows.heads_of.data() + r}, at);
                        continue;
                    }
                f(coordinates, kernel::neighbouring_queries<T, Arch>{}, at);
            }
        }
    }

private:
    template <bool Masked>
    static void transform_rows(context_type const& context, rows_type const& rows, keys_type const& keys,
                               score_block<Blocking> const& scores) {
        for_rows(context, rows, keys, scores, 0, Blocking::queries_in_lanes ? rows.width : rows.count,
                 [&](auto const& coordinates, auto const& queries, auto const& at) FOVEA_LAMBDA {
                     kernel::transform<Masked, T, Arch>(context.spec.score.pointwise, context.spec.predicate,
                                                        context.indices, coordinates, queries, at);
                 });
    }
    static constexpr bool reads_queries =
        uses<std::remove_const_t<decltype(Call::spec::score.pointwise)>, q_idx_t, head_t>
        || uses<typename context_type::predicate, q_idx_t, head_t>;

    /// A term that reads no features of keys, for some keys: whole vectors, of which the last may pass the last key;
    /// one key after the other where it sums over features of tables.
    template <class Expression>
    static void compute_position_terms(kernel::row_coordinates const& coordinates, Expression const& term,
                                       row_range const& at, T* to) {
        if constexpr (reads_features<Expression>) {
            T const* const none = nullptr;
            for (index_t k = 0; k < at.last - at.first; ++k) {
                kernel::single_environment<T, Arch, T, T> const here{{coordinates, at.first + k}, none, none, 0, 0};
                to[k] = static_cast<T>(evaluate(term, here));
            }
        } else {
            using positions = kernel::positions<T, Arch>;
            constexpr index_t lanes = kernel::pack<T, Arch>::lanes;
            for (index_t k = 0; k < at.last - at.first; k += lanes) {
                kernel::index_environment<T, Arch, positions> const here{coordinates, positions{at.first + k}};
                kernel::value_in_lanes<T, Arch>(term, here).store(to + k);
            }
        }
    }

    /// An index term of the keys of a block: in vectors where it is kept for them and takes no division, which they do
    /// not have.
    template <class Expression>
    static void compute_index_terms(kernel::row_coordinates const& coordinates, Expression const& term,
                                    row_range const& at, typename keys_type::integer* to) {
        constexpr bool in_vectors = !Blocking::queries_in_lanes && !plan::detail::divides<Expression>;
        constexpr index_t step = in_vectors ? kernel::pack<T, Arch>::lanes : 1;
        index_t k = 0;
        for (; k < at.last - at.first; k += step) {
            if constexpr (in_vectors) {
                using positions = kernel::positions<T, Arch>;
                kernel::index_environment<T, Arch, positions> const here{coordinates, positions{at.first + k}};
                auto const value = kernel::evaluate_in_lanes<T, Arch, false>(term, here);
                auto const lanes = kernel::index_pack<T, Arch>(value).array();
                std::copy(lanes.begin(), lanes.end(), to + k);
            } else {
                kernel::index_environment<T, Arch, index_t> const here{coordinates, at.first + k};
                to[k] = static_cast<typename keys_type::integer>(evaluate(term, here));
            }
        }
        std::fill(to + k, to + Blocking::block_keys, typename keys_type::integer{0});
    }

    template <class Expression, class Element>
    static void compute_key_terms(context_type const& context, kernel::row_coordinates const& coordinates,
                                  Expression const& expression, row_run<Element> const& run, index_t first_key, T* to) {
        for (index_t r = 0; r < run.count; ++r) {
            Element const* const features = run.first + r * run.stride;
            kernel::single_environment<T, Arch, Element, Element> const here{
                {coordinates, first_key + r}, features, features, context.key_features, context.key_features};
            to[r] = static_cast<T>(evaluate(expression, here));
        }
    }
};

}  // namespace fovea::FOVEA_SET::driver
