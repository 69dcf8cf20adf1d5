// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of an attention between some queries and some keys of a sequence: what a piece adds to sums that others
// add to as well.
#pragma once

#include <fovea/driver/run_gradient.hpp>
#include <fovea/parts/part_of_call.hpp>

namespace fovea::FOVEA_SET::driver {

/// True where dS of a pair needs nothing of other pairs but what is known of its row: of softmax its maximum, its sum
/// and D; of weights that go by key nothing.
template <class T, class A>
constexpr bool has_piecewise_gradient() {
    using normalizer = std::remove_cvref_t<decltype(normalizer_of(std::declval<A const&>().normalize))>;
    return plan::is_dense<A> && has_gradient_pass<T, A>()
        && (recomputes_weights<T, A>()
            || (elementwise_normalizer<normalizer> && !row_dependent_normalizer<normalizer>
                && !fovea::detail::has_gradient_rule<normalizer>));
}

/// Some adjacent queries of a sequence with what is known of them, and where their gradient is added up.
template <class T, class Q, class D>
struct queries_of_part {
    index_t first;  // position
    view<Q const, 4> query;
    view<D const, 4> d_result;
    saved_statistics<T> rows;
    view<T, 4> d_query{};
};
/// The same of keys and values.
template <class T, class K, class V>
struct keys_of_part {
    index_t first;
    view<K const, 4> key;
    view<V const, 4> value;
    view<T, 4> d_key{}, d_value{};
};

/// Gradients between queries and keys of one sequence, part by part. Sums are added up in the order of the calls, and
/// each call has the same bits in any number of threads.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class D>
class piecewise_gradient : part_of_call<T, Arch, A, Q, K, V, T> {
    using base = part_of_call<T, Arch, A, Q, K, V, T>;

public:
    using queries = queries_of_part<T, Q, D>;
    using keys = keys_of_part<T, K, V>;
    using base::sees;

    piecewise_gradient(A const& a, operand_shapes const& whole) : base(a, whole), attention_(a) {}

    /// Adds what the pairs of some queries and some keys give: to queries, or to keys and values, and to tables.
    template <class Executor, class Totals, class... Asked>
    void add(Executor const& executor, workspace& scratch, queries const& q, keys const& k, wanted_gradients wanted,
             Totals& totals, Asked const&... asked) const {
        if (q.query.empty() || k.key.extent(2) == 0) return;
        auto& memory = scratch.nested(0);  // of one call after the other
        memory.prepare(executor.workers());
        wanted.adds = true;
        zeros_for_tables const zeros{memory.shared(), this->whole().compared()};
        auto const lowered = this->spec_of(q.first, k.first, zeros);
        score_operands<Q, view<K const, 4>> const operands{q.query, k.key, this->exact()};
        gradient_operands<T, view<V const, 4>, D> const backward{k.value,   q.d_result, q.d_query, k.d_key,
                                                                 k.d_value, q.rows,     wanted};
        part_shapes part{this->whole()};
        part.shapes.query[2] = q.query.extent(2);
        part.shapes.key[2] = part.shapes.value[2] = k.key.extent(2);
        with_table_sums<T>(
            memory, attention_, part, totals,
            [&](auto const& tables) {
                run_weights_gradient<T, Arch, A>(executor, memory, lowered, operands, backward, tables);
            },
            asked...);
        totals.end_part();
    }

private:
    struct part_shapes {
        operand_shapes shapes;
    };
    A const& attention_;
};

}  // namespace fovea::FOVEA_SET::driver
