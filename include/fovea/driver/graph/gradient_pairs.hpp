// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What both gradient passes over listed keys are made of: one position with all that it is listed with.
#pragma once

#include <fovea/driver/arena.hpp>
#include <fovea/driver/graph/batch_rows.hpp>
#include <fovea/driver/graph/listed_rows.hpp>
#include <fovea/driver/graph/side_terms.hpp>
#include <fovea/kernel/body_gradient.hpp>
#include <fovea/kernel/listed_pairs.hpp>
#include <fovea/plan/call_types.hpp>

#include <algorithm>
#include <span>

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

    index_t batches() const { return query.extent(0); }
    index_t group() const { return query.extent(1) / key.extent(1); }
    index_t queries() const { return query.extent(2); }
    index_t keys() const { return key.extent(2); }
    index_t features() const { return query.extent(3); }
    index_t key_features() const { return key.extent(3); }
    index_t value_features() const { return value.extent(3); }
};

/// What the types of the gradient of a call with listed keys say of it.
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
    static constexpr bool numbers_edges = uses<pointwise, edge_t>
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

/// The pairs of one position, of the side `Fixed`, with all positions that it is listed with.
template <kernel::side Fixed, class Call>
class gradient_pairs {
public:
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using vector = kernel::pack<T, Arch>;
    using places = typename Call::places;
    using Operands = typename Call::operands;
    using Tables = typename Call::tables;
    using Which = std::conditional_t<Fixed == kernel::side::query, q_t, k_t>;
    static constexpr index_t width = vector::lanes;
    static constexpr bool of_query = Fixed == kernel::side::query;

    gradient_pairs(typename Call::spec const& spec, Operands const& x, listed_layout<Call> const& layout,
                   Tables const& tables, index_t batch)
        : spec_(spec),
          x_(x),
          layout_(layout),
          tables_(tables),
          query_rows_(x.query, batch),
          d_rows_(x.d_result, batch),
          key_rows_(x.key, batch),
          value_rows_(x.value, batch),
          facts_(facts_of(x, batch, 0, 0)) {}

    /// Goes on with another position; `numbers` are those of its edges.
    void begin(index_t position, std::span<std::int32_t const> listed, index_t const* numbers) {
        position_ = position;
        listed_ = listed;
        numbers_ = numbers;
        facts_.edges = numbers;
        if constexpr (of_query) facts_.q_idx = position;
    }
    index_t count() const { return std::ssize(listed_); }
    std::span<std::int32_t const> listed() const { return listed_; }

    /// The products and pairwise terms of a vector of pairs.
    FOVEA_INLINE void compare(vector* parts, index_t pair) const {
        auto const pairs = score_pairs();
        auto const sum = [&](auto const& body, auto const& over) FOVEA_LAMBDA {
            return kernel::head_sums_over<T, Arch>(over, body, layout_.lanes, pair, count(), pairs,
                                                   {x_.features(), x_.key_features()}, layout_.scores_joined);
        };
        plan::for_each_part(spec_.score.parts.products,
                            [&](auto const& p) { *parts++ = sum(p.of_query * p.of_key, p.over); });
        plan::for_each_part(spec_.score.parts.pairs, [&](auto const& p) { *parts++ = sum(p.body, p.over); });
    }
    /// The gradients of the weights of a vector of pairs.
    FOVEA_INLINE vector weight_gradients(index_t pair) const {
        return kernel::head_sums<T, Arch>(placeholders::q * placeholders::k, layout_.lanes, pair, count(),
                                          value_pairs(), x_.value_features(), layout_.values_joined);
    }

    FOVEA_INLINE auto names(vector const* parts, index_t pair) const {
        return kernel::listed_environment<Fixed, T, Arch, places>{{facts_}, position_,     listed_.data(), count(),
                                                                  numbers_, layout_.lanes, pair,           parts};
    }
    /// The scores of a vector of pairs; those that take no part are excluded.
    FOVEA_INLINE vector scores(vector const* parts, index_t pair) const {
        auto const at = names(parts, pair);
        auto score = kernel::value_in_lanes<T, Arch>(spec_.score.pointwise, at);
        if constexpr (Call::masks)
            score = select(kernel::mask_in_lanes<T, Arch>(spec_.predicate, at), score, vector(excluded<T>));
        auto const& lanes = layout_.lanes;
        if (index_t const left = lanes.pairs(count()) - pair; left < width)
            score = select(vector::iota() < vector(left), score, vector(excluded<T>));
        if (lanes.padded_heads != lanes.heads)
            score = select(kernel::as_pack<T, Arch>(at(head_t{})) < vector(lanes.heads), score, vector(excluded<T>));
        return score;
    }
    /// The gradients of the parts, from those of the scores.
    FOVEA_INLINE void part_gradients(vector* amounts, vector const* parts, vector const& d_scores, index_t pair) const {
        using tables = std::conditional_t<of_query, Tables, no_tables>;
        tables const to = [&] {
            if constexpr (of_query) return tables_;
            else return no_tables{};
        }();
        for (index_t i = 0; i < places::all; ++i) amounts[i] = vector(T{0});
        kernel::backpropagate_in_lanes<T, Arch>(spec_.score.pointwise, names(parts, pair), d_scores,
                                                kernel::part_leaves<T, Arch, places, tables>{amounts, to});
    }

    /// Adds to the rows of this position what the products and pairwise terms give them; `amounts` are (plane, pair).
    void add_planes(T const* amounts, index_t stride, T* const* to) const {
        auto const pairs = score_pairs();
        auto const add = [&](auto const& body, auto const& over) {
            kernel::pair_amounts<T> const from{amounts, count(), layout_.lanes};
            amounts += stride;
            if constexpr (of_query)
                kernel::feature_gradients<q_t, T, Arch>(over, body, from, pairs, {x_.features(), x_.key_features()},
                                                        layout_.queries_joined, row_of(to), tables_);
            else
                kernel::feature_gradients<k_t, T, Arch>(over, body, from, pairs, {x_.features(), x_.key_features()},
                                                        layout_.keys_joined, row_of(to), no_tables{});
        };
        plan::for_each_part(spec_.score.parts.products, [&](auto const& p) { add(p.of_query * p.of_key, p.over); });
        plan::for_each_part(spec_.score.parts.pairs, [&](auto const& p) { add(p.body, p.over); });
    }
    /// Adds the weighted gradients of the results to the row of values.
    void add_values(T const* weights, T* const* to) const {
        kernel::feature_gradients<k_t, T, Arch>(all_of_key{}, placeholders::q * placeholders::k,
                                                kernel::pair_amounts<T>{weights, count(), layout_.lanes}, value_pairs(),
                                                {x_.value_features(), x_.value_features()},
                                                layout_.value_columns_joined, row_of(to), no_tables{});
    }
    /// Adds what the terms of this side give to the row of this position; `amounts` are (term, head lanes), and a
    /// vector more.
    void add_terms(T const* amounts, T* const* to) const {
        auto const terms = [&]() -> auto const& {
            if constexpr (of_query) return spec_.score.parts.rows;
            else return spec_.score.parts.keys;
        };
        plan::for_each_part(terms(), [&](auto const& t) {
            add_term(t.expression, amounts, to);
            amounts += layout_.lanes.padded_heads;
        });
    }

private:
    /// No gradient of a table is summed: each is in the pass over the queries, except that of terms of keys.
    struct no_tables {
        template <class E>
        static constexpr bool takes = false;
        template <class Element, int Rank>
        view<T, Rank> sums(view<Element const, Rank> const&) const {
            return {};
        }
    };
    FOVEA_INLINE auto row_of(T* const* to) const {
        return [to](index_t head) FOVEA_LAMBDA { return to[head]; };
    }
    FOVEA_INLINE index_t query_at(index_t n) const {
        return of_query ? position_ : index_t{listed_[static_cast<std::size_t>(n)]};
    }
    template <class Queries, class Keys>
    FOVEA_INLINE auto pairs_of(Queries const& queries, Keys const& keys) const {
        return [facts = facts_, position = position_, list = listed_.data(), queries, keys, key_head = key_head_](
                   index_t n, index_t head) FOVEA_LAMBDA {
            index_t const other = list[n], query = of_query ? position : other, key = of_query ? other : position;
            auto here = facts;
            here.head = head;
            here.q_idx = query;
            auto const* const of_query_row = queries(head, query);
            auto const* const of_key_row = keys(key_head(head), key);
            return kernel::pair_rows<std::remove_cvref_t<decltype(*of_query_row)>,
                                     std::remove_cvref_t<decltype(*of_key_row)>>{here, key, n, of_query_row,
                                                                                 of_key_row};
        };
    }
    FOVEA_INLINE auto score_pairs() const { return pairs_of(query_rows_, key_rows_); }
    FOVEA_INLINE auto value_pairs() const { return pairs_of(d_rows_, value_rows_); }

    /// One position beside itself, for its terms.
    FOVEA_INLINE auto itself() const {
        auto const make = [&](auto const& rows, auto const& head_of) {
            return [facts = facts_, position = position_, rows, head_of](index_t, index_t head) FOVEA_LAMBDA {
                auto here = facts;
                here.head = head;
                here.q_idx = of_query ? position : 0;
                auto const* const row = rows(head_of(head), position);
                using element = std::remove_cvref_t<decltype(*row)>;
                return kernel::pair_rows<element, element>{here, position, 0, row, row};
            };
        };
        if constexpr (of_query) return make(query_rows_, key_head_of(1));
        else return make(key_rows_, key_head_);
    }
    template <class E>
    void add_term(E const& e, T const* amounts, T* const* to) const {
        auto const pairs = itself();
        bool const joined = of_query ? layout_.queries_joined : layout_.keys_joined;
        index_t const features = of_query ? x_.features() : x_.key_features();
        if constexpr (is_node_of<operations::sum, E>)
            if (joined && decltype(features_of_sum(e))::takes_all)
                return kernel::feature_gradients<Which, T, Arch>(
                    features_of_sum(e), get<0>(e), kernel::pair_amounts<T>{amounts, 1, layout_.lanes}, pairs,
                    {features, features}, joined, row_of(to), tables_);
        kernel::head_lanes const one(1);
        for (index_t h = 0; h < layout_.lanes.heads; ++h) {
            auto const at = pairs(0, h);
            using element = std::remove_cvref_t<decltype(*at.query)>;
            kernel::single_environment<T, Arch, element, element> const names{
                {at.row, at.position}, at.query, at.key, features, features};
            auto const features_of = [&](T amount, auto const& body, auto const& over) {
                auto const of_head = [&](index_t, index_t) { return at; };
                kernel::feature_gradients<Which, T, Arch>(
                    over, body, kernel::pair_amounts<T>{&amount, 1, one}, of_head, {features, features}, false,
                    [&](index_t) { return to[h]; }, tables_);
            };
            backpropagate(e, names, amounts[h],
                          kernel::term_leaves<T, Tables, decltype(features_of)>{tables_, features_of});
        }
    }

    typename Call::spec const& spec_;
    Operands const& x_;
    listed_layout<Call> const& layout_;
    Tables tables_;
    batch_rows<decltype(Operands::query)> query_rows_;
    batch_rows<decltype(Operands::d_result)> d_rows_;
    batch_rows<decltype(Operands::key)> key_rows_;
    batch_rows<decltype(Operands::value)> value_rows_;
    key_head_of key_head_{x_.group()};
    kernel::row_facts facts_;
    index_t position_ = 0;
    std::span<std::int32_t const> listed_;
    index_t const* numbers_ = nullptr;
};

}  // namespace fovea::FOVEA_SET::driver
