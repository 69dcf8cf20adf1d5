// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Some queries of a sequence against keys of it that come piece by piece: the indices of the specification are those of
// the whole sequence, and pieces that the mask leaves empty are not computed.
#pragma once

#include <fovea/driver/dense/carried.hpp>
#include <fovea/driver/empty_tables.hpp>
#include <fovea/plan/lowered_spec.hpp>
#include <fovea/spec/exact_integers.hpp>
#include <fovea/spec/of_part.hpp>
#include <fovea/spec/ragged.hpp>

#include <tuple>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::driver {

/// The rows of a run.
template <class T>
view<T, 4> rows_at(view<T, 4> const& all, position_run const& run) {
    return {all.place(index_t{0}, index_t{0}, run.place, index_t{0}),
            {all.extent(0), all.extent(1), run.count, all.extent(3)},
            all.strides};
}

/// What a mask says of all heads and batch elements of a call, for some queries and some keys of its sequence.
template <class T, attention_spec A>
truth coverage_of(A const& a, operand_shapes const& whole, position_run const& queries, position_run const& keys) {
    return truth(bound<T>(a.mask.predicate(), box{{0, whole.batches() - 1},
                                                  {0, whole.heads() - 1},
                                                  {queries.first, queries.first + queries.count - 1},
                                                  {keys.first, keys.first + keys.count - 1},
                                                  whole.queries(),
                                                  whole.keys(),
                                                  whole.compared()}));
}

/// The attention of some queries of a sequence, run by run. Pieces of keys are taken in the order in which they come,
/// so results have the same bits wherever runs and pieces are cut alike.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class Out, class... Asked>
class piecewise_attention {
    using part_spec = decltype(of_part(std::declval<A const&>(), part_place{}));
    using outputs_type = std::tuple<decltype(std::declval<Asked const&>().bind(operand_shapes{}))...>;
    using operands_type = operands<Q, view<K const, 4>, view<V const, 4>, Out, outputs_type>;

public:
    using call = plan::call_of<T, Arch, part_spec, operands_type>;

    /// `whole` has the extents of the sequence, `runs` those of its queries that `query` and `out` hold; no piece has
    /// more than `longest` keys.
    piecewise_attention(A const& a, operand_shapes const& whole, view<Q const, 4> const& query, view<Out, 4> const& out,
                        std::tuple<Asked...> const& asked, std::vector<position_run> const& runs, index_t longest)
        : attention_(a), whole_(whole), exact_([&] {
              if constexpr (sizeof(T) == 4) return needs_exact_integers<T>(a, whole);
              else return false;
          }()) {
        for (auto const& run : runs) {
            auto shapes = whole;
            shapes.query[2] = run.count;
            auto const rows = rows_at(query, run);
            auto sizes = operands_type{rows, no_keys(), no_values(), {}, {}, exact_}.sizes();
            sizes.keys = sizes.keys_per_run = sizes.values_per_run = longest;
            rows_.push_back({run, rows, rows_at(out, run),
                             std::apply(
                                 [&](auto const&... each) {
                                     return outputs_type(each.of_sequence(place_of_run(run, query)).bind(shapes)...);
                                 },
                                 asked),
                             carried_rows<T>(plan::make_plan<T, Arch, part_spec, operands_type>(sizes))});
        }
    }

    /// The next piece of keys and values; `first` is the position of the first of them.
    template <class Executor>
    void take(Executor const& executor, workspace& scratch, index_t first, view<K const, 4> const& key,
              view<V const, 4> const& value) {
        if (key.extent(2) == 0) return;
        for (auto& rows : rows_)
            if (!coverage_of<T>(attention_, whole_, rows.run, {first, key.extent(2)}).never())
                run(executor, scratch, rows, first, key, value, false);
    }

    /// After the last piece: results are written.
    template <class Executor>
    void finish(Executor const& executor, workspace& scratch) {
        for (auto& rows : rows_) run(executor, scratch, rows, 0, no_keys(), no_values(), true);
    }

private:
    struct run_rows {
        position_run run;
        view<Q const, 4> query;
        view<Out, 4> out;
        outputs_type outputs;
        carried_rows<T> carried;
    };

    static sequence_place place_of_run(position_run const& run, view<Q const, 4> const& query) {
        sequence_place at;
        at.first_query = run.place;
        at.queries = run.count;
        at.all_queries = query.extent(2);
        return at;
    }
    view<K const, 4> no_keys() const { return {nullptr, {whole_.batches(), whole_.key_heads(), 0, whole_.key[3]}}; }
    view<V const, 4> no_values() const { return {nullptr, {whole_.batches(), whole_.key_heads(), 0, whole_.value[3]}}; }

    template <class Executor>
    void run(Executor const& executor, workspace& scratch, run_rows& rows, index_t first, view<K const, 4> const& key,
             view<V const, 4> const& value, bool ends) {
        auto const part = of_part(attention_, {rows.run.first, first, whole_.queries(), whole_.keys()});
        zeros_for_tables const zeros{scratch.shared(), whole_.compared()};
        typename call::spec const spec =
            plan::lower_attention(part, [&](auto const& expression) { return with_elements(expression, zeros); });
        operands_type const of_run{rows.query, key, value, rows.out, rows.outputs, exact_};
        rows.carried.template take<call>(executor, scratch, spec, of_run, ends);
    }

    A const& attention_;
    operand_shapes whole_;
    bool exact_;
    std::vector<run_rows> rows_;
};

}  // namespace fovea::FOVEA_SET::driver
