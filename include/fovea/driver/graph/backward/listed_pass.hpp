// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradient passes over listed keys: one position with all that it is listed with, for a range of positions.
#pragma once

#include <fovea/driver/graph/backward/gradient_layout.hpp>
#include <fovea/driver/graph/batch_rows.hpp>

#include <algorithm>
#include <span>

namespace fovea::FOVEA_SET::driver {

/// The rows that the gradients of one position are added to, by the heads of the queries; nullptr where nobody asks.
template <class T>
struct row_targets {
    T* first;
    index_t stride;  // from head to head
    key_head_of head_of;
    FOVEA_INLINE T* operator()(index_t head) const {
        return first == nullptr ? nullptr : first + head_of(head) * stride;
    }
};

/// The tables that terms of one side add to, and those that sums of pairs do.
template <class Tables>
struct pass_tables {
    Tables of_terms, of_pairs;
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
                   pass_tables<Tables> const& tables, index_t batch)
        : spec_(spec),
          x_(x),
          layout_(layout),
          tables_(tables.of_terms),
          tables_of_pairs_(tables.of_pairs),
          query_rows_(x.query, batch),
          d_rows_(x.d_result, batch),
          key_rows_(x.key, batch),
          value_rows_(x.value, batch),
          facts_(facts_of(x, batch, 0, 0)),
          other_scores_(other(x.query, x.key), batch, x.features()),
          other_values_(other(x.d_result, x.value), batch, x.value_features()) {}

    /// Goes on with another position; `numbers` are those of its edges.
    void begin(index_t position, std::span<std::int32_t const> listed, index_t const* numbers) {
        position_ = position;
        listed_ = listed;
        numbers_ = numbers;
        facts_.edges = numbers;
        if constexpr (of_query) facts_.q_idx = position;
    }
    index_t count() const { return std::ssize(listed_); }

    /// Prefetches the rows of another position.
    FOVEA_INLINE void prefetch_scores(index_t position) const {
        if constexpr (places::planes > 0) other_scores_.prefetch(position);
    }
    FOVEA_INLINE void prefetch_values(index_t position) const { other_values_.prefetch(position); }
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
                                                kernel::part_cotangents<T, Arch, places, tables>{amounts, to});
    }

    /// Adds to the rows of this position what the products and pairwise terms give them; `amounts` are (plane, pair).
    void add_planes(T const* amounts, index_t stride, row_targets<T> const& to) const {
        auto const pairs = score_pairs();
        auto const add = [&](auto const& body, auto const& over) {
            kernel::pair_amounts<T> const from{amounts, count(), layout_.lanes};
            amounts += stride;
            bool const joined = of_query ? layout_.queries_joined : layout_.keys_joined;
            auto const add_to = [&](auto const& tables) {
                kernel::feature_gradients<Which, T, Arch>(over, body, from, pairs, {x_.features(), x_.key_features()},
                                                          joined, to, tables);
            };
            constexpr bool adds_to_tables = reads_a_table<std::remove_cvref_t<decltype(body)>>
                                         && (of_query || uses<std::remove_cvref_t<decltype(body)>, kv_idx_t>);
            if constexpr (adds_to_tables)
                if (tables_of_pairs_.any()) return add_to(tables_of_pairs_);
            if (to.first != nullptr) add_to(no_tables{});
        };
        plan::for_each_part(spec_.score.parts.products, [&](auto const& p) { add(p.of_query * p.of_key, p.over); });
        plan::for_each_part(spec_.score.parts.pairs, [&](auto const& p) { add(p.body, p.over); });
    }
    /// Adds the weighted gradients of the results to the row of values.
    void add_values(T const* weights, row_targets<T> const& to) const {
        if (to.first == nullptr) return;
        kernel::feature_gradients<k_t, T, Arch>(
            all_of_key{}, placeholders::q * placeholders::k, kernel::pair_amounts<T>{weights, count(), layout_.lanes},
            value_pairs(), {x_.value_features(), x_.value_features()}, layout_.value_columns_joined, to, no_tables{});
    }
    /// Adds what the terms of this side give to the row of this position; `amounts` are (term, head lanes), and a
    /// vector more.
    void add_terms(T const* amounts, row_targets<T> const& to) const {
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
    /// No gradient of a table is summed: each is in the pass over the queries, but that of terms of keys, and of rows
    /// that keys have alone.
    struct no_tables {
        template <class E>
        static constexpr bool takes = false;
        template <class Element, int Rank>
        view<T, Rank> sums(view<Element const, Rank> const&) const {
            return {};
        }
    };
    FOVEA_INLINE auto row_of(row_targets<T> const& to) const {
        return [to](index_t head) FOVEA_LAMBDA { return to[head]; };
    }
    template <class Queries, class Keys>
    FOVEA_INLINE auto pairs_of(Queries const& queries, Keys const& keys) const {
        return [coordinates = facts_, position = position_, list = listed_.data(), queries, keys, key_head = key_head_](
                   index_t n, index_t head) FOVEA_LAMBDA {
            index_t const other = list[n], query = of_query ? position : other, key = of_query ? other : position;
            auto here = coordinates;
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

    template <class Q, class K>
    static auto const& other(Q const& query, K const& key) {
        if constexpr (of_query) return key;
        else return query;
    }

    /// One position beside itself, for its terms.
    FOVEA_INLINE auto itself() const {
        auto const make = [&](auto const& rows, auto const& head_of) {
            return [coordinates = facts_, position = position_, rows, head_of](index_t, index_t head) FOVEA_LAMBDA {
                auto here = coordinates;
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
    void add_term(E const& e, T const* amounts, row_targets<T> const& to) const {
        auto const pairs = itself();
        bool const joined = of_query ? layout_.queries_joined : layout_.keys_joined;
        index_t const features = of_query ? x_.features() : x_.key_features();
        if constexpr (is_node_of<operations::sum, E>)
            if (joined && decltype(features_of_sum(e))::takes_all)
                return kernel::feature_gradients<Which, T, Arch>(features_of_sum(e), get<0>(e),
                                                                 kernel::pair_amounts<T>{amounts, 1, layout_.lanes},
                                                                 pairs, {features, features}, joined, to, tables_);
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
                    [&](index_t) { return to(h); }, tables_);
            };
            backpropagate(e, names, amounts[h],
                          kernel::term_cotangents<T, Tables, decltype(features_of)>{tables_, features_of});
        }
    }

    typename Call::spec const& spec_;
    Operands const& x_;
    listed_layout<Call> const& layout_;
    Tables tables_, tables_of_pairs_;
    batch_rows<decltype(Operands::query)> query_rows_;
    batch_rows<decltype(Operands::d_result)> d_rows_;
    batch_rows<decltype(Operands::key)> key_rows_;
    batch_rows<decltype(Operands::value)> value_rows_;
    key_head_of key_head_{x_.group()};
    kernel::row_coordinates facts_;
    position_prefetch<std::conditional_t<of_query, decltype(Operands::key), decltype(Operands::query)>> other_scores_;
    position_prefetch<std::conditional_t<of_query, decltype(Operands::value), decltype(Operands::d_result)>>
        other_values_;
    index_t position_ = 0;
    std::span<std::int32_t const> listed_;
    index_t const* numbers_ = nullptr;
};

/// The numbers that the pass over the queries leaves to the pass over the keys: those of all heads, (number, head
/// lanes), at one place for each query, or for each edge.
template <class T>
struct kept_numbers {
    T* first;
    index_t size;  // of one place
    FOVEA_INLINE T* at(index_t place) const { return first + place * size; }
};

/// The base of both passes, whose vectors hold all heads of one edge, then those of the next.
template <class Call>
class listed_pass {
protected:
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Spec = typename Call::spec;
    using Operands = typename Call::operands;
    using places = typename Call::places;
    using vector = kernel::pack<T, Arch>;
    using groups = kernel::lane_groups_of<T, Arch>;
    static constexpr index_t width = vector::lanes;
    static constexpr index_t rows_ahead = 3;  // positions between prefetching their own rows and using them

    /// `bytes` are gathered for each edge, from one of `positions`.
    listed_pass(Spec const& spec, Operands const& x, index_t bytes, index_t positions)
        : specification(spec), operands(x), layout(spec, x), prefetches(prefetches_positions(bytes, positions)) {}

    /// The memory of one share.
    struct scratch_type {
        index_t pairs, period;
        T* weights;    // (pairs)
        T* gradients;  // (pairs) of weights, then of scores
        T* parts;      // (parts, pairs): their values, then their gradients
        T* terms;      // (terms of one side, period) of one position
        T* sums;       // (terms of one side, period)
        index_t* edges;

        scratch_type(kernel::head_lanes const& lanes, arena& memory, index_t longest)
            : pairs(round_up(lanes.pairs(longest), width) + width), period(lanes.common_period(width)) {
            weights = memory.template take<T>(pairs);
            gradients = memory.template take<T>(pairs);
            parts = memory.template take<T>(places::all * pairs);
            terms = memory.template take<T>((places::rows + places::keys) * period);
            sums = memory.template take<T>((places::rows + places::keys + 1) * period);
            edges = memory.template take<index_t>(longest + width);
            std::fill_n(weights, pairs, T{0});
            std::fill_n(gradients, pairs, T{0});
            std::fill_n(parts, places::all * pairs, T{0});
        }
    };
    /// The most positions that one of [first, last) is listed with.
    template <class Listed>
    static index_t longest(Listed const& listed, index_t first, index_t last) {
        index_t most = 1;
        for (index_t i = first; i < last; ++i) most = std::max<index_t>(most, std::ssize(listed(i)));
        return most;
    }

    FOVEA_INLINE static void prefetch(kept_numbers<T> const& kept, index_t place) {
        T const* const numbers = kept.at(place);
        for (index_t c = 0; c < kept.size; c += line) __builtin_prefetch(numbers + c);
    }
    /// Calls f(edge) for the edges whose memory is prefetched beside a vector of pairs, of `edges` in all.
    template <class F>
    FOVEA_INLINE void for_edges_ahead(index_t pair, index_t n, index_t first_edge, index_t edges, F const& f) const {
        auto const& lanes = layout.lanes;
        if (!prefetches || lanes.head(pair) != 0) return;
        index_t const from = first_edge + edges_ahead, last = std::min(lanes.key(pair + width - 1) + 1, n);
        for (index_t e = from + lanes.key(pair), end = std::min(from + last, edges); e < end; ++e) f(e);
    }

    /// The terms of one side of a position, repeated for all lanes.
    FOVEA_INLINE void repeat(T const* terms, index_t stride, index_t count, index_t position,
                             scratch_type const& here) const {
        index_t const heads = layout.lanes.padded_heads;
        for (index_t t = 0; t < count; ++t)
            for (index_t l = 0; l < here.period; l += width)
                groups::repeated(terms + t * stride + position * heads + l, heads)
                    .store(here.terms + t * here.period + l);
    }
    /// A vector of them.
    FOVEA_INLINE void take_terms(vector* parts, index_t count, scratch_type const& here, index_t pair) const {
        for (index_t t = 0; t < count; ++t)
            parts[t] = vector::load(here.terms + t * here.period + (pair & (here.period - 1)));
    }

    FOVEA_INLINE void add_up(scratch_type const& here, vector const* amounts, index_t terms, index_t pair) const {
        for (index_t t = 0; t < terms; ++t) {
            T* const sum = here.sums + t * here.period + (pair & (here.period - 1));
            (vector::load(sum) + amounts[t]).store(sum);
        }
    }
    /// The sums of terms, (term, head lanes) one after the other.
    void join_lanes(scratch_type const& here, index_t terms) const {
        index_t const heads = layout.lanes.padded_heads;
        for (index_t t = 0; t < terms; ++t)
            for (index_t l = 0; l < here.period; l += width)
                kernel::store_as<T, Arch>(
                    kernel::sum_over_groups<T, Arch>(vector::load(here.sums + t * here.period + l), heads),
                    here.sums + t * heads + l, std::min(heads, width));
    }

    /// The rows of one position, for each head of the queries, which are set to zero where they are touched first.
    FOVEA_INLINE row_targets<T> targets(view<T, 4> const& rows, index_t b, index_t position, key_head_of head_of,
                                        bool begin) const {
        if (rows.data == nullptr) return {nullptr, 0, head_of};
        T* const first = rows.place(b, index_t{0}, position, index_t{0});
        index_t const features = rows.extent(3), joined = rows.stride(1) == features ? rows.extent(1) : 1;
        for (index_t h = 0; begin && h < rows.extent(1); h += joined)
            std::fill_n(first + h * rows.stride(1), joined * features, T{0});
        return {first, rows.stride(1), head_of};
    }

    Spec const& specification;
    Operands const& operands;
    listed_layout<Call> const layout;
    bool const prefetches;  // rows are short, and too many for the caches

private:
    static constexpr index_t line = cache_line / index_t{sizeof(T)};
};

}  // namespace fovea::FOVEA_SET::driver
