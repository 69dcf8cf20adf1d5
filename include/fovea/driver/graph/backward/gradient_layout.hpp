// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operands of a gradient over listed keys: what their types say, how their rows lie, and pairs of one position with
// listed positions of the other side.
#pragma once

#include <fovea/driver/graph/listed_rows.hpp>
#include <fovea/expr/backpropagate.hpp>
#include <fovea/expr/operators.hpp>
#include <fovea/kernel/backward/body_gradient.hpp>
#include <fovea/kernel/backward/scatter.hpp>
#include <fovea/kernel/pairs.hpp>
#include <fovea/plan/backward/score_gradient.hpp>
#include <fovea/plan/lowered_spec.hpp>
#include <fovea/plan/traversal.hpp>

namespace fovea::FOVEA_SET::kernel {

/// One query with its keys, or one key with the queries that see it: `Fixed` is the side of the one.
template <side Fixed, class T, class Arch, class Places>
struct listed_environment : uniform_names<T, Arch> {
    index_t fixed;             // its position
    std::int32_t const* list;  // the positions of the others
    index_t listed;
    index_t const* edges;  // their numbers, where an expression reads them
    head_lanes const& layout;
    index_t pair;                // of the first lane
    pack<T, Arch> const* parts;  // as they are numbered in Places

    using uniform_names<T, Arch>::operator();
    FOVEA_INLINE auto operator()(q_idx_t) const {
        if constexpr (Fixed == side::query) return fixed;
        else return positions();
    }
    FOVEA_INLINE auto operator()(kv_idx_t) const {
        if constexpr (Fixed == side::key) return fixed;
        else return positions();
    }
    FOVEA_INLINE auto operator()(head_t) const { return heads_of_lanes<T, Arch>(layout, pair); }
    FOVEA_INLINE auto operator()(edge_t) const {
        wide_pack<T, Arch> numbers;
        index_t l = pair;
        for (auto& number : numbers.lane) number = edges[std::min(layout.key(l++), listed - 1)];
        return numbers;
    }
    template <plan::part Kind, std::size_t I>
    FOVEA_INLINE auto operator()(plan::reference<Kind, I>) const {
        return parts[Places::template first<Kind> + static_cast<index_t>(I)];
    }
    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        static_assert(sizeof...(Index) == Rank, "fovea: a table outside sum() needs an index for each of its axes");
        return look_up<T, Arch>(table, at...);
    }

private:
    FOVEA_INLINE auto positions() const {
        alignas(64) typename index_pack<T, Arch>::array_type all;
        index_t l = pair;
        for (auto& each : all) each = list[std::min(layout.key(l++), listed - 1)];
        return index_pack<T, Arch>::load(all.data());
    }
};

/// Takes the gradients of the parts of pairs, and those of tables where `Tables` takes them.
template <class T, class Arch, class Places, class Tables>
struct part_cotangents {
    struct cotangent_kinds {
        template <class E>
        static constexpr bool takes = [] {
            if constexpr (is_parameter<E>) return Tables::template takes<E>;
            else return plan::refers_to_a_part<E>;
        }();
    };
    pack<T, Arch>* amounts;
    Tables const& tables;

    template <class Names, plan::part Kind, std::size_t I>
    FOVEA_INLINE void name(Names const&, pack<T, Arch> const& amount, plan::reference<Kind, I>) const {
        auto& sum = amounts[Places::template first<Kind> + static_cast<index_t>(I)];
        sum = sum + amount;
    }
    template <class Names, class Element, int Rank, class... Index>
    FOVEA_INLINE void table(Names const&, pack<T, Arch> const& amount, view<Element const, Rank> const& table,
                            Index const&... index) const {
        if (view<T, Rank> const to = tables.sums(table); to.data != nullptr) add_at<T, Arch>(to, amount, index...);
    }
};

/// backpropagate with pairs in lanes.
template <class T, class Arch, class E, class Names, class Cotangents>
FOVEA_INLINE void backpropagate_in_lanes(E const& e, Names const& names, pack<T, Arch> const& amount,
                                         Cotangents const& cotangents) {
    if constexpr (chooses_integer<E>) backpropagate(e, narrow_environment<T, Arch, Names>{names}, amount, cotangents);
    else backpropagate(e, names, amount, cotangents);
}

}  // namespace fovea::FOVEA_SET::kernel

namespace fovea::FOVEA_SET::driver {

/// The operands of a gradient over listed keys, and the rows that gradients are added to; those that nobody asks for
/// have no memory.
template <class T, class Q, class KeyRows, class ValueRows, class D>
struct listed_gradient_operands {
    view<Q const, 4> query;
    KeyRows key;
    ValueRows value;
    view<D const, 4> d_result;
    view<T, 4> d_query, d_key, d_value;
    static constexpr bool exact = false;

    /// The same with other gradients of the result.
    template <class Other>
    listed_gradient_operands<T, Q, KeyRows, ValueRows, Other> with_results(view<Other const, 4> const& other) const {
        return {query, key, value, other, d_query, d_key, d_value};
    }

    index_t batches() const { return query.extent(0); }
    index_t group() const { return query.extent(1) / key.extent(1); }
    index_t queries() const { return query.extent(2); }
    index_t keys() const { return key.extent(2); }
    index_t features() const { return query.extent(3); }
    index_t key_features() const { return key.extent(3); }
    index_t value_features() const { return value.extent(3); }
};

/// Properties of the gradient of a call with listed keys, by its types.
template <class T, class Arch, class Spec, class Operands, class Tables>
struct listed_gradient_call {
    using number = T;
    using architecture = Arch;
    using spec = Spec;
    using operands = Operands;
    using tables = Tables;
    using parts = std::remove_cvref_t<decltype(Spec::score.parts)>;
    using places = plan::part_places<parts>;
    using pointwise = std::remove_cvref_t<decltype(Spec::score.pointwise)>;
    static constexpr bool masks = !std::is_same_v<std::remove_const_t<decltype(Spec::predicate)>, always_t>;
    /// Weights are not exponentials that the sums of their row give again: the rule of the normalizer makes them.
    static constexpr bool by_rule =
        Spec::reweights || !carries_max_and_sum<std::remove_const_t<decltype(Spec::normalize)>, T>;
    /// The weight of each edge, and the gradients of the parts of its score that a key has, are kept from one pass to
    /// the other, where the second could not compute them again, or would gather rows of tables for it.
    static constexpr bool keeps_edges = by_rule || plan::any_pair_reads_row_of_edge<decltype(parts::pairs)>;
    static constexpr bool numbers_edges = uses<pointwise, edge_t>
                                       || uses<std::remove_const_t<decltype(Spec::reweight)>, edge_t>
                                       || uses<std::remove_const_t<decltype(Spec::predicate)>, edge_t>
                                       || plan::any_pair_uses<decltype(parts::pairs), edge_t>;
};

/// How the rows of a call lie, which decides what vectors hold.
template <class Call>
struct listed_layout {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    kernel::head_lanes lanes;
    bool scores_joined, values_joined;                       // heads fill vectors of sums
    bool queries_joined, keys_joined, value_columns_joined;  // heads are joined in rows of gradients

    listed_layout(typename Call::spec const& spec, typename Call::operands const& x) : lanes(x.query.extent(1)) {
        index_t const features = x.features(), columns = x.value_features();
        bool const single = x.group() == 1;
        bool const alike = single && features == x.key_features() && head_stride(x.query) == head_stride(x.key);
        bool of_score = alike, of_terms = single;
        auto const joins = [&](auto const& body) { return kernel::joins_heads(body, lanes.heads, features); };
        plan::for_each_part(spec.score.parts.products,
                            [&](auto const& p) { of_score = of_score && joins(p.of_query) && joins(p.of_key); });
        plan::for_each_part(spec.score.parts.pairs, [&](auto const& p) { of_score = of_score && joins(p.body); });
        plan::for_each_part(spec.score.parts.rows, [&](auto const& t) { of_terms = of_terms && joins(t.expression); });
        plan::for_each_part(spec.score.parts.keys, [&](auto const& t) { of_terms = of_terms && joins(t.expression); });
        scores_joined = of_score && kernel::fills_vectors<T, Arch>(features, head_stride(x.query), lanes);
        bool const columns_join =
            alike && of_score && of_terms && kernel::joins_columns<T, Arch>(features, head_stride(x.query), lanes);
        queries_joined = columns_join && lies_joined(x.d_query, features);
        keys_joined = columns_join && lies_joined(x.d_key, features);
        bool const values_alike = single && head_stride(x.value) == head_stride(x.d_result);
        values_joined = values_alike && kernel::fills_vectors<T, Arch>(columns, head_stride(x.value), lanes);
        value_columns_joined = values_alike && lies_joined(x.d_value, columns)
                            && kernel::joins_columns<T, Arch>(columns, head_stride(x.value), lanes);
    }

private:
    static bool lies_joined(view<T, 4> const& rows, index_t features) {
        return rows.data == nullptr || rows.stride(1) == features;
    }
};

}  // namespace fovea::FOVEA_SET::driver
