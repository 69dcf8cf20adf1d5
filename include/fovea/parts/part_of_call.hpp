// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call of some positions of a sequence: adjacent positions of the arrays that hold them, and a plan for the part.
#pragma once

#include <fovea/core/view.hpp>
#include <fovea/driver/call/copies.hpp>
#include <fovea/driver/call/operands.hpp>
#include <fovea/plan/lowered_spec.hpp>
#include <fovea/plan/traversal.hpp>
#include <fovea/spec/call/wide_integers.hpp>
#include <fovea/spec/part/of_part.hpp>
#include <fovea/spec/part/ragged.hpp>

#include <tuple>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// The rows of a run.
template <class T>
view<T, 4> rows_at(view<T, 4> const& all, position_run const& run) {
    return {all.place(index_t{0}, index_t{0}, run.place, index_t{0}),
            {all.extent(0), all.extent(1), run.count, all.extent(3)},
            all.strides};
}

/// Whether a mask lets some queries of a sequence see some of its keys, in any head or batch element.
template <class T, attention_spec A>
bool sees(A const& a, operand_shapes const& whole, position_run const& queries, position_run const& keys) {
    return !truth(bound<T>(visible_pairs(a), box{{0, whole.batches() - 1},
                                                 {0, whole.heads() - 1},
                                                 {queries.first, queries.first + queries.count - 1},
                                                 {keys.first, keys.first + keys.count - 1},
                                                 whole.queries(),
                                                 whole.keys(),
                                                 whole.compared()}))
                .never();
}

/// The common base of calls with some queries and some keys of one sequence; `whole` has its extents.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class Out, class... Asked>
class part_of_call {
public:
    using part_spec = decltype(of_part(std::declval<A const&>(), part_place{}));
    using outputs_type = std::tuple<decltype(std::declval<Asked const&>().bind(operand_shapes{}))...>;
    using operands_type = operands<Q, view<K const, 4>, view<V const, 4>, Out, outputs_type>;
    using spec_type = typename plan::call_of<T, Arch, part_spec, operands_type>::spec;

protected:
    part_of_call(A const& a, operand_shapes const& whole)
        : attention_(a), whole_(whole), exact_(needs_wide_integers<T>(a, whole)) {}

    operand_shapes const& whole() const { return whole_; }
    /// True where integers may need more bits than a lane has.
    bool exact() const { return exact_; }
    bool sees(position_run const& queries, position_run const& keys) const {
        return driver::sees<T>(attention_, whole_, queries, keys);
    }

    view<K const, 4> no_keys() const { return {nullptr, {whole_.batches(), whole_.key_heads(), 0, whole_.key[3]}}; }
    view<V const, 4> no_values() const { return {nullptr, {whole_.batches(), whole_.key_heads(), 0, whole_.value[3]}}; }
    operands_type operands_of(view<Q const, 4> const& query, view<K const, 4> const& key, view<V const, 4> const& value,
                              view<Out, 4> const& out, outputs_type const& outputs) const {
        return {query, key, value, out, outputs, exact_};
    }
    /// The sizes of a call whose keys come in pieces, of which none is longer.
    plan::call_sizes sizes_of(view<Q const, 4> const& query, index_t longest) const {
        auto sizes = operands_of(query, no_keys(), no_values(), {}, {}).sizes();
        sizes.keys = sizes.keys_per_run = sizes.values_per_run = longest;
        return sizes;
    }
    /// The outputs of the queries that `query` has, and those for a run of them.
    outputs_type bind_outputs(view<Q const, 4> const& query, std::tuple<Asked...> const& asked) const {
        auto shapes = whole_;
        shapes.query[2] = query.extent(2);
        return std::apply([&](auto const&... each) { return outputs_type(each.bind(shapes)...); }, asked);
    }
    static outputs_type outputs_of(position_run const& run, outputs_type const& outputs) {
        return std::apply(
            [&](auto const&... each) { return outputs_type(output_of_queries(each, run.place, run.count)...); },
            outputs);
    }
    /// The lowered specification of the queries and keys from two positions on.
    spec_type spec_of(index_t first_query, index_t first_key, zeros_for_tables const& zeros) const {
        return plan::lower_attention(of_part(attention_, {first_query, first_key, whole_.queries(), whole_.keys()}),
                                     [&](auto const& expression) { return with_elements(expression, zeros); });
    }

private:
    A const& attention_;
    operand_shapes whole_;
    bool exact_;
};

}  // namespace fovea::FOVEA_SET::driver
