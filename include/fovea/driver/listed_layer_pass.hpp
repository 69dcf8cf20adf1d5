// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes over listed keys within a layer: on projected operands, into scratch memory.
#pragma once

#include <fovea/driver/layer/backward/project_gradient.hpp>
#include <fovea/driver/run_gradient.hpp>
#include <fovea/spec/shapes.hpp>

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
        auto const room = [&](auto const& of, auto const& map, auto const& source, bool asked_for) {
            bool const wanted = asked_for || asks_parameters(map, sums);
            return room_for_gradients<T>(scratch, of, source.extent(1) == 1, wanted);
        };
        auto const& p = a.project;
        bool const alike = heads.query.extents == heads.key.extents;
        rows.query = room(heads.query, p.query, call.query, asks_query);
        rows.key = alike && same_projection(p.query, p.key, call.query, call.key)
                     ? rows.query
                     : room(heads.key, p.key, call.key, asks_key);
        rows.value = same_projection(p.key, p.value, call.key, call.value)
                       ? rows.key
                       : room(heads.value, p.value, call.value, asks_value);
    } else {
        rows = {room_for_gradients<T>(scratch, heads.query, false, asks_query),
                room_for_gradients<T>(scratch, heads.key, false, asks_key),
                room_for_gradients<T>(scratch, heads.value, false, asks_value)};
    }
    gradient_targets<T, Asked...> targets(scratch, asked...);
    run_listed_passes<T, Arch>(executor, scratch, on_heads, bound, rows, targets);
    targets.add_tables_to(sums);
    return rows;
}

}  // namespace fovea::FOVEA_SET::driver
