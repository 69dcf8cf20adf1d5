// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Outputs that kernels for C give beside their result: which there are, and of which kernels.
#pragma once

#include <fovea/bindings/takes.hpp>
#include <fovea/core/graph.hpp>
#include <fovea/spec/call/differentiable.hpp>
#include <fovea/spec/finish.hpp>
#include <fovea/spec/pipe.hpp>
#include <fovea/spec/shapes.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::bindings {

/// Elements of an output: one for each query, pair or key.
enum class numbers_for { queries, pairs, keys };

/// Needs of an output, each more than the one before: the state of a row at its end; whole rows; whole rows of a head
/// one after another.
enum class output_needs { state, rows, rows_in_turn };

/// An output by its name.
struct output_text {
    std::string_view name;
    numbers_for of;
    output_needs needs;
};
inline constexpr std::array<output_text, 6> known_outputs{
    {{"lse", numbers_for::queries, output_needs::state},
     {"weights", numbers_for::pairs, output_needs::rows},
     {"scores", numbers_for::pairs, output_needs::rows},
     {"entropy", numbers_for::queries, output_needs::rows},
     {"best_key", numbers_for::queries, output_needs::rows},
     {"column_sums", numbers_for::keys, output_needs::rows_in_turn}}};

/// The outputs that a kernel gives, by their names: outputs<"lse", "weights">{}.
template <fixed_string... Names>
struct outputs {
    static constexpr std::size_t size = sizeof...(Names);
    static constexpr std::array<std::string_view, size> names{Names.view()...};

    static constexpr std::size_t place_of(std::string_view name) {
        return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    }
};

/// The place of a name among those known; their number where it is none.
constexpr std::size_t place_of_output(std::string_view name) {
    std::size_t i = 0;
    while (i < known_outputs.size() && known_outputs[i].name != name) ++i;
    return i;
}
template <fixed_string Name>
inline constexpr output_text text_of_output = known_outputs[place_of_output(Name.view())];

/// The element of an output of a call that computes in T: a position, or a number of the arithmetic.
template <fixed_string Name, class T>
using output_element = std::conditional_t<Name.view() == std::string_view("best_key"), std::int64_t, T>;

/// The specification of a kernel.
template <class Kernel, class T>
constexpr auto specification_type() {
    if constexpr (attention_spec<Kernel>) {
        return std::type_identity<Kernel>();
    } else {
        using parameters = decltype(parameters_of<typename Kernel::make_type, T>());
        return std::type_identity<decltype(std::apply(std::declval<Kernel const&>().make,
                                                      std::declval<parameters const&>()))>();
    }
}

/// Whether the pairs of an attention are the edges of a graph.
template <class A>
inline constexpr bool is_over_edges =
    requires(A const& a) { requires std::same_as<std::remove_cvref_t<decltype(a.mask.neighbor_list())>, graph_view>; };

/// The places of a kernel's graphs among its arguments: that of the last, and how many there are.
template <class Kernel, class T>
constexpr std::pair<std::size_t, std::size_t> graphs_of() {
    using parameters = decltype(parameters_of<typename Kernel::make_type, T>());
    return []<std::size_t... I>(std::index_sequence<I...>) {
        std::size_t last = 0, count = 0;
        ((std::is_same_v<std::tuple_element_t<I, parameters>, graph_view> ? (last = I, ++count) : count), ...);
        return std::pair(last, count);
    }(std::make_index_sequence<std::tuple_size_v<parameters>>());
}

/// Whether a kernel has outputs for C as they are listed, said once where it has not.
template <class Kernel, class T, fixed_string... Names>
constexpr bool has_outputs() {
    constexpr bool known = ((place_of_output(Names.view()) < known_outputs.size()) && ...);
    static_assert(
        known, "fovea: a kernel for C gives lse, weights, scores, entropy, best_key or column_sums beside its result");
    if constexpr (!is_kernel<Kernel, T>() || !known) {
        return false;
    } else if constexpr (is_takes<Kernel> && is_over_edges<typename decltype(specification_type<Kernel, T>())::type>) {
        constexpr bool one = graphs_of<Kernel, T>().second == 1 || ((Names.view() != "weights") && ...);
        static_assert(one, "fovea: weights of a kernel for C are those of the edges of one graph: it takes several");
        return one;
    } else {
        return true;
    }
}

/// The heads of a specification: a number where a projection makes them.
template <attention_spec A>
std::string heads_of() {
    if constexpr (projection<decltype(A::project)>) {
        constexpr int heads = decltype(A::project)::heads_type::query;
        if (heads != 1) return std::to_string(heads);
    }
    return "heads";
}

/// The extents of an output as a library lists them.
template <fixed_string Name, class Kernel, class T>
std::string shape_of_output() {
    using A = typename decltype(specification_type<Kernel, T>())::type;
    constexpr auto text = text_of_output<Name>;
    std::string axes = text.of == numbers_for::keys    ? "keys"
                     : text.of == numbers_for::queries ? "queries"
                                                       : "queries, keys";
    if constexpr (text.name == "weights" && is_over_edges<A> && is_takes<Kernel>)
        axes = Kernel::arguments::arguments[graphs_of<Kernel, T>().first].name;
    return "(batch, " + heads_of<A>() + ", " + axes + ")";
}

/// Whether the result of a specification has the rows of the query and the features of the value.
template <attention_spec A>
inline constexpr bool keeps_shape_of =
    !projection<decltype(A::project)> && !is_finished<std::remove_const_t<decltype(A::aggregate)>>;

/// The gradients that a kernel takes of its outputs.
template <class A, fixed_string Name>
inline constexpr bool takes_gradient_of = Name.view() == "lse" && fovea::detail::takes_d_lse<A>;

/// Whether the gradients of a kernel take the result and the log-sum-exp of the forward call, where it gives the
/// latter: the result is that of its weights, with all bits, and the pass over tiles reads it.
template <class A, class Element, fixed_string... Names>
inline constexpr bool takes_forward =
    keeps_shape_of<A> && !enumerating_mask<decltype(A::mask)> && std::is_same_v<Element, compute_type<Element>>
    && (takes_gradient_of<A, Names> || ...);

}  // namespace fovea::FOVEA_SET::bindings
