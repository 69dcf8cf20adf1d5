// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is compiled for a specification with queries in lanes.
#pragma once

#include <fovea/driver/all_finite.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/key_terms.hpp>
#include <fovea/driver/dense/query_lanes_functions.hpp>
#include <fovea/driver/dense/row_scales.hpp>
#include <fovea/driver/row_runs.hpp>
#include <fovea/kernel/lane_rows.hpp>
#include <fovea/kernel/transform_lanes.hpp>
#include <fovea/plan/normalizing.hpp>

#include <algorithm>
#include <memory>
#include <tuple>

namespace fovea::FOVEA_SET::driver {

/// The functions of a specification with a query in each lane.
template <class Call>
class query_lanes_spec {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using spec = typename Call::spec;
    using operands = typename Call::operands;
    using vector = kernel::pack<T, Arch>;
    using normalizing = plan::normalizing<std::remove_const_t<decltype(spec::normalize)>, vector>;
    using state = typename normalizing::state;
    using lanes = query_lanes_rows<T, Arch>;
    using shape = typename lanes::shape;
    using integer = typename lanes::integer;
    using query_element = std::remove_cvref_t<decltype(*operands::query.data)>;

public:
    using context = dense_context<Call, query_lanes_attention<T, Arch>>;

    static context make_context(plan::call_plan const& how, spec const& of, operands const& all) {
        return context(how, of, all, functions, sums_functions);
    }

private:
    static context const& of(dense_rows const& all) { return static_cast<context const&>(all); }

    static void begin(dense_rows const& call, lanes& rows) {
        auto const& all = of(call);
        begin_queries(all, rows);
        T* terms = rows.terms;
        plan::for_each_part(all.spec.score.parts.rows, [&](auto const& t) {
            for (index_t r = 0; r < rows.width(); ++r) *terms++ = of_row(all, rows, t.expression, r);
        });
        integer* indices = rows.indices;
        plan::for_each_part(all.indices.queries, [&](auto const& t) {
            for (index_t r = 0; r < rows.width(); ++r) {
                auto const facts = rows.facts_of(all, r);
                *indices++ = static_cast<integer>(evaluate(t, kernel::index_environment<T, Arch, index_t>{facts, 0}));
            }
        });
    }

    /// An expression of the query side for one row; rows after the last repeat it.
    template <class Expression>
    static T of_row(context const& all, lanes const& rows, Expression const& expression, index_t r) {
        auto const facts = rows.facts_of(all, r);
        auto const* const row = all.operands.query.place(facts.batch, facts.head, facts.q_idx, 0);
        return static_cast<T>(evaluate(expression, kernel::single_environment<T, Arch, query_element, query_element>{
                                                       {facts, 0}, row, row, facts.dim, facts.dim}));
    }

    static void begin_queries(context const& all, lanes& rows) {
        kernel::transpose_target<T> const to{.count = rows.count,
                                             .padded_rows = rows.width(),
                                             .available = all.rows - rows.first_row,
                                             .features = all.features,
                                             .first = rows.queries,
                                             .stride = rows.width()};
        plan::for_each_part(all.spec.score.parts.products, [&](auto const& p) {
            T scales[shape::rows];
            scales_of_rows<decltype(p.scale)>(rows.count, scales,
                                              [&](index_t r) { return of_row(all, rows, p.scale, r); });
            transpose(all, p.of_query, rows, rows.strided(all, all.operands.query), scales, to);
            for (index_t r = 0; r < (to.features == 0 ? to.stride : 0); ++r)
                to.first[r] = T{0} * scales[std::min(r, rows.count - 1)];
        });
    }
    template <class Body, class Rows>
    static void transpose(context const& all, Body const& body, lanes const& rows, Rows const& row, T const* scales,
                          kernel::transpose_target<T> const& to) {
        if constexpr (std::is_same_v<Body, q_t> && std::is_same_v<query_element, T>) {
            products<T, Arch>::transpose({row, scales, to});
        } else {
            kernel::row_facts facts[shape::rows];
            for (index_t r = 0; r < rows.count; ++r) facts[r] = rows.facts_of(all, r);
            kernel::transpose_features<T, Arch>(
                body, row,
                [&](index_t r) FOVEA_LAMBDA { return kernel::index_environment<T, Arch, index_t>{facts[r], 0}; },
                [&](index_t r) FOVEA_LAMBDA { return scales[r]; }, to);
        }
    }

    static bool all_finite(dense_rows const& call, row_range const& values) {
        return driver::all_finite<T, Arch>(of(call).operands.value, values);
    }

    template <class Rows>
    static void convert(Rows const& rows, row_range const& at, T* to, index_t stride) {
        if constexpr (loaded_rows<Rows>) rows.load(at, to, stride);
        else
            for_runs(rows, at, [&](auto const& run, index_t offset, auto const&) {
                for (index_t r = 0; r < run.count; ++r)
                    kernel::convert_row<T, Arch>(run.first + r * run.stride, rows.extent(3),
                                                 to + (offset + r) * stride);
            });
    }
    template <auto operands::* Rows>
    static constexpr convert_function<T> converts() {
        using rows = std::remove_cvref_t<decltype(std::declval<operands>().*Rows)>;
        if constexpr (std::is_same_v<element_of_rows<rows>, T> && evenly_spaced<rows>) return nullptr;
        else
            return [](dense_rows const& call, row_range const& at, T* to, index_t stride) {
                convert(of(call).operands.*Rows, at, to, stride);
            };
    }

    static void prepare_keys(dense_rows const& call, kernel::row_facts const& facts, row_range const& keys, T* terms,
                             index_t* indices) {
        auto const& all = of(call);
        // Of keys that are loaded no term reads features: the plan takes none then.
        compute_key_terms<T, Arch>(all.spec.score.parts.keys, facts, all.operands.key, keys, nullptr, terms,
                                   shape::block_keys);
        compute_index_terms<T, Arch>(all.indices.keys, facts, keys.first, keys.last, indices, shape::block_keys);
    }

    static void score(dense_rows const& call, lanes const& rows, query_lanes_block<T> const& block, bool masked) {
        if (Call::masks && masked) transform<Call::masks>(of(call), rows, block);
        else transform<false>(of(call), rows, block);
    }

    template <bool Masked>
    static void transform(context const& all, lanes const& rows, query_lanes_block<T> const& block) {
        using pointwise = std::remove_const_t<decltype(decltype(spec::score)::pointwise)>;
        using predicate = typename context::predicate;
        index_t const width = rows.width();
        for (index_t lane = 0; lane < width; lane += shape::lanes) {
            auto const transform = [&](auto const& queries) {
                kernel::transform_lanes<Masked, T, Arch>(
                    all.spec.score.pointwise, all.spec.predicate, all.indices, rows.facts_of(all, lane), queries,
                    kernel::lane_scores<T>{block.scores + lane, width, block.first, block.count, rows.terms + lane,
                                           block.key_terms, shape::block_keys, rows.indices + lane, block.key_indices,
                                           block.row_max + lane});
            };
            if constexpr (uses<pointwise, q_idx_t, head_t> || uses<predicate, q_idx_t, head_t>)
                if (all.tile_heads > 1) {
                    transform(kernel::queries_of_heads<T, Arch>{rows.queries_of + lane, rows.heads_of + lane});
                    continue;
                }
            transform(kernel::neighbouring_queries<T, Arch>{});
        }
    }

    static void begin_states(lanes const& rows, void* states) {
        std::uninitialized_fill_n(static_cast<state*>(states), rows.vectors, state{});
    }

    static void fold(dense_rows const& call, lanes const& rows, void* states, query_lanes_block<T> const& block,
                     T* rescale) {
        using row_lanes = kernel::lane_rows<T, Arch, typename normalizing::of_row>;
        auto const& normalizer = of(call).spec.normalize;
        for (index_t v = 0; v < rows.vectors; ++v) {
            index_t const lane = v * shape::lanes;
            normalizing::fold(
                normalizer, static_cast<state*>(states)[v],
                row_lanes{block.scores + lane, block.count, rows.width(), shape::lanes, block.row_max + lane})
                .store(rescale + lane);
        }
    }

    static void finish(dense_rows const& call, lanes const& rows, void const* states, T const* sums) {
        auto const& all = of(call);
        for (index_t v = 0; v < rows.vectors; ++v) {
            index_t const lane = v * shape::lanes;
            auto const& carried = static_cast<state const*>(states)[v];
            write(all, rows, lane, sums + lane, normalizing::finish(all.spec.normalize, carried));
            if constexpr (requires { all.spec.normalize.log_sum(carried); }
                          && std::tuple_size_v<decltype(all.operands.outputs)> > 0) {
                auto const logs =
                    kernel::lanes_of<T, Arch>::to_array(normalizing::log_sum(all.spec.normalize, carried));
                for (index_t r = lane; r < std::min(rows.count, lane + shape::lanes); ++r)
                    show_log_sum(all.operands.outputs, rows.facts_of(all, r), logs[static_cast<std::size_t>(r - lane)]);
            }
        }
    }

    /// The results of one vector of queries, which are rows again.
    static void write(context const& all, lanes const& rows, index_t lane, T const* sums, vector const& factor) {
        using element = std::remove_pointer_t<decltype(all.operands.result.data)>;
        alignas(64) T factors[shape::lanes];
        factor.store(factors);
        auto to = rows.strided(all, all.operands.result);
        to.offset += lane;
        result_rows<T, element> const results{
            sums, rows.width(), factors, std::min<index_t>(rows.count - lane, shape::lanes), all.value_features, to};
        if constexpr (std::is_same_v<element, T>) products<T, Arch>::store(results);
        else store_transposed<Arch>(results);
    }

    static constexpr query_lanes_functions<T, Arch> functions{
        .row_terms = plan::count_of<decltype(decltype(spec::score.parts)::rows)>,
        .row_indices = plan::count_of<decltype(context::indices_type::queries)>,
        .key_terms = plan::count_of<decltype(decltype(spec::score.parts)::keys)>,
        .key_indices = plan::count_of<decltype(context::indices_type::keys)>,
        .is_bare_product = Call::is_bare_product,
        .begin = &begin,
        .convert_keys = converts<&operands::key>(),
        .prepare_keys = &prepare_keys,
        .score = &score};
    static constexpr query_lanes_sums_functions<T, Arch> sums_functions{
        .state_bytes = static_cast<index_t>(sizeof(state)),
        .begin = &begin_states,
        .convert_values = converts<&operands::value>(),
        .all_finite = &all_finite,
        .fold = &fold,
        .finish = &finish};
};

}  // namespace fovea::FOVEA_SET::driver
