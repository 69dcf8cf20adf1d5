// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks of a call over ranks: by the compiler, and by each rank alone.
#pragma once

#include <fovea/interop/mpi/ranks.hpp>
#include <fovea/parts/chunked.hpp>
#include <fovea/spec/call/check_call.hpp>
#include <fovea/spec/fixed_order.hpp>

#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace fovea::FOVEA_SET::mpi::detail {

/// An attention over ranks, for bind_call.
template <attention_spec A>
struct attention_over : A {};

/// The call that every rank has bound. Errors: where binding throws on one of them, all throw. Collective.
template <class Bind>
auto bound_on_all_ranks(MPI_Comm comm, Bind const& bind) {
    std::optional<decltype(bind())> bound;
    on_all_ranks(comm, [&] { bound.emplace(bind()); });
    return *std::move(bound);
}

/// The checks of the operands of one rank, whatever the others have.
template <attention_spec A, class Call>
FOVEA_INLINE void check_read(A const& a, Call const& call) {
    fovea::detail::check_memory_read(a, call);
    if constexpr (!projection<decltype(a.project)>)
        check_operands<decltype(a.score)>(call.query.extents, call.key.extents, call.value.extents);
    fovea::detail::require_equal(call.value.extent(2), call.key.extent(2), "value", "position", "key");
}
/// The same of all arrays of a call of attend.
template <attention_spec A, class Call>
FOVEA_INLINE void check_call(attention_over<A> const& of, Call& call) {
    check_read(static_cast<A const&>(of), call);
    fovea::detail::require_sound(fovea::detail::region_of(call.result, "result"));
}

/// Errors: shape_error where a state that a call begins with, or leaves, does not fit the sequence, or the numbers for
/// each step do not fit the positions of this rank; `own` has the extents of these, and `states` is how many there are.
template <attention_spec A, class Call>
void check_states(A const& a, operand_shapes own, index_t states, Call const& call) {
    check_recurrence(a, own);
    own.query[0] = own.key[0] = own.value[0] = states;
    auto const check = [&](auto const& output) {
        using type = std::remove_cvref_t<decltype(output)>;
        if constexpr (concerns_state<type>)
            check_state(a, own, output.target.extents, gives_past_state<type> ? "past_state" : "present_state");
    };
    std::apply([&](auto const&... each) { (check(each.bind(own)), ...); }, call.asked);
}
/// The checks of the arrays of one rank in a call whose operands have the extents of `whole` together.
template <attention_spec A, class Call>
void check_written(A const& a, operand_shapes const& whole, index_t states, Call& call) {
    call.shapes = whole;
    call.shapes.query[2] = call.query.extent(2);
    auto const expected = result_shape(a, call.shapes, call.query.extents);
    if (call.result.extents != expected)
        throw shape_error("result is ", call.result.extents, " and must be ", expected,
                          ", (batch, head, position, feature)");
    if constexpr (plan::lists_keys<A>) a.mask.neighbor_list().check(call.query.extent(2), whole.keys());
    if constexpr (is_recurrent<A>) {
        auto own = call.shapes;
        own.key[2] = own.value[2] = call.key.extent(2);
        check_states(a, own, states, call);
    }
    fovea::detail::check_memory_written(a, call, call.asked, [](auto const&) {});
}

/// The sentence for an aggregator whose parts are not merged.
template <class A>
constexpr bool merges_values() {
    constexpr bool plain = !adds_to_values<A>;
    static_assert(plain, "fovea: over ranks there is no relative_values: what it adds belongs to pairs of one process");
    return plain;
}

/// The sentences for what is not computed over ranks.
template <class A, class Call>
constexpr bool goes_over_ranks() {
    constexpr bool of_rows = !plan::lists_keys<A> || []<class... Asked>(std::type_identity<std::tuple<Asked...>>) {
        return ((takes_log_sum<decltype(std::declval<Asked const&>().bind(operand_shapes{}))>
                 || takes_row_state<decltype(std::declval<Asked const&>().bind(operand_shapes{}))>)
                && ...);
    }(std::type_identity<decltype(Call::asked)>{});
    static_assert(of_rows,
                  "fovea: over ranks a rank has the keys that its queries list, and no others: beside the result there "
                  "are lse and save");
    constexpr bool any_order = !asks_for_fixed_order<sum_of_values<A>>;
    static_assert(any_order, "fovea: over ranks sums are added rank by rank: leave out batch_invariant");
    return of_rows && any_order && merges_values<A>();
}
/// Errors: std::logic_error where MPI cannot be called from here.
inline void require_mpi(bool several_threads) {
    int begun = 0, ended = 0, level = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (begun == 0 || ended != 0) throw std::logic_error("ranks: MPI is not initialised, or is finalised");
    MPI_Query_thread(&level);
    if (several_threads && level < MPI_THREAD_FUNNELED)
        throw std::logic_error("ranks: a call with several threads needs MPI_Init_thread with MPI_THREAD_FUNNELED");
}

}  // namespace fovea::FOVEA_SET::mpi::detail
