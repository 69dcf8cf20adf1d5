// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call of gradient with projections and finishes, made of passes: back through the finishes, the pass of the
// attention between them on projected operands, dense or over listed keys, and back through the projections.
#pragma once

#include <fovea/driver/layer/backward/project_gradient.hpp>
#include <fovea/driver/run_call.hpp>
#include <fovea/driver/run_gradient.hpp>
#include <fovea/spec/call/saved_rows.hpp>
#include <fovea/spec/part/ragged_gradient.hpp>
#include <fovea/spec/shapes.hpp>

#include <utility>

namespace fovea::FOVEA_SET::driver {

/// Memory for the gradients of `rows`, which were made of a source: heads lie side by side where its features were cut
/// into them, otherwise as those of the source. None where nobody asks.
template <class T, class Rows>
view<T, 4> room_for_gradients(workspace& scratch, Rows const& rows, bool cuts_heads, bool wanted) {
    auto const& n = rows.extents;
    if (!wanted) return {nullptr, n};
    if (!cuts_heads || n[1] == 1) return fresh_rows<T>(scratch, n);
    return split_heads(fresh_rows<T>(scratch, {n[0], 1, n[2], n[1] * n[3]}), n[1], "projection");
}

/// The gradients of the operands of an attention on heads, `a` with what stands around it taken away; those of tables
/// are added to `sums`. Operands that are one source through one matrix have their gradients added up in the same rows.
template <class T, class Arch, class Executor, class A, class Call, class OnHeads, class Bound, class Sums,
          class... Asked>
operand_gradients<T> run_listed_layer_pass(Executor const& executor, workspace& scratch, A const& a, Call const& call,
                                           OnHeads const& on_heads, Bound const& bound, Sums& sums,
                                           Asked const&... asked) {
    auto const& heads = bound.call;
    operand_gradients<T> rows;
    bool const asks_query = sums.template asks_rows<operand_role::query>(call.query),
               asks_key = sums.template asks_rows<operand_role::key>(call.key),
               asks_value = sums.template asks_rows<operand_role::value>(call.value);
    if constexpr (projection<decltype(a.project)>) {
        auto const rows_for = [&](auto const& of, auto const& map, auto const& source, bool asked_for) {
            bool const wanted = asked_for || asks_parameters(map, sums);
            return room_for_gradients<T>(scratch, of, source.extent(1) == 1, wanted);
        };
        auto const& p = a.project;
        bool const alike = heads.query.extents == heads.key.extents;
        rows.query = rows_for(heads.query, p.query, call.query, asks_query);
        rows.key = alike && same_projection(p.query, p.key, call.query, call.key)
                     ? rows.query
                     : rows_for(heads.key, p.key, call.key, asks_key);
        rows.value = same_projection(p.key, p.value, call.key, call.value)
                       ? rows.key
                       : rows_for(heads.value, p.value, call.value, asks_value);
    } else {
        rows = {room_for_gradients<T>(scratch, heads.query, false, asks_query),
                room_for_gradients<T>(scratch, heads.key, false, asks_key),
                room_for_gradients<T>(scratch, heads.value, false, asks_value)};
    }
    pass_sink<T, Asked...> targets(scratch, asked...);
    run_listed_passes<T, Arch>(executor, scratch, on_heads, bound, rows, targets);
    targets.add_tables_to(sums);
    return rows;
}

/// The attention of a specification on heads, without projections and finishes.
template <class A>
constexpr auto attention_on_heads(A const& a) {
    auto const aggregate = core_of(a.aggregate);
    return attention<unprojected_t, std::remove_cvref_t<decltype(a.score)>, std::remove_cvref_t<decltype(a.mask)>,
                     std::remove_cvref_t<decltype(a.normalize)>, std::remove_const_t<decltype(aggregate)>>{
        {}, a.score, a.mask, a.normalize, aggregate};
}

/// True where a gradient is made of passes: there is one for the attention on heads.
template <class T, class A>
constexpr bool has_layer_gradient() {
    return has_gradient_pass<T, decltype(attention_on_heads(std::declval<A const&>()))>();
}

/// The gradients of everything that a call reads, added to `sums`.
template <class T, class Arch, class Executor, class A, class Bound, class Sums, class... Asked>
void add_layer_gradient(Executor const& executor, workspace& scratch, A const& a, Bound const& bound, Sums& sums,
                        Asked const&... asked) {
    auto const& call = bound.call;
    auto const& shapes = call.shapes;
    auto const on_heads = attention_on_heads(a);
    using on_heads_type = std::remove_const_t<decltype(on_heads)>;
    [[maybe_unused]] constexpr int asked_for = asked_parts_of<on_heads_type>;
    auto const by_position = [&](index_t heads, index_t features) {
        auto const rows = fresh_rows<T>(scratch, {shapes.batches(), 1, shapes.queries(), heads * features});
        return heads == 1 ? rows : split_heads(rows, heads, "result");
    };
    auto const& d_result = bound.d_result;
    auto const d_out = by_position(d_result.extent(1), d_result.extent(3));
    copy_rows<T>(executor, d_result, d_out);
    with_projected<T, Arch>(executor, scratch, a, call, [&](auto const& q, auto const& k, auto const& v) {
        using query = std::remove_cvref_t<decltype(q)>;
        using keys = std::remove_cvref_t<decltype(k)>;
        using values = std::remove_cvref_t<decltype(v)>;
        view<T, 4> x{nullptr, {shapes.batches(), shapes.heads(), shapes.queries(), shapes.features()}};
        saved_rows<T> own;
        std::optional<row_state_views<T const>> saved;  // a call in wider numbers computes them again
        view<T const, 3> d_lse{};
        if constexpr (std::is_same_v<T, typename Bound::call_type::number>) {
            saved = bound.saved;
            d_lse = bound.d_lse;
        }
        if constexpr (gradients_read_result<std::remove_cvref_t<decltype(a.aggregate)>>()) {
            x = by_position(shapes.heads(), shapes.features());
            if (saved) {
                copy_rows<T>(executor, saved->result, x);
            } else {
                auto const compute = [&](auto const&... past) {
                    using forward = bound_call<query, keys, values, view<T, 4>, save_output<T>,
                                               std::remove_cvref_t<decltype(past)>...>;
                    forward const of_heads{q, k, v, x, {save(own), past...}, shapes};
                    kernel::on_usable<Arch, T, asked_for, element_of_rows<query>>(
                        [&]<class Usable>(std::type_identity<Usable>) {
                            attend_heads<T, Usable>(
                                attention_run<Executor, on_heads_type, forward>{executor, scratch, on_heads, of_heads},
                                q, k, v, x);
                        });
                };
                std::apply(compute, bound.past());
                if (own.complete()) saved = std::as_const(own).rows();
            }
        }
        auto d = finishes_gradient<T, Arch>(executor, scratch, a.aggregate, x, d_out, call.query, sums);
        if (d.extent(1) != shapes.heads()) d = split_heads(d, shapes.heads(), "result");
        using on_rows = bound_call<query, keys, values, view<T, 4>>;
        bound_gradient<on_rows, T, decltype(bound.states)> const of_heads{on_rows{q, k, v, d, {}, shapes}, d, saved,
                                                                          bound.states, d_lse};
        auto const of = [&] {
            if constexpr (plan::lists_keys<A>)
                return run_listed_layer_pass<T, Arch>(executor, scratch, a, call, on_heads, of_heads, sums, asked...);
            else return run_gradient_pass<T, Arch>(executor, scratch, on_heads, of_heads, {}, sums, asked...);
        }();
        if constexpr (projection<decltype(a.project)>) {
            auto const& p = a.project;
            add_project_gradient<operand_role::query, T, Arch>(executor, scratch, p.query, call.query, of.query, sums);
            if (of.key.data != of.query.data)  // else their gradients have been added up
                add_project_gradient<operand_role::key, T, Arch>(executor, scratch, p.key, call.key, of.key, sums);
            if (of.value.data != of.key.data)
                add_project_gradient<operand_role::value, T, Arch>(executor, scratch, p.value, call.value, of.value,
                                                                   sums);
        } else {
            sums.template add_rows<operand_role::query>(call.query, of.query.data);
            sums.template add_rows<operand_role::key>(call.key, of.key.data);
            sums.template add_rows<operand_role::value>(call.value, of.value.data);
        }
    });
}

/// The gradients of a call without projections and finishes, added to `sums`, or those of a layer.
template <class T, class Arch, class Executor, class A, class Bound, class Sums, class... Asked>
void add_gradient(Executor const& executor, workspace& scratch, A const& a, Bound const& bound, Sums& sums,
                  Asked const&... asked) {
    if constexpr (has_gradient_pass<T, A>()) {
        auto const d = run_gradient_pass<T, Arch>(executor, scratch, a, bound, {}, sums, asked...);
        sums.template add_rows<operand_role::query>(bound.call.query, d.query.data);
        sums.template add_rows<operand_role::key>(bound.call.key, d.key.data);
        sums.template add_rows<operand_role::value>(bound.call.value, d.value.data);
    } else {
        add_layer_gradient<T, Arch>(executor, scratch, a, bound, sums, asked...);
    }
}

/// run_layer_gradient: a call of gradient that has been bound, on a given architecture, executor and workspace; false
/// where its keys are listed and the passes over them do not take it.
template <class Arch, class Executor, class A, class Bound, class... Asked>
bool run_layer_gradient(Executor const& executor, workspace& scratch, A const& a, Bound const& bound,
                        Asked const&... asked) {
    decltype(auto) runner = runner_of(executor);
    auto const run = [&]<class T>(std::type_identity<T>) {
        with_gradient_sums<T>(
            runner, scratch, a, bound,
            [&](auto& sums) { add_layer_gradient<T, Arch>(runner, scratch, a, bound, sums, asked...); }, asked...);
        return true;
    };
    using number = typename Bound::call_type::number;
    if constexpr (plan::lists_keys<A>) {
        if (bound.d_lse.data != nullptr || !takes_listed_gradient(bound.call)) return false;
        return in_wide_enough<number>(attention_on_heads(a), bound.call, run);
    } else {
        return run(std::type_identity<number>{});
    }
}

/// run_ragged_gradient: the same for each sequence of a ragged batch, in order, into the same sums.
template <class Arch, class Executor, class Index, class A, class Bound, class... Asked>
void run_ragged_gradient(Executor const& executor, workspace& scratch, ragged_t<Index> const& all, A const& a,
                         Bound const& bound, Asked const&... asked) {
    using T = typename Bound::call_type::number;
    decltype(auto) runner = runner_of(executor);
    workspace::call const alone(scratch);
    fovea::detail::sum_sequences<T>(
        all, a, bound,
        [&](auto const& one, auto const& part, auto& sums) {
            scratch.prepare(runner.workers());
            add_gradient<T, Arch>(runner, scratch, one, part, sums, asked...);
        },
        asked...);
}

}  // namespace fovea::FOVEA_SET::driver
