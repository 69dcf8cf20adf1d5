// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Partial results (m, l, O) of some queries over chunks of the keys of a sequence, each computed where its keys are,
// merged along a binary tree over the chunks, and finished where the queries are.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/key_lanes_scores.hpp>
#include <fovea/driver/dense/key_lanes_sums.hpp>
#include <fovea/driver/dense/pass/online.hpp>
#include <fovea/parts/part_of_call.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

namespace fovea::FOVEA_SET::driver {

/// The chunks that have been merged into one partial result: pieces [first, first + size), of which the last need not
/// exist. `size` is a power of two, and divides `first`.
struct subtree {
    std::size_t first, size;
    int owner;
};

/// A merge: `from` goes into `to`, whose pieces come before.
struct merge_step {
    std::size_t to, from;
};

inline constexpr int no_owner = -1;

inline constexpr int several_holders = -2;

/// Appends the largest subtrees of one owner among some pieces, unless all of these have one, which is returned.
inline int find_subtrees(std::vector<int> const& owners, std::size_t first, std::size_t size,
                         std::vector<subtree>& found) {
    if (first >= owners.size()) return no_owner;
    if (size == 1) return owners[first];
    std::size_t const half = size / 2;
    int const left = find_subtrees(owners, first, half, found);
    auto const between = static_cast<std::ptrdiff_t>(found.size());
    int const right = find_subtrees(owners, first + half, half, found);
    if (left == right || right == no_owner) return left;
    if (left == no_owner) return right;
    if (left >= 0) found.insert(found.begin() + between, {first, half, left});
    if (right >= 0) found.push_back({first + half, half, right});
    return several_holders;
}

/// The largest subtrees whose pieces have one owner, in order; `owners` has that of each piece, or no_owner where
/// there is nothing to be merged.
inline std::vector<subtree> subtrees_of(std::vector<int> const& owners) {
    std::vector<subtree> found;
    auto const size = std::bit_ceil(owners.size());
    int const all = find_subtrees(owners, 0, size, found);
    if (all >= 0) found.push_back({0, size, all});
    return found;
}

/// Appends the merges of the partial results of a subtree, in their order: afterwards the first of them is the result.
/// `firsts` has the first piece of each partial result, in order, also of those outside the subtree.
inline void add_merges(std::vector<std::size_t> const& firsts, std::size_t first, std::size_t size,
                       std::vector<merge_step>& steps) {
    auto const from = [&](std::size_t piece) {
        return static_cast<std::size_t>(std::lower_bound(firsts.begin(), firsts.end(), piece) - firsts.begin());
    };
    std::size_t const half = size / 2, left = from(first), right = from(first + half), last = from(first + size);
    if (last - left < 2) return;
    add_merges(firsts, first, half, steps);
    add_merges(firsts, first + half, half, steps);
    if (left != right && right != last) steps.push_back({left, right});
}

/// Properties of a call whose partial results are merged, by its types: a key in each lane, so that what is left of a
/// row lies together.
template <class T, class Arch, class Spec, class Operands>
struct partial_call : plan::dense_call<T, Arch, Spec, Operands> {
    static constexpr bool may_take_query_lanes = false, packs_keys = true;
    static constexpr bool takes(plan::traversal by) { return by == plan::traversal::key_lanes; }
};

/// The steps of a row; its call is a dense_context.
template <class Call>
struct merged_partial {
    using T = typename Call::number;
    using normalizing = typename Call::normalizing;
    using state = typename normalizing::state;
    using row = partial_row<T>;

    /// Whether partial results can be merged, and sent.
    static constexpr bool merges = (Call::may_split_keys || Call::selects) && std::is_trivially_copyable_v<state>;

    /// After the keys of a piece: the value of a selected key is taken along.
    template <class Context>
    static void end_of_piece([[maybe_unused]] Context const& context,
                             [[maybe_unused]] kernel::row_coordinates const& coordinates,
                             [[maybe_unused]] row const& at) {
        if constexpr (Call::selects) {
            index_t const key = context.normalizer(coordinates).selected(state_of(at, 0));
            for (index_t c = 0; c < context.value_features; ++c)
                at.sums[c] =
                    key < 0
                        ? T{0}
                        : static_cast<T>(context.operands.value(
                              coordinates.batch, coordinates.head / context.tile_heads, key - context.first_key, c));
        }
    }

    /// The second of two becomes part of the first, whose keys come before.
    template <class Context>
    static void merge(Context const& context, kernel::row_coordinates const& coordinates, row two) {
        if constexpr (Call::selects) {
            decltype(auto) normalizer = context.normalizer(coordinates);
            index_t const before = normalizer.selected(state_of(two, 0));
            normalizer.merge(state_of(two, 0), state_of(two, 1));
            if (normalizer.selected(state_of(two, 0)) != before)
                std::copy_n(two.sums + two.sum_stride, two.width, two.sums);
        } else {
            two.ends = false;
            context.sums.merge_splits(context, coordinates, two);
        }
    }

    /// Writes the result.
    template <class Context>
    static void finish(Context const& context, kernel::row_coordinates const& coordinates, row const& at) {
        if constexpr (Call::selects) {
            auto* const to = context.operands.result.place(coordinates.batch, coordinates.head, coordinates.q_idx, 0);
            for (index_t c = 0; c < context.value_features; ++c)
                to[c] = static_cast<std::remove_cvref_t<decltype(*to)>>(at.sums[c]);
        } else {
            context.sums.merge_splits(context, coordinates, at);
        }
    }

private:
    static state& state_of(row const& at, index_t n) {
        return *reinterpret_cast<state*>(at.states + n * at.state_stride);
    }
};

/// Some runs of the queries of a sequence, and partial results for all of their rows, numbered from 0.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class Out, class... Asked>
class partial_rows : part_of_call<T, Arch, A, Q, K, V, Out, Asked...> {
    using base = part_of_call<T, Arch, A, Q, K, V, Out, Asked...>;
    using typename base::operands_type;
    using typename base::outputs_type;
    using typename base::spec_type;

public:
    using call = partial_call<T, Arch, spec_type, operands_type>;
    using state = typename call::normalizing::state;
    using base::sees;

    /// Whether partial results can be merged, and sent.
    static constexpr bool merges = merged_partial<call>::merges;
    /// The bytes of a row that are sent: its sums and its state.
    static constexpr index_t row_bytes(operand_shapes const& whole) {
        return whole.features() * static_cast<index_t>(sizeof(T)) + state_bytes;
    }

    /// `whole` has the extents of the sequence, `runs` those of its queries that `query` holds, one after the other;
    /// no piece has more than `longest` keys.
    partial_rows(A const& a, operand_shapes const& whole, view<Q const, 4> const& query,
                 std::vector<position_run> const& runs, index_t longest)
        : base(a, whole), query_(query), runs_(runs) {
        auto const sizes = this->sizes_of(query, longest);
        how_ = plan::make_key_lanes_plan<call>(sizes);
        how_.values = call::values_in_key_lanes(sizes, how_.keys == plan::reading::in_place);
        rows_ = query.extent(2) * how_.tile_heads;
        head_groups_ = whole.batches() * (whole.heads() / how_.tile_heads);
        features_ = whole.features();
        width_ = round_up(std::max<index_t>(features_, 1), blocking::lanes);
        // The last tile of a run writes as many rows as any, wherever the run begins.
        stride_ = round_up(rows_, blocking::rows) + (runs.size() > 1 ? index_t{blocking::rows} : 0);
    }

    std::vector<position_run> const& runs() const { return runs_; }

    /// Memory for `count` partial results.
    void allocate(arena& memory, std::size_t count) {
        auto const rows = static_cast<index_t>(count) * head_groups_ * stride_;
        states_ = memory.template take<char>(rows * state_bytes);
        sums_ = memory.template take<T>(rows * width_);
    }

    /// Partial result 0 becomes that of no keys.
    void clear() {
        index_t const rows = head_groups_ * stride_;
        std::fill_n(sums_, rows * width_, T{0});
        std::uninitialized_fill_n(reinterpret_cast<state*>(states_), rows, state{});
    }

    /// The partial results of one run of queries over some pieces of keys, in place of those from `to` on; what these
    /// have of the next run is lost.
    template <class Pieces, class Executor>
    void compute(Executor const& executor, workspace& scratch, std::size_t run_number, Pieces const& pieces,
                 view<K const, 4> const& key, view<V const, 4> const& value, std::size_t to = 0) {
        auto const& run = runs_[run_number];
        auto const query = rows_at(query_, run);
        zeros_for_tables const zeros{scratch.shared(), this->whole().compared()};
        std::vector<spec_type> specs;
        for (auto const& piece : pieces) specs.push_back(this->spec_of(run.first, piece.first, zeros));
        index_t const rows = run.count * how_.tile_heads, blocks = ceil_div(rows, blocking::block_rows);
        decltype(auto) inside = in_tile_configurations_of<call>(executor);
        inside.run(static_cast<index_t>(pieces.size()) * head_groups_ * blocks, [&](index_t task, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            auto const p = static_cast<std::size_t>(task / (head_groups_ * blocks));
            index_t const n = task / blocks % head_groups_, block = task % blocks;
            auto const operands = this->operands_of(query, rows_at(key, pieces[p]), rows_at(value, pieces[p]), {}, {});
            context_of<call, blocking> context(how_, specs[p], operands);
            context.first_key = pieces[p].first;
            dense_loop<online<blocking>> const loop(context);
            index_t const first = block * blocking::block_rows, last = std::min(first + blocking::block_rows, rows),
                          row = row_of(to + p, n, run.place * how_.tile_heads + first);
            loop.run_heads(memory, {n, n + 1}, {block, block + 1}, {0, loop.key_blocks()},
                           {sums_ + row * width_, states_ + row * state_bytes, state_bytes});
            for (index_t r = first; r < last; ++r)
                merged_partial<call>::end_of_piece(context, context.coordinates(context.head_group_at(n), r),
                                                   partial_at(row + r - first, 1, 0));
        });
    }

    /// Merges partial results in the order of the steps; of all runs, or of those from one up to another.
    template <class Executor>
    void merge(Executor const& executor, workspace& scratch, std::vector<merge_step> const& steps,
               std::size_t first_run = 0, std::size_t last_run = std::size_t(-1)) {
        for_runs(executor, scratch, {}, first_run, last_run,
                 [&](auto const& context, kernel::row_coordinates const& coordinates, index_t n, index_t row) {
                     for (auto const& [to, from] : steps)
                         merged_partial<call>::merge(context, coordinates,
                                                     partial_at(row_of(to, n, row), 2, row_of(from, n, row)));
                 });
    }

    /// Writes the results of partial result 0.
    template <class Executor>
    void finish(Executor const& executor, workspace& scratch, view<Out, 4> const& out,
                std::tuple<Asked...> const& asked) {
        auto const bound = this->bind_outputs(query_, asked);
        std::vector<outputs_type> outputs;
        for (auto const& run : runs_) outputs.push_back(this->outputs_of(run, bound));
        for_runs(executor, scratch, {out, outputs}, 0, runs_.size(),
                 [&](auto const& context, kernel::row_coordinates const& coordinates, index_t n, index_t row) {
                     merged_partial<call>::finish(context, coordinates, partial_at(row_of(0, n, row), 1, 0));
                 });
        finish_outputs<T, A>(executor, bound, out);
    }

    /// The bytes of one partial result for `count` positions.
    index_t bytes_for(index_t count) const { return head_groups_ * count * how_.tile_heads * row_bytes(this->whole()); }
    /// Copies a partial result for `count` positions of the queries; returns where the copy ends.
    std::byte* pack(std::size_t partial, index_t first, index_t count, std::byte* to) const {
        for_rows_of(partial, first, count, [&](T* sums, char* of_state) {
            std::memcpy(to, sums, static_cast<std::size_t>(sums_bytes()));
            std::memcpy(to + sums_bytes(), of_state, static_cast<std::size_t>(state_bytes));
            to += sums_bytes() + state_bytes;
        });
        return to;
    }
    /// The counterpart of pack.
    std::byte const* unpack(std::size_t partial, index_t first, index_t count, std::byte const* from) {
        for_rows_of(partial, first, count, [&](T* sums, char* of_state) {
            std::fill(std::copy_n(from, sums_bytes(), reinterpret_cast<std::byte*>(sums)),
                      reinterpret_cast<std::byte*>(sums + width_), std::byte{});
            std::memcpy(of_state, from + sums_bytes(), static_cast<std::size_t>(state_bytes));
            from += sums_bytes() + state_bytes;
        });
        return from;
    }

private:
    using blocking = key_lanes_of<call>;
    static constexpr auto state_bytes = static_cast<index_t>(sizeof(state));

    struct written {
        view<Out, 4> out{};
        std::vector<outputs_type> outputs{};
    };

    index_t sums_bytes() const { return features_ * static_cast<index_t>(sizeof(T)); }
    index_t row_of(std::size_t partial, index_t n, index_t row) const {
        return (static_cast<index_t>(partial) * head_groups_ + n) * stride_ + row;
    }
    partial_row<T> partial_at(index_t row, index_t count, index_t other) const {
        return {.sums = sums_ + row * width_,
                .states = states_ + row * state_bytes,
                .splits = count,
                .sum_stride = (other - row) * width_,
                .state_stride = (other - row) * state_bytes,
                .width = width_};
    }
    template <class F>
    void for_rows_of(std::size_t partial, index_t first, index_t count, F const& f) const {
        for (index_t n = 0; n < head_groups_; ++n)
            for (index_t r = first * how_.tile_heads; r < (first + count) * how_.tile_heads; ++r) {
                index_t const row = row_of(partial, n, r);
                f(sums_ + row * width_, states_ + row * state_bytes);
            }
    }

    /// f(call, coordinates of a row, head group, row) for all rows, run by run.
    template <class Executor, class F>
    void for_runs(Executor const& executor, workspace& scratch, written const& to, std::size_t first_run,
                  std::size_t last_run, F const& f) {
        zeros_for_tables const zeros{scratch.shared(), this->whole().compared()};
        for (std::size_t i = first_run; i < std::min(last_run, runs_.size()); ++i) {
            auto const& run = runs_[i];
            auto const spec = this->spec_of(run.first, 0, zeros);
            auto const operands = this->operands_of(rows_at(query_, run), this->no_keys(), this->no_values(),
                                                    to.outputs.empty() ? view<Out, 4>{} : rows_at(to.out, run),
                                                    to.outputs.empty() ? outputs_type{} : to.outputs[i]);
            context_of<call, blocking> const context(how_, spec, operands);
            index_t const first = run.place * how_.tile_heads;
            executor.run(head_groups_, [&](index_t n, index_t) {
                for (index_t r = 0; r < run.count * how_.tile_heads; ++r)
                    f(context, context.coordinates(context.head_group_at(n), r), n, first + r);
            });
        }
    }

    view<Q const, 4> query_;
    std::vector<position_run> runs_;
    plan::call_plan how_{};
    index_t rows_, head_groups_, features_, width_, stride_;  // of a head group; of all; of a row of sums
    T* sums_ = nullptr;                                       // (partial results, head groups, stride, width)
    char* states_ = nullptr;
};

/// The interface of parts/chunked.hpp, by partial results: 0 is that of all pieces so far, 1 that of the last one.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class Out, class... Asked>
class merged_attention {
    using rows_type = partial_rows<T, Arch, A, Q, K, V, Out, Asked...>;

public:
    using call = typename rows_type::call;

    merged_attention(A const& a, operand_shapes const& whole, view<Q const, 4> const& query, view<Out, 4> const& out,
                     std::tuple<Asked...> const& asked, std::vector<position_run> const& runs, index_t longest)
        : out_(out), asked_(asked), rows_(a, whole, query, runs, longest) {}

    template <class Executor>
    void take(Executor const& executor, workspace& scratch, index_t first, view<K const, 4> const& key,
              view<V const, 4> const& value) {
        begin(scratch);
        if (key.extent(2) == 0) return;
        std::vector<position_run> const piece{{first, key.extent(2), 0}};
        for (std::size_t i = 0; i < rows_.runs().size(); ++i) {
            if (!rows_.sees(rows_.runs()[i], piece.front())) continue;
            rows_.compute(executor, scratch, i, piece, key, value, 1);
            rows_.merge(executor, scratch, {{0, 1}}, i, i + 1);
        }
    }

    template <class Executor>
    void finish(Executor const& executor, workspace& scratch) {
        begin(scratch);
        rows_.finish(executor, scratch, out_, asked_);
    }

private:
    void begin(workspace& scratch) {
        if (begun_) return;
        begun_ = true;
        rows_.allocate(scratch.shared(), 2);
        rows_.clear();
    }

    view<Out, 4> out_;
    std::tuple<Asked...> asked_;
    rows_type rows_;
    bool begun_ = false;
};

}  // namespace fovea::FOVEA_SET::driver
