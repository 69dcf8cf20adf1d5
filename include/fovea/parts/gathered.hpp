// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Some queries of a sequence against keys of it that come piece by piece, where rows of scores are read whole: the
// pieces are kept until the last one is here.
#pragma once

#include <fovea/driver/run_call.hpp>
#include <fovea/parts/part_of_call.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::driver {

/// Whether some output is asked for scores that no mask has touched.
template <class A, class Outputs>
inline constexpr bool shows_all_scores = false;
template <class A, class... Bound>
inline constexpr bool shows_all_scores<A, std::tuple<Bound...>> = (takes_all_scores<Bound, A> || ...);

/// The interface of parts/chunked.hpp, for rows that are read whole. The keys and values of all positions have a
/// place; pieces that do not come are those that no query sees.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class Out, class... Asked>
class gathered_attention : part_of_call<T, Arch, A, Q, K, V, Out, Asked...> {
    using base = part_of_call<T, Arch, A, Q, K, V, Out, Asked...>;
    using typename base::operands_type;
    using typename base::outputs_type;
    using typename base::part_spec;

public:
    using call = plan::call_of<T, Arch, part_spec, operands_type>;
    static constexpr bool shows_all = shows_all_scores<A, outputs_type>;

    gathered_attention(A const& a, operand_shapes const& whole, view<Q const, 4> const& query, view<Out, 4> const& out,
                       std::tuple<Asked...> const& asked, std::vector<position_run> const& runs, index_t)
        : base(a, whole), a_(a), query_(query), out_(out), outputs_(this->bind_outputs(query, asked)), runs_(runs) {}

    template <class Executor>
    void take(Executor const&, workspace& scratch, index_t first, view<K const, 4> const& key,
              view<V const, 4> const& value) {
        allocate(scratch);
        copy(key, rows_at(keys_, {first, key.extent(2), first}));
        copy(value, rows_at(values_, {first, value.extent(2), first}));
    }

    template <class Executor>
    void finish(Executor const& executor, workspace& scratch) {
        allocate(scratch);
        for (auto const& run : runs_) {
            outputs_of_runs_.push_back(std::apply(
                [&](auto const&... each) { return outputs_type(output_of_run(each, run, scratch)...); }, outputs_));
            begin(outputs_of_runs_.back());
            run_rows(executor, scratch, run, outputs_of_runs_.back());
        }
        finish_outputs<T, A>(executor, outputs_, out_);
    }

    /// Of outputs that add over queries: what is asked for, which nothing has been written to, and the sums of run i,
    /// as many elements one after the other. f(target, sums).
    template <class F>
    void for_sums(F const& f) const {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (for_sums_of<I>(f), ...);
        }(std::make_index_sequence<sizeof...(Asked)>{});
    }

private:
    template <std::size_t I, class F>
    void for_sums_of(F const& f) const {
        if constexpr (reduces_over_queries<std::tuple_element_t<I, outputs_type>>)
            f(std::get<I>(outputs_), [&](std::size_t run) { return std::get<I>(outputs_of_runs_[run]).target.data; });
    }
    template <class Bound>
    static Bound output_of_run(Bound output, position_run const& run, workspace& scratch) {
        if constexpr (reduces_over_queries<Bound>) {
            using target = decltype(output.target);
            output.target = {
                scratch.shared().template take<std::remove_pointer_t<decltype(target::data)>>(output.target.size()),
                output.target.extents};
            return output;
        } else {
            return output_of_queries(output, run.place, run.count);
        }
    }
    static void begin(outputs_type const& outputs) {
        for_each_output(outputs, [&](auto const& output) {
            if constexpr (requires { output.begin(); }) output.begin();
        });
    }
    void allocate(workspace& scratch) {
        if (keys_.data != nullptr) return;
        auto const fresh = [&]<class Rows>(Rows& rows, extents_t<4> const& no_rows) {
            using element = typename Rows::value_type;
            auto extents = no_rows;
            extents[2] = this->whole().keys();
            rows = fresh_rows<element>(scratch, extents);
            std::fill_n(rows.data, rows.size(), element{});
        };
        fresh(values_, this->no_values().extents);
        fresh(keys_, this->no_keys().extents);
    }
    template <class Element>
    static void copy(view<Element const, 4> const& from, view<Element, 4> const& to) {
        for_rows(to, [&](Element* row, index_t b, index_t n, index_t h) {
            for (index_t c = 0; c < to.extent(3); ++c) row[c] = from(b, h, n, c);
        });
    }

    template <class Executor>
    void run_rows(Executor const& executor, workspace& scratch, position_run const& run, outputs_type const& outputs) {
        zeros_for_tables const zeros{scratch.shared(), this->whole().compared()};
        auto const operands = this->operands_of(rows_at(query_, run), keys_, values_, rows_at(out_, run), outputs);
        for_each_output(operands.outputs, [&](auto const& output) {
            if constexpr (takes_all_scores<std::remove_cvref_t<decltype(output)>, A>) {
                part_place const at{run.first, 0, this->whole().queries(), this->whole().keys()};
                auto const score =
                    fovea::detail::rewritten_score(output.score_of(a_), fovea::detail::counted_from_first{at});
                show_all_scores<T, Arch>(executor, scratch, with_elements(score.expression(), zeros),
                                         score_operands<Q, view<K const, 4>>{operands.query, keys_, operands.exact},
                                         output);
            }
        });
        run_dense<call>(plan::make_plan<T, Arch, part_spec, operands_type>(operands.sizes()),
                        in_tile_configurations_of<call>(executor), scratch, this->spec_of(run.first, 0, zeros),
                        operands);
    }

    A const& a_;
    view<Q const, 4> query_;
    view<Out, 4> out_;
    outputs_type outputs_;
    std::vector<outputs_type> outputs_of_runs_;
    std::vector<position_run> runs_;
    view<K, 4> keys_;  // (batch, key head, position of the sequence, feature)
    view<V, 4> values_;
};

}  // namespace fovea::FOVEA_SET::driver
