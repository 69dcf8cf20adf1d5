// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts from every slot, put together in all ways, of which each unit here runs one on calls that are drawn.
#pragma once

#include <fovea/fovea.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/trial.hpp"

#include <boost/hana/at.hpp>
#include <boost/hana/length.hpp>
#include <boost/hana/tuple.hpp>

#include <tuple>
#include <type_traits>

namespace compositions {

namespace hana = boost::hana;
using namespace fovea;
using namespace fovea::placeholders;

inline constexpr auto scores = hana::make_tuple(dot, scaled_dot, cosine, gaussian(1.5), l1_distance(2),
                                                compare(sum(q* k) * rsqrt(dim) - 0.01 * kv_idx));
inline constexpr auto rescorings =
    hana::make_tuple(softcap(3), temperature(2), gumbel(5), rescore(score + 0.1 * (kv_idx - q_idx)));
inline constexpr auto masks =
    hana::make_tuple(everything_t{}, causal, causal_at_end, sliding_window(5, 3), chunked(7), where(kv_idx % 3 != 1),
                     prefix_lm(4), sliding_window(2, 2) || global_tokens(2));
inline constexpr auto normalizers =
    hana::make_tuple(softmax, softmax_plus_one, hardmax, sparsemax, entmax15, top_k_softmax(4), weigh(sigmoid(score)),
                     normalized(sigmoid(score)), uniform);
inline constexpr auto aggregators = hana::make_tuple(weighted_sum, max_pool);

template <auto const& Parts>
inline constexpr std::size_t count_of = decltype(hana::length(Parts))::value;

/// Every score with every mask and every normalizer.
inline constexpr std::size_t count = count_of<scores> * count_of<masks> * count_of<normalizers>;

/// The part of one number, as often as all are counted through.
template <auto const& Parts, std::size_t Number>
constexpr auto const& part = Parts[hana::size_c<Number % count_of<Parts>>];

/// The weights of one number; rescorings change from one to the next.
template <std::size_t Number>
auto composed_weights() {
    constexpr auto of_masks = Number / count_of<normalizers>, of_scores = of_masks / count_of<masks>;
    auto const scored = part<scores, of_scores> | part<rescorings, Number> | part<masks, of_masks>;
    return scored | part<normalizers, Number>;
}
/// The specification of one number.
template <std::size_t Number>
auto composed() {
    return composed_weights<Number>() | part<aggregators, Number / 3>;
}

// --- the definition ---

/// A specification by its definition, computed in Real.
template <class Real, auto Make>
answer by_reference(numbers const& x) {
    auto const spec = Make();
    constexpr bool has_log_sum = log_sum_normalizer<std::remove_cvref_t<decltype(normalizer_of(spec.normalize))>>;
    view<double const, 4> const query(x.query.data(), x.query_extents), key(x.key.data(), x.key_extents),
        value(x.value.data(), x.value_extents);
    auto const& n = x.query_extents;
    auto const room = [](index_t elements) { return std::vector<long double>(static_cast<std::size_t>(elements)); };
    answer all{room(n[0] * n[1] * n[2] * x.value_extents[3]), room(n[0] * n[1] * n[2] * x.key_extents[2]),
               room(n[0] * n[1] * n[2])};
    view<long double, 4> const result(all.result.data(), {n[0], n[1], n[2], x.value_extents[3]}),
        weights_of(all.weights.data(), {n[0], n[1], n[2], x.key_extents[2]});
    view<long double, 3> const lse_of(all.lse.data(), {n[0], n[1], n[2]});
    if constexpr (has_log_sum)
        reference::attend_in<Real>(spec, query, key, value, result, weights(weights_of), lse(lse_of));
    else reference::attend_in<Real>(spec, query, key, value, result, weights(weights_of));
    return all;
}

/// Which pairs of a sequence the mask lets take part.
template <auto Make>
std::vector<bool> visible_by_mask(drawn_sequence const& s, index_t heads, index_t features) {
    auto const predicate = Make().mask.predicate();
    reference::index_environment<double> at{{}, s.batch, 0, 0, 0, s.queries, s.keys, features};
    std::vector<bool> all;
    for (at.head = 0; at.head < heads; ++at.head)
        for (at.query = 0; at.query < s.queries; ++at.query)
            for (at.key = 0; at.key < s.keys; ++at.key) all.push_back(evaluate(predicate, at));
    return all;
}

/// A normalizer that leaves the scores.
template <auto Make>
auto only_scores() {
    auto const spec = Make();
    return attention(spec.project, spec.score, spec.mask, unnormalized, weighted_sum);
}

template <std::size_t Number, auto Make = composed<Number>>
definition definition_of() {
    using spec = decltype(Make());
    using normalizer = std::remove_cvref_t<decltype(normalizer_of(std::declval<spec>().normalize))>;
    constexpr index_t chosen = std::is_same_v<normalizer, hardmax_t>                  ? 1
                             : std::is_same_v<normalizer, decltype(top_k_softmax(4))> ? 4
                                                                                      : 0;
    definition by{text(Make()),
                  log_sum_normalizer<normalizer>,
                  Number % count_of<rescorings> == 2,
                  linear_aggregator<std::remove_cvref_t<decltype(std::declval<spec>().aggregate)>>,
                  chosen,
                  by_reference<float, Make>,
                  by_reference<double, Make>,
                  by_reference<long double, Make>,
                  nullptr,
                  visible_by_mask<Make>};
    if constexpr (chosen > 0) by.scores = by_reference<double, only_scores<Make>>;
    return by;
}

// --- engines ---

/// The types of a call.
template <class Query, class Key = Query, class Value = Key, class Result = Query>
struct stored_in {
    using query = Query;
    using key = Key;
    using value = Value;
    using result = Result;
    static constexpr bool in_double = std::is_same_v<compute_type<Query, Key, Value, Result>, double>;
    using real = std::conditional_t<in_double, double, float>;
};

enum class layout { dense, paged, ragged };
enum class also { nothing, log_sums, weights };

template <class T>
auto pages_of(drawn_rows const& rows, drawn_pages const& pages, index_t batches, index_t batch) {
    view<std::int32_t const, 2> table(pages.table->data(), {batches, pages.per_sequence});
    if (batch >= 0) table = {table.data + batch * pages.per_sequence, {1, pages.per_sequence}};
    return paged(view<T const, 4>(rows.as<T>()), table);
}

/// One call of the engine.
template <std::size_t Number, class Types, class Arch, layout Layout, also Also>
void run_composed(engine_call const& c) {
    auto const spec = composed<Number>();
    auto const& x = c.operands;
    threads const workers(c.workers);
    using key = typename Types::key;
    using value = typename Types::value;
    using real = typename Types::real;
    auto const result = batch_of(c.result.as<typename Types::result>(), c.batch);
    view<typename Types::query const, 4> const query = batch_of(x.query->as<typename Types::query>(), c.batch);
    auto const run = [&](auto const&... before) {
        auto const call = [&](auto const& keys, auto const& values) {
            auto const attend_with = [&](auto const&... extra) {
                attend_on<Arch>(workers, c.scratch, before..., spec, query, keys, values, result, extra...);
            };
            if constexpr (Also == also::weights) {
                attend_with(weights(batch_of(c.weights->as<real>(), c.batch)));
            } else if constexpr (Also == also::log_sums) {
                auto const rows = batch_of(c.lse->as<real>(), c.batch);
                attend_with(lse(view<real, 3>(rows.data, {rows.extent(0), rows.extent(1), rows.extent(3)},
                                              {rows.stride(0), rows.stride(1), 1})));
            } else {
                attend_with();
            }
        };
        if constexpr (Layout == layout::paged)
            call(pages_of<key>(*x.key, x.key_pages, x.n.batches, c.batch),
                 pages_of<value>(*x.value, x.value_pages, x.n.batches, c.batch));
        else
            call(view<key const, 4>(batch_of(x.key->as<key>(), c.batch)),
                 view<value const, 4>(batch_of(x.value->as<value>(), c.batch)));
    };
    if constexpr (Layout == layout::ragged) {
        auto const offsets_of = [](guarded<index_t> const& offsets) {
            return view<index_t const, 1>(offsets.data(), {offsets.size()});
        };
        auto const queries = offsets_of(*x.query_offsets), keys = offsets_of(*x.key_offsets);
        run(ragged(queries, keys));
    } else {
        run();
    }
}

template <class T>
constexpr std::string_view name_of() {
    constexpr std::string_view names[] = {"float", "double", "bfloat16", "float16", "int8"};
    return names[static_cast<int>(stored_as<T>)];
}

/// One specification on operands of some types against its definition.
template <std::size_t Number, class Types, class Arch = arch::best, layout Layout = layout::dense,
          also Also = also::nothing>
void try_composed() {
    static auto const by = definition_of<Number>();
    engine e{std::string(name_of<typename Types::query>()) + ", " + std::string(name_of<typename Types::key>()) + ", "
                 + std::string(name_of<typename Types::value>()) + " to "
                 + std::string(name_of<typename Types::result>()) + " on " + std::string(Arch::name)
                 + (Layout == layout::paged    ? ", paged"
                    : Layout == layout::ragged ? ", ragged"
                                               : "")
                 + (Also == also::weights    ? ", with weights"
                    : Also == also::log_sums ? ", with lse"
                                             : ""),
             {stored_as<typename Types::query>, stored_as<typename Types::key>, stored_as<typename Types::value>,
              stored_as<typename Types::result>, Layout == layout::paged, Layout == layout::ragged},
             Types::in_double,
             Also == also::log_sums,
             Also == also::weights,
             run_composed<Number, Types, Arch, Layout, Also>};
    try_engine(by, e);
}

/// One composition in every width of vectors, float and double: without whole rows, and with them.
template <std::size_t Number>
void check() {
    using normalizer = std::remove_cvref_t<decltype(normalizer_of(composed<Number>().normalize))>;
    constexpr auto streamed = log_sum_normalizer<normalizer> ? also::log_sums : also::nothing;
    [&]<class... Arch>(std::type_identity<std::tuple<Arch...>>) {
        (try_composed<Number, stored_in<float>, Arch, layout::dense, streamed>(), ...);
        (try_composed<Number, stored_in<float>, Arch, layout::dense, also::weights>(), ...);
    }(std::type_identity<lane_widths>{});
    try_composed<Number, stored_in<double>, arch::best, layout::dense, streamed>();
    try_composed<Number, stored_in<double>, arch::best, layout::dense, also::weights>();
}

}  // namespace compositions
