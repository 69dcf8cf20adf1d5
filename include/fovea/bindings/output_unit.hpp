// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The unit of each kernel with outputs beside its result, element type and architecture: a call of C++ with those that
// a call of C asks for.
#pragma once

#include <fovea/bindings/types.h>
#include <fovea/bindings/outputs.hpp>
#include <fovea/bindings/unit.hpp>
#include <fovea/core/errors.hpp>
#include <fovea/spec/outputs.hpp>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::bindings {

/// The weights of a call over a graph: (batch, head, edge), by the numbers of the edges.
template <class T>
struct edge_weights {
    using output_tag = void;
    static constexpr std::string_view name = "weights";
    view<T, 3> target;
    graph_view list{};

    constexpr edge_weights of_list(graph_view const& edges) const { return {target, edges}; }
    /// Errors: shape_error where the target has not a number for each edge.
    bound_listed_weights<T> bind(operand_shapes const& shapes) const {
        extents_t<3> const needed{shapes.batches(), shapes.heads(), list.edges()};
        if (target.extents != needed)
            throw shape_error("weights are ", target.extents, " and must be ", needed, ", (batch, head, edge)");
        return {{target.data, {needed[0], needed[1], 1, needed[2]}, {target.stride(0), target.stride(1), 0, 1}},
                list,
                true};
    }
};

/// A bound output that writes nothing where it has no array.
template <class Bound>
struct bound_if_asked : Bound {
    bool asked() const { return this->target.data != nullptr; }

    void log_sum(row_place const& at, auto x) const
        requires takes_log_sum<Bound>
    {
        if (asked()) Bound::log_sum(at, x);
    }
    template <class Row>
    void scores(row_place const& at, Row const& row) const
        requires takes_scores<Bound>
    {
        if (asked()) Bound::scores(at, row);
    }
    template <class Row>
    void weights(row_place const& at, Row const& row) const
        requires takes_weights<Bound>
    {
        if (asked()) Bound::weights(at, row);
    }
};

/// An output that a call may leave out: an array without an address.
template <class Output>
struct if_asked {
    using output_tag = void;
    static constexpr std::string_view name = Output::name;
    Output output;

    bool asked() const { return output.target.data != nullptr; }
    auto bind(operand_shapes const& shapes) const {
        using bound = bound_if_asked<decltype(output.bind(shapes))>;
        return asked() ? bound{output.bind(shapes)} : bound{};
    }
    auto of_list(graph_view const& list) const
        requires requires { output.of_list(list); }
    {
        return if_asked<decltype(output.of_list(list))>{output.of_list(list)};
    }
    if_asked of_sequence(auto const& at) const
        requires requires { output.of_sequence(at); }
    {
        return asked() ? if_asked{output.of_sequence(at)} : *this;
    }
};

/// An output of C++ of an array of C.
template <fixed_string Name, class A, class T>
auto output_of_array(fovea_array const& a) {
    using element = output_element<Name, T>;
    auto const asked = [](auto const& output) { return if_asked<std::remove_cvref_t<decltype(output)>>{output}; };
    constexpr auto text = text_of_output<Name>;
    if constexpr (text.name == "weights" && is_over_edges<A>) {
        return asked(edge_weights<T>{numbers_of<T>(a, text.name)});
    } else if constexpr (text.of == numbers_for::pairs) {
        view<element, 4> const pairs = a.data == nullptr ? view<element, 4>{} : array_of<element>(a);
        if constexpr (text.name == "weights") return asked(weights(pairs));
        else return asked(scores(pairs));
    } else {
        view<element, 3> const each = numbers_of<element>(a, text.name);
        if constexpr (text.name == "lse") return asked(lse(each));
        else if constexpr (text.name == "entropy") return asked(entropy(each));
        else if constexpr (text.name == "best_key") return asked(best_key(each));
        else return asked(column_sums(each));
    }
}

/// The same as a tuple, where the output needs no more of a call than some others; an empty one otherwise.
template <output_needs Most, fixed_string Name, class A, class T>
auto output_up_to(fovea_array const& a) {
    if constexpr (text_of_output<Name>.needs <= Most) return std::tuple(output_of_array<Name, A, T>(a));
    else return std::tuple();
}

/// One call of C++ with the outputs that C asks for, and with none that needs more of a call than these.
template <class Types, class Kernel, fixed_string... Names>
void attend_with_outputs(threads const& executor, workspace& scratch, fovea_array const* operands,
                         fovea_value const* values, Kernel const& kernel, outputs<Names...>) {
    using T = typename Types::number;
    using A = typename decltype(specification_type<Kernel, T>())::type;
    auto most = output_needs::state;
    auto const array_of_output = [&](std::string_view name) -> fovea_array const& {
        return operands[4 + outputs<Names...>::place_of(name)];
    };
    ((most = array_of_output(Names.view()).data == nullptr ? most : std::max(most, text_of_output<Names>.needs)), ...);
    auto const run = [&]<output_needs Most>(std::integral_constant<output_needs, Most>) {
        auto const asked = std::tuple_cat(output_up_to<Most, Names, A, T>(array_of_output(Names.view()))...);
        std::apply(
            [&](auto const&... each) { attend_operands<Types>(executor, scratch, operands, values, kernel, each...); },
            asked);
    };
    using enum output_needs;
    if constexpr (((text_of_output<Names>.needs == state) || ...))
        if (most == state) return run(std::integral_constant<output_needs, state>());
    if constexpr (((text_of_output<Names>.needs == rows) || ...))
        if (most <= rows) return run(std::integral_constant<output_needs, rows>());
    if constexpr (((text_of_output<Names>.needs == rows_in_turn) || ...))
        run(std::integral_constant<output_needs, rows_in_turn>());
}

/// A call of one kernel from C with outputs beside its result. Operands are query, key, value and result, and then
/// where each output goes; what has no address is not computed.
template <class... Elements, class Kernel, fixed_string... Names>
fovea_status run_output_unit(fovea_call const* call, fovea_array const* operands, fovea_value const* values,
                             Kernel const& kernel, outputs<Names...> asked) noexcept {
    using types = element_types<Elements...>;
    if constexpr (has_outputs<Kernel, typename types::number, Names...>())
        return run_with(call, [&](threads const& executor, workspace& scratch) {
            attend_with_outputs<types>(executor, scratch, operands, values, kernel, asked);
        });
    else return FOVEA_FAILED;
}

}  // namespace fovea::FOVEA_SET::bindings
