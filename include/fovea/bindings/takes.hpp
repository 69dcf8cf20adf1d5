// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/bindings/signature.hpp>
#include <fovea/spec/attention.hpp>

#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// A kernel for C: a function that makes the specification of a call, and what else a call takes.
template <fixed_string Text, class Make, bool Paged = false, bool Ragged = false>
struct takes_t {
    using arguments = bindings::signature<Text>;
    using make_type = Make;
    static constexpr bool paged = Paged;
    static constexpr bool ragged = Ragged;
    Make make;

    /// This kernel over keys and values in pages, as `paged` in C++.
    constexpr auto over_pages() const { return takes_t<Text, Make, true, Ragged>{make}; }
    /// This kernel for sequences of different lengths, as `ragged` in C++.
    constexpr auto of_sequences() const { return takes_t<Text, Make, Paged, true>{make}; }
};

/// takes: a specification made from arguments of the call, with their names and shapes, for a kernel that C calls.
///
///     takes<"slopes(heads), cap">([](view<float const, 1> slopes, float cap) {
///         return scaled_dot | alibi(slopes) | softcap(cap) | causal | softmax | weighted_sum;
///     })
///
/// The function takes views of const elements, with a name for each axis, numbers and a graph_view. An axis is batch,
/// heads, key_heads, queries, keys, features or value_features, a number, another argument (a number, or a graph, whose
/// edges it counts), or a name of its own, which becomes an argument. A lambda with one template parameter, []<class
/// T>(view<T const, 1> slopes), gets float or double.
template <fixed_string Text, class Make>
constexpr auto takes(Make make) {
    return takes_t<Text, Make>{std::move(make)};
}

namespace bindings {
template <class Kernel>
inline constexpr bool is_takes = false;
template <fixed_string Text, class Make, bool Paged, bool Ragged>
inline constexpr bool is_takes<takes_t<Text, Make, Paged, Ragged>> = true;

/// Whether an argument counts something: an integer, or a graph, whose edges it then counts.
template <class Parameter>
inline constexpr bool is_count =
    (std::is_integral_v<Parameter> && !std::is_same_v<Parameter, bool>) || std::is_same_v<Parameter, graph_view>;

/// Whether a function takes what C can hand over, with names for all of it, and returns a specification.
template <class Kernel, class Parameters, std::size_t... I>
constexpr bool has_sound_parameters(std::index_sequence<I...>) {
    using text = typename Kernel::arguments;
    constexpr bool taken = (is_argument<std::tuple_element_t<I, Parameters>> && ...);
    constexpr bool named = ((text::arguments[I].rank == rank_of<std::tuple_element_t<I, Parameters>>) && ...);
    static_assert(taken, "fovea: the function of takes<...> takes views of const elements, numbers and graph_view");
    static_assert(!taken || named, "fovea: takes<...> names each axis of a view, as in slopes(heads)");
    constexpr bool counts =
        taken && named
        && ((!text::has_axis(text::arguments[I].name) || is_count<std::tuple_element_t<I, Parameters>>) && ...);
    static_assert(!taken || !named || counts,
                  "fovea: a number that takes<...> names as the extent of a table is an integer");
    if constexpr (counts) {
        using made = std::invoke_result_t<typename Kernel::make_type const&, std::tuple_element_t<I, Parameters>...>;
        static_assert(attention_spec<made>, "fovea: the function of takes<...> returns a specification");
        return attention_spec<made>;
    } else {
        return false;
    }
}

template <class Kernel, class T>
constexpr bool has_sound_arguments() {
    using text = typename Kernel::arguments;
    using parameters = decltype(parameters_of<typename Kernel::make_type, T>());
    constexpr bool written = text::is_well_formed() && (Kernel::paged || !text::has_axis(pages_name))
                          && (Kernel::ragged || !text::has_axis(sequences_name));
    constexpr bool counted = written && std::tuple_size_v<parameters> == text::size;
    constexpr bool one_kind = !Kernel::paged || !Kernel::ragged;
    static_assert(written, "fovea: takes<...> lists names with their axes, each name once, as in slopes(heads)");
    constexpr bool free = written && !text::takes_a_name_of_calls();
    static_assert(!written || free,
                  "fovea: takes<...> names an argument or axis as calls name something else: call, query, key, value, "
                  "result, page_table, pages, query_offsets, key_offsets, sequences, kernel, out, threads, library, "
                  "dtype or wanted");
    static_assert(!written || counted, "fovea: takes<...> has as many names as its function has arguments");
    static_assert(one_kind, "fovea: a kernel takes paged or ragged operands, not both");
    if constexpr (counted && free && one_kind)
        return has_sound_parameters<Kernel, parameters>(std::make_index_sequence<text::size>());
    else return false;
}

/// What is wrong with a kernel, said once; true where nothing is.
template <class Kernel, class T>
constexpr bool is_kernel() {
    constexpr bool sound = attention_spec<Kernel> || is_takes<Kernel>;
    static_assert(sound, "fovea: a kernel is a specification, or takes<names>(function that returns one)");
    if constexpr (attention_spec<Kernel>) return true;
    else if constexpr (is_takes<Kernel>) return has_sound_arguments<Kernel, T>();
    else return false;
}
}  // namespace bindings

}  // namespace fovea::FOVEA_SET
