// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One attention over the processes of an MPI communicator, each with positions of its own, also within the sequences of
// a ragged batch.
#pragma once

#include <fovea/core/prologue.hpp>

#ifndef __cpp_exceptions
#error "fovea: processes agree on what went wrong by exceptions: compile without -fno-exceptions"
#endif

#include <fovea/interop/mpi/explain.hpp>
#include <fovea/interop/mpi/run.hpp>
#include <fovea/spec/part/ragged.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// The sentences for what is not computed within a ragged batch.
template <attention_spec A, class... Arguments>
constexpr bool is_sound_ragged() {
    constexpr bool listless = !plan::lists_keys<A>;
    static_assert(listless, "fovea: a mask that lists keys cannot be used in a ragged call");
    constexpr bool outputs = [] {
        auto const sliced = []<class Argument>(std::type_identity<Argument>) {
            if constexpr (extra_output<Argument>)
                return requires(Argument const& asked, sequence_place const& at) { asked.of_sequence(at); }
                    && !requires(Argument const& asked) { asked.begin_sequences(operand_shapes{}); };
            else return true;
        };
        return (sliced(std::type_identity<std::remove_cvref_t<Arguments>>{}) && ...);
    }();
    static_assert(outputs,
                  "fovea: over ranks, ragged has lse, past_state and present_state beside the result; ask for others "
                  "by sequence");
    constexpr bool views =
        (!(is_paged<std::remove_cvref_t<Arguments>> || loaded_rows<std::remove_cvref_t<Arguments>>) && ...);
    static_assert(views,
                  "fovea: over ranks the keys and values of a ragged batch are views: pages and scales by blocks are "
                  "those of one sequence");
    return listless && outputs && views;
}

/// Rows that lie at the positions of a list, each of a sequence of its own.
struct rows_of_sequences {
    index_t const* positions;
    index_t const* sequences;
    index_t longest, count;
    constexpr head_place operator()(head_place at) const {
        at.batch = sequences[at.position];
        at.position = positions[at.position];
        return at;
    }
    constexpr extents_t<4> operator()(extents_t<4> rows) const { return {count, rows[1], longest, rows[3]}; }
};

/// The maps of heads have the positions and the sequences of lists.
struct mapped_in_sequences : fovea::detail::of_maps_alone {
    std::vector<index_t> query_positions, query_sequences, key_positions, key_sequences;
    index_t longest_query, longest_key, count;

    rows_of_sequences queries() const { return {query_positions.data(), query_sequences.data(), longest_query, count}; }
    rows_of_sequences keys() const { return {key_positions.data(), key_sequences.data(), longest_key, count}; }
};

/// The part of some runs that lies in a sequence, counted from its first position.
inline runs runs_within(runs const& all, index_t first, index_t count) {
    runs own;
    for (auto const& run : all) {
        index_t const begin = std::max(run.first, first), end = std::min(run.first + run.count, first + count);
        if (begin < end) own.push_back({begin - first, end - begin, run.place + begin - run.first});
    }
    return own;
}

/// The sequences of a ragged batch; what one_sequence has.
template <class Index>
struct ragged_sequences {
    ragged_t<Index> all;

    /// A stand-in for the offsets.
    std::uint64_t told() const {
        std::uint64_t stands = 14695981039346656037U;
        auto const add = [&](auto const& offsets) {
            for (index_t i = 0; i < offsets.extent(0); ++i)
                stands = (stands ^ static_cast<std::uint64_t>(offsets(i))) * 1099511628211U;
        };
        add(all.query_offsets);
        add(all.key_offsets);
        return stands;
    }
    index_t states(operand_shapes const&) const { return all.sequences(); }

    template <class T, attention_spec A>
    operand_shapes check(A const& a, operand_shapes const& sources) const {
        all.memory([](auto const& region) { fovea::detail::require_sound(region); });
        all.check(sources.query[2], sources.key[2]);
        for (auto const& [rows, name] :
             {std::pair(sources.query, "query"), std::pair(sources.key, "key"), std::pair(sources.value, "value")})
            if (rows[0] != 1)
                raise_error(shape_error(name, " has ", fovea::detail::counted(rows[0], "batch element"),
                                        "; a ragged call takes one, with its sequences packed one after another"));
        operand_shapes shapes{};
        if (all.sequences() == 0) shapes = projected_shapes(a, sources.query, sources.key, sources.value);
        for (index_t i = 0; i < all.sequences(); ++i) {
            auto const at = all[i];
            shapes = sources;
            shapes.query[2] = at.queries;
            shapes.key[2] = shapes.value[2] = at.keys;
            auto const one = numbered_at(a, i);
            shapes = projected_shapes(one, shapes.query, shapes.key, shapes.value);
            check_tables<T>(one, shapes);
            if constexpr (is_recurrent<A>)
                if (is_causal_attention<A> && at.queries != at.keys)
                    raise_error(shape_error("a running state goes along queries and keys together: query has ",
                                            fovea::detail::counted(at.queries, "position"), ", key has ", at.keys));
        }
        shapes.query[2] = sources.query[2];
        shapes.key[2] = shapes.value[2] = sources.key[2];
        return shapes;
    }

    mapped_in_sequences mapped(global_sequence const& whole, std::vector<index_t> const& queries,
                               std::vector<index_t> const& keys) const {
        mapped_in_sequences how{{}, queries, {}, keys, {}, 0, 0, all.sequences()};
        auto const find = [](view<Index const, 1> const& offsets, std::vector<index_t>& positions,
                             std::vector<index_t>& sequences, index_t& longest) {
            auto const* const first = offsets.data;
            for (index_t i = 1; i < offsets.extent(0); ++i)
                longest = std::max(longest, static_cast<index_t>(offsets(i) - offsets(i - 1)));
            for (auto& position : positions) {
                auto const* const after = std::upper_bound(first, first + offsets.extent(0), position,
                                                           [](index_t p, Index o) { return p < index_t{o}; });
                sequences.push_back(after - first - 1);
                position -= static_cast<index_t>(*(after - 1));
            }
        };
        static_cast<void>(whole);
        find(all.query_offsets, how.query_positions, how.query_sequences, how.longest_query);
        find(all.key_offsets, how.key_positions, how.key_sequences, how.longest_key);
        return how;
    }

    /// The sequences.
    std::vector<global_sequence> parts(workspace& scratch, global_sequence const& whole) const {
        scratch.prepare_nested(1);
        auto const held = joined_pieces(whole.pieces);
        std::vector<global_sequence> sequences;
        for (index_t i = 0; i < all.sequences(); ++i) {
            auto const at = all[i];
            auto one = whole;
            one.shapes.query[2] = at.queries;
            one.shapes.key[2] = one.shapes.value[2] = at.keys;
            one.queries = runs_within(whole.queries, at.first_query, at.queries);
            one.keys = runs_within(whole.keys, at.first_key, at.keys);
            for (auto& of_rank : one.queries_of_ranks) of_rank = runs_within(of_rank, at.first_query, at.queries);
            one.pieces.clear();
            for (auto const& piece : held)
                for (auto const& part : cut(runs_within({piece}, at.first_key, at.keys), whole.longest))
                    one.pieces.push_back({part, piece.owner});
            sequences.push_back(one);
        }
        return sequences;
    }
    static constexpr bool several = true;
    /// f(sequence, its specification, its outputs, workspace)
    template <attention_spec A, class... Asked, class F>
    void for_each(workspace& scratch, std::vector<global_sequence> const& parts, A const& a,
                  std::tuple<Asked...> const& asked, F const& f) const {
        for (index_t i = 0; i < all.sequences(); ++i)
            f(parts[static_cast<std::size_t>(i)], numbered_at(a, i),
              std::apply([&](auto const&... each) { return std::make_tuple(output_of(each, all[i])...); }, asked),
              scratch.nested(0));
    }

private:
    template <attention_spec A>
    auto numbered_at(A const& a, index_t number) const {
        return rewritten(a, fovea::detail::numbered{number, all.sequences(), all[number].first_query},
                         [](auto const& aggregate) { return aggregate; });
    }
    /// A state for each sequence; other outputs have the rows of the rank.
    template <class Asked>
    static Asked output_of(Asked const& asked, sequence_place const& at) {
        if constexpr (concerns_state<decltype(asked.bind(operand_shapes{}))>) return asked.of_sequence(at);
        else return asked;
    }
};

/// attend over ranks, within one sequence or within those of a ragged batch.
template <class Arch, executor Executor, class Queries, class Keys, class Within, attention_spec A, class... Arguments>
void attend_over(Executor const& executor, workspace& scratch, ranks_t<Queries, Keys> const& ranks,
                 Within const& within, A const& a, Arguments&&... arguments) {
    if constexpr (fovea::detail::is_call<Arguments...>()) {
        attention_over<A> const of{a};
        using call_type = decltype(bind_call(of, arguments...));
        if constexpr (!is_ill_formed<call_type>) {
            if constexpr (goes_over_ranks<A, call_type>() && driver::runs_in_parts<Executor>()) {
                decltype(auto) runner = driver::runner_of(executor);
                require_mpi(runner.workers() > 1);
                MPI_Comm comm = own_communicator::of(ranks.comm);
                std::optional<workspace::call> alone;
                auto call = bound_on_all_ranks(comm, [&] {
                    auto own = bind_call(of, arguments...);
                    alone.emplace(scratch);
                    scratch.prepare(runner.workers());
                    return own;
                });
                run_over_ranks<Arch>(runner, scratch, comm, ranks, within, a, call);
            }
        }
    }
}

}  // namespace fovea::FOVEA_SET::mpi::detail

namespace fovea::FOVEA_SET {

/// attend: the attention of a specification over the ranks of a communicator; see mpi::ranks.
template <class Arch, executor Executor, class Queries, class Keys, attention_spec A, class... Arguments>
void attend_on(Executor const& executor, workspace& scratch, mpi::ranks_t<Queries, Keys> const& ranks, A const& a,
               Arguments&&... arguments) {
    mpi::detail::attend_over<Arch>(executor, scratch, ranks, mpi::detail::one_sequence{}, a,
                                   std::forward<Arguments>(arguments)...);
}

/// attend: the same within each sequence of a ragged batch, whose offsets are those of all positions, on all ranks.
template <class Arch, executor Executor, class Queries, class Keys, class Index, attention_spec A, class... Arguments>
void attend_on(Executor const& executor, workspace& scratch, mpi::ranks_t<Queries, Keys> const& ranks,
               ragged_t<Index> const& all, A const& a, Arguments&&... arguments) {
    if constexpr (mpi::detail::is_sound_ragged<A, Arguments...>())
        mpi::detail::attend_over<Arch>(executor, scratch, ranks, mpi::detail::ragged_sequences<Index>{all}, a,
                                       std::forward<Arguments>(arguments)...);
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
