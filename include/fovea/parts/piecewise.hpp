// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Some queries of a sequence against keys of it that come piece by piece: the indices of the specification are those of
// the whole sequence, and pieces that the mask leaves empty are not computed.
#pragma once

#include <fovea/parts/carried.hpp>
#include <fovea/parts/part_of_call.hpp>

#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::driver {

/// The attention of some queries of a sequence, run by run. Pieces of keys are taken in the order in which they come,
/// so results have the same bits wherever runs and pieces are cut alike.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class Out, class... Asked>
class piecewise_attention : part_of_call<T, Arch, A, Q, K, V, Out, Asked...> {
    using base = part_of_call<T, Arch, A, Q, K, V, Out, Asked...>;
    using typename base::operands_type;
    using typename base::outputs_type;
    using typename base::part_spec;

public:
    using call = plan::call_of<T, Arch, part_spec, operands_type>;

    /// `whole` has the extents of the sequence, `runs` those of its queries that `query` and `out` hold; no piece has
    /// more than `longest` keys.
    piecewise_attention(A const& a, operand_shapes const& whole, view<Q const, 4> const& query, view<Out, 4> const& out,
                        std::tuple<Asked...> const& asked, std::vector<position_run> const& runs, index_t longest)
        : base(a, whole), out_(out), outputs_(this->bind_outputs(query, asked)) {
        for (auto const& run : runs) {
            auto const rows = rows_at(query, run);
            rows_.push_back(
                {run, rows, rows_at(out, run), this->outputs_of(run, outputs_),
                 carried_rows<T>(plan::make_plan<T, Arch, part_spec, operands_type>(this->sizes_of(rows, longest)))});
        }
    }

    /// The next piece of keys and values; `first` is the position of the first of them.
    template <class Executor>
    void take(Executor const& executor, workspace& scratch, index_t first, view<K const, 4> const& key,
              view<V const, 4> const& value) {
        if (key.extent(2) == 0) return;
        for (auto& rows : rows_)
            if (this->sees(rows.run, {first, key.extent(2)})) run(executor, scratch, rows, first, key, value, false);
    }

    /// After the last piece: results are written.
    template <class Executor>
    void finish(Executor const& executor, workspace& scratch) {
        for (auto& rows : rows_) run(executor, scratch, rows, 0, this->no_keys(), this->no_values(), true);
        finish_outputs<T, A>(executor, outputs_, out_);
    }

private:
    struct run_rows {
        position_run run;
        view<Q const, 4> query;
        view<Out, 4> out;
        outputs_type outputs;
        carried_rows<T> carried;
    };

    template <class Executor>
    void run(Executor const& executor, workspace& scratch, run_rows& rows, index_t first, view<K const, 4> const& key,
             view<V const, 4> const& value, bool ends) {
        zeros_for_tables const zeros{scratch.shared(), this->whole().compared()};
        auto const spec = this->spec_of(rows.run.first, first, zeros);
        rows.carried.template take<call>(executor, scratch, spec,
                                         this->operands_of(rows.query, key, value, rows.out, rows.outputs), ends);
    }

    view<Out, 4> out_;
    outputs_type outputs_;
    std::vector<run_rows> rows_;
};

}  // namespace fovea::FOVEA_SET::driver
