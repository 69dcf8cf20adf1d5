// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The keys that may have a weight, of some queries over pieces of the keys of a sequence: lists of scores and values,
// in the order of the keys, which are joined and finished where the queries are.
#pragma once

#include <fovea/driver/run/executor.hpp>
#include <fovea/parts/candidate_list.hpp>
#include <fovea/parts/gathered.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::driver {

/// The lists of some runs of the queries of a sequence.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class Out, class... Asked>
class candidate_rows : part_of_call<T, Arch, A, Q, K, V, Out, Asked...> {
    using base = part_of_call<T, Arch, A, Q, K, V, Out, Asked...>;
    using typename base::spec_type;
    using call = typename gathered_attention<T, Arch, A, Q, K, V, Out, Asked...>::call;
    using normalizing = typename call::normalizing;
    using of_row = typename normalizing::of_row;
    using row_type = kernel::packed_row<T, Arch, of_row, numbered_keys>;
    static constexpr index_t width = kernel::pack<T, Arch>::lanes;

public:
    /// Whether lists say all that results need.
    static constexpr bool lists = limited_support_normalizer<of_row> && call::is_linear && !call::spec::reweights
                               && !call::operands::looks_at_rows
                               && !gathered_attention<T, Arch, A, Q, K, V, Out, Asked...>::shows_all;

    /// What is sent of a row, if its list is as long as is usual.
    static index_t row_bytes(A const& a, operand_shapes const& whole) {
        index_t size = 64;
        if constexpr (requires { normalizer_of(a.normalize).support_size(); })
            size = normalizer_of(a.normalize).support_size();
        return list::bytes_of(size, whole.features());
    }

    candidate_rows(A const& a, operand_shapes const& whole, view<Q const, 4> const& query,
                   std::vector<position_run> const& runs)
        : base(a, whole), a_(a), query_(query), runs_(runs) {
        rows_.resize(static_cast<std::size_t>(query.extent(0) * query.extent(1) * query.extent(2)));
    }

    /// The keys of some pieces that may have a weight are added to the lists. Pieces are computed side by side where
    /// there are enough of them, otherwise one after the other with all workers on each.
    template <class Executor, class Pieces>
    void take(Executor const& executor, workspace& scratch, Pieces const& pieces, view<K const, 4> const& key,
              view<V const, 4> const& value) {
        std::vector<std::vector<list>> of_pieces(pieces.size());
        auto const take_piece = [&](auto const& workers, workspace& memory, std::size_t p) {
            auto& found = of_pieces[p];
            found.resize(rows_.size());
            for (auto const& run : runs_)
                if (this->sees(run, pieces[p]))
                    take_run(workers, memory, run, pieces[p], rows_at(key, pieces[p]), rows_at(value, pieces[p]),
                             found);
        };
        if (auto const count = static_cast<index_t>(pieces.size());
            executor.workers() > 1 && count >= executor.workers()) {
            scratch.prepare_nested(executor.workers());
            executor.run(count, [&](index_t p, index_t worker) {
                scratch.nested(worker).prepare(1);
                take_piece(runner_of(serial), scratch.nested(worker), static_cast<std::size_t>(p));
            });
        } else {
            for (std::size_t p = 0; p < pieces.size(); ++p) take_piece(executor, scratch, p);
        }
        for (auto const& found : of_pieces)
            for (std::size_t i = 0; i < found.size(); ++i) rows_[i].append(found[i]);
    }

    /// What has no weight is dropped, and the keys of several lists are put in order.
    void prune() {
        for (auto const& run : runs_) {
            zeros_for_tables const zeros{spare_, this->whole().compared()};
            auto const spec = this->spec_of(run.first, 0, zeros);
            for_rows_of(run,
                        [&](kernel::row_facts const& facts, list& row) { prune_row(normalizer_at(spec, facts), row); });
        }
    }

    /// Writes the results.
    void finish(view<Out, 4> const& out, std::tuple<Asked...> const& asked) {
        auto const bound = this->bind_outputs(query_, asked);
        for (auto const& run : runs_) {
            zeros_for_tables const zeros{spare_, this->whole().compared()};
            auto const spec = this->spec_of(run.first, 0, zeros);
            auto const outputs = this->outputs_of(run, bound);
            auto const to = rows_at(out, run);
            for_rows_of(run, [&](kernel::row_facts const& facts, list& row) {
                finish_row(normalizer_at(spec, facts), facts, row, to, outputs);
            });
        }
    }

    /// The bytes of the lists of `count` positions from one of the query's on, and a copy of them.
    index_t packed_bytes(index_t first, index_t count) const {
        index_t bytes = 0;
        for_positions(first, count, [&](std::size_t row) { bytes += list::bytes_of(rows_[row].size(), features()); });
        return bytes;
    }
    std::byte* pack(index_t first, index_t count, std::byte* to) const {
        for_positions(first, count, [&](std::size_t row) { to = rows_[row].pack(to); });
        return to;
    }
    /// The counterpart of pack: what comes is added to the lists.
    std::byte const* unpack(index_t first, index_t count, std::byte const* from) {
        for_positions(first, count, [&](std::size_t row) { from = rows_[row].unpack(features(), from); });
        return from;
    }

private:
    using list = candidate_list<T, V>;

    /// The output that takes the scores of a piece.
    struct listing {
        candidate_rows const* rows;
        std::vector<list>* found;
        spec_type const* spec;
        position_run run, piece;
        view<V const, 4> value;

        template <class Row>
        void scores(row_place const& at, Row const& row) const {
            if constexpr (std::is_same_v<typename Row::value_type, T>) rows->add(*this, at, row);
        }
    };

    index_t features() const { return this->whole().features(); }
    std::size_t number_of(index_t batch, index_t head, index_t place) const {
        return static_cast<std::size_t>((batch * query_.extent(1) + head) * query_.extent(2) + place);
    }
    kernel::row_facts facts_of(row_place const& at) const {
        return {at.batch, at.head, at.query, this->whole().queries(), this->whole().keys(), query_.extent(3)};
    }
    static decltype(auto) normalizer_at(spec_type const& spec, kernel::row_facts const& facts) {
        return normalizer_of_row(spec.normalize, facts_of_row<T, Arch>{facts});
    }
    template <class F>
    void for_rows_of(position_run const& run, F const& f) {
        for (index_t b = 0; b < query_.extent(0); ++b)
            for (index_t h = 0; h < query_.extent(1); ++h)
                for (index_t n = 0; n < run.count; ++n) f(facts_of({b, h, n}), rows_[number_of(b, h, run.place + n)]);
    }
    template <class F>
    void for_positions(index_t first, index_t count, F const& f) const {
        for (index_t b = 0; b < query_.extent(0); ++b)
            for (index_t h = 0; h < query_.extent(1); ++h)
                for (index_t n = 0; n < count; ++n) f(number_of(b, h, first + n));
    }

    template <class Executor>
    void take_run(Executor const& executor, workspace& scratch, position_run const& run, position_run const& piece,
                  view<K const, 4> const& key, view<V const, 4> const& value, std::vector<list>& found) const {
        zeros_for_tables const zeros{scratch.shared(), this->whole().compared()};
        auto const spec = this->spec_of(run.first, piece.first, zeros);
        attention const plain{a_.project, a_.score, a_.mask, no_key_wins{}, core_of(a_.aggregate)};
        auto const part = of_part(plain, {run.first, piece.first, this->whole().queries(), this->whole().keys()});
        auto no_features = value;
        no_features.extents[3] = 0;
        auto const query = rows_at(query_, run);
        using outputs = std::tuple<listing>;
        using part_operands = operands<Q, view<K const, 4>, view<V const, 4>, T, outputs>;
        part_operands const on{query,
                               key,
                               no_features,
                               {nullptr, {query.extent(0), query.extent(1), query.extent(2), 0}},
                               outputs{listing{this, &found, &spec, run, piece, value}},
                               this->exact()};
        using of_part_type = std::remove_const_t<decltype(part)>;
        using part_call = plan::call_of<T, Arch, of_part_type, part_operands>;
        typename part_call::spec const lowered =
            plan::lower_attention(part, [&](auto const& expression) { return with_elements(expression, zeros); });
        run_dense<part_call>(plan::make_plan<T, Arch, of_part_type, part_operands>(on.sizes()),
                             in_scopes_of<part_call>(executor), scratch, lowered, on);
    }

    template <class Row>
    void add(listing const& from, row_place const& at, Row const& row) const {
        T const limit = static_cast<T>(normalizer_at(*from.spec, facts_of(at)).support_limit(row));
        auto& to = (*from.found)[number_of(at.batch, at.head, from.run.place + at.query)];
        index_t const key_head = at.head / (query_.extent(1) / from.value.extent(1));
        for (index_t i = 0; i < row.size(); ++i) {
            if (row[i] < limit || row[i] == excluded<T>) continue;
            index_t const key = row.key(i);
            to.keys.push_back(from.piece.first + key);
            to.scores.push_back(row[i]);
            auto const* const value = from.value.place(at.batch, key_head, key, index_t{0});
            for (index_t c = 0; c < features(); ++c) to.values.push_back(value[c * from.value.stride(3)]);
        }
    }

    static row_type row_of(std::vector<T>& scores, std::vector<index_t> const& keys) {
        return {scores.data(), static_cast<index_t>(scores.size()) / width, {keys.data()}};
    }

    template <class Normalizer>
    void prune_row(Normalizer const& normalizer, list& row) const {
        auto scores = row.padded_scores(width);
        auto const keys = row.padded_keys(width);
        T const limit = static_cast<T>(normalizer.support_limit(row_of(scores, keys)));
        std::vector<std::size_t> kept;
        for (std::size_t i = 0; i < row.keys.size(); ++i)
            if (!(scores[i] < limit) && scores[i] != excluded<T>) kept.push_back(i);
        std::sort(kept.begin(), kept.end(), [&](std::size_t i, std::size_t j) { return keys[i] < keys[j]; });
        row = row.part(kept, features());
    }

    template <class Normalizer, class Outputs>
    void finish_row(Normalizer const& normalizer, kernel::row_facts const& facts, list const& row,
                    view<Out, 4> const& out, Outputs const& outputs) const {
        auto weights = row.padded_scores(width);
        auto const keys = row.padded_keys(width);
        typename normalizing::state state{};
        normalizing::whole(normalizer, state, row_of(weights, keys));
        std::vector<T> sums(static_cast<std::size_t>(features()), T{0});
        V const* value = row.values.data();
        for (std::size_t i = 0; i < row.keys.size(); ++i, value += features())
            for (index_t c = 0; c < features() && weights[i] != 0; ++c)
                sums[static_cast<std::size_t>(c)] += weights[i] * static_cast<T>(value[c]);
        for (index_t c = 0; c < features(); ++c)
            out(facts.batch, facts.head, facts.q_idx, c) = rounded_to<Out>(sums[static_cast<std::size_t>(c)]);
        show_state(outputs, facts, normalizer, state, normalizing::log_sum(normalizer, state));
    }

    A const& a_;
    view<Q const, 4> query_;
    std::vector<position_run> runs_;
    std::vector<list> rows_;  // (batch, head, position of the query)
    arena spare_;
};

}  // namespace fovea::FOVEA_SET::driver
