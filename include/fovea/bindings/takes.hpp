// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels for C: a specification made from arguments, with their names and axes as text.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/graph.hpp>
#include <fovea/core/view.hpp>
#include <fovea/expr/placeholder.hpp>
#include <fovea/spec/attention.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::bindings {

/// An argument as it is written: "slopes(heads)", "cap".
struct argument_text {
    static constexpr int most_axes = 4;
    std::string_view name;
    std::array<std::string_view, most_axes> axes{};
    int rank = 0;
};

namespace detail {
/// A text without blanks around it.
constexpr std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n\v\f";
    auto const first = std::min(text.find_first_not_of(blanks), text.size());
    return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

/// Calls f(piece) for each piece between commas outside of parentheses.
template <class F>
constexpr void for_each_piece(std::string_view text, F const& f) {
    int depth = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && text[i] == '(') ++depth;
        if (i < text.size() && text[i] == ')') --depth;
        if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
        if (auto const piece = trimmed(text.substr(first, i - first)); !piece.empty()) f(piece);
        first = i + 1;
    }
}

constexpr argument_text argument_of(std::string_view piece) {
    argument_text argument;
    auto const open = static_cast<std::size_t>(std::find(piece.begin(), piece.end(), '(') - piece.begin());
    argument.name = trimmed(piece.substr(0, open));
    if (open == piece.size()) return argument;
    auto const inside = piece.substr(open + 1, std::min(piece.rfind(')'), piece.size()) - open - 1);
    for_each_piece(inside, [&](std::string_view axis) {
        if (argument.rank < argument_text::most_axes) argument.axes[static_cast<std::size_t>(argument.rank)] = axis;
        ++argument.rank;
    });
    return argument;
}

constexpr bool is_identifier(std::string_view name) {
    auto const letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !name.empty() && letter(name.front())
        && std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}
constexpr bool is_number(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}
}  // namespace detail

/// The names of a call's own extents, and where they are: of the query, but for those of keys and values.
inline constexpr std::array<std::string_view, 7> own_extents{"batch",     "heads", "queries",       "features",
                                                             "key_heads", "keys",  "value_features"};

/// The arguments that pages and sequences add to a call; these are extents as well, where they are added.
inline constexpr std::string_view pages_name = "pages", sequences_name = "sequences";

/// The names of what every call takes, or may take, in C or in Python.
inline constexpr std::array<std::string_view, 19> taken_names{
    "call",          "query",       "key",          "value",     "result", "page_table", pages_name,
    "query_offsets", "key_offsets", sequences_name, "kernel",    "out",    "threads",    "library",
    "dtype",         "wanted",      "outputs",      "d_outputs", "forward"};

/// The arguments written in `Text`, and the extents that they name and a call does not have. An axis may also have the
/// name of another argument: of a number, which it then has, or of a graph, whose edges it then counts.
template <fixed_string Text>
struct signature {
    static constexpr std::size_t size = [] {
        std::size_t n = 0;
        detail::for_each_piece(Text.view(), [&](std::string_view) { ++n; });
        return n;
    }();
    static constexpr std::array<argument_text, size> arguments = [] {
        std::array<argument_text, size> all{};
        std::size_t n = 0;
        detail::for_each_piece(Text.view(), [&](std::string_view piece) { all[n++] = detail::argument_of(piece); });
        return all;
    }();

    /// Calls f(name) for each extent that is an argument of its own, once.
    template <class F>
    static constexpr void for_each_extent(F const& f) {
        for (std::size_t i = 0; i < size; ++i)
            for (int axis = 0; axis < arguments[i].rank; ++axis)
                if (is_extent(i, axis) && !stands_before(i, axis)) f(arguments[i].axes[static_cast<std::size_t>(axis)]);
    }
    static constexpr std::size_t extents = [] {
        std::size_t n = 0;
        for_each_extent([&](std::string_view) { ++n; });
        return n;
    }();

    static constexpr bool is_well_formed() {
        for (std::size_t i = 0; i < size; ++i) {
            auto const& name = arguments[i].name;
            if (!detail::is_identifier(name) || arguments[i].rank > argument_text::most_axes) return false;
            for (int axis = 0; axis < arguments[i].rank; ++axis)
                if (auto const text = arguments[i].axes[static_cast<std::size_t>(axis)];
                    (!detail::is_identifier(text) && !detail::is_number(text)) || is_table(text)
                    || (is_own_extent(text) && place_of(text) < size))
                    return false;
            for (std::size_t before = 0; before < i; ++before)
                if (arguments[before].name == arguments[i].name) return false;
        }
        return true;
    }

    /// Whether some argument, or an extent that becomes one, has a name that calls have for something else.
    static constexpr bool takes_a_name_of_calls() {
        bool taken = false;
        auto const look_at = [&](std::string_view name) {
            taken |= std::find(taken_names.begin(), taken_names.end(), name) != taken_names.end();
        };
        for (auto const& argument : arguments) look_at(argument.name);
        for_each_extent(look_at);
        return taken;
    }

    /// The place of an argument; their number where none has the name.
    static constexpr std::size_t place_of(std::string_view name) {
        std::size_t i = 0;
        while (i < size && arguments[i].name != name) ++i;
        return i;
    }
    /// Whether an axis has a name.
    static constexpr bool has_axis(std::string_view name) {
        for (std::size_t i = 0; i < size; ++i)
            for (int axis = 0; axis < arguments[i].rank; ++axis)
                if (arguments[i].axes[static_cast<std::size_t>(axis)] == name) return true;
        return false;
    }

private:
    static constexpr bool is_table(std::string_view name) {
        auto const i = place_of(name);
        return i < size && arguments[i].rank > 0;
    }
    static constexpr bool is_extent(std::size_t i, int axis) {
        auto const text = arguments[i].axes[static_cast<std::size_t>(axis)];
        return !detail::is_number(text) && text != pages_name && text != sequences_name && place_of(text) == size
            && !is_own_extent(text);
    }
    static constexpr bool is_own_extent(std::string_view name) {
        return std::find(own_extents.begin(), own_extents.end(), name) != own_extents.end();
    }
    static constexpr bool stands_before(std::size_t i, int axis) {
        auto const text = arguments[i].axes[static_cast<std::size_t>(axis)];
        for (std::size_t before = 0; before <= i; ++before)
            for (int b = 0; b < (before == i ? axis : arguments[before].rank); ++b)
                if (arguments[before].axes[static_cast<std::size_t>(b)] == text) return true;
        return false;
    }
};

/// The parameters of a function: a tuple of its parameters, without references. Generic ones are taken at the number
/// type T.
template <class F>
struct parameters_of_member;
template <class Result, class Class, class... Parameters>
struct parameters_of_member<Result (Class::*)(Parameters...) const> {
    using type = std::tuple<std::remove_cvref_t<Parameters>...>;
};
template <class Result, class Class, class... Parameters>
struct parameters_of_member<Result (Class::*)(Parameters...) const noexcept> {
    using type = std::tuple<std::remove_cvref_t<Parameters>...>;
};
template <class F, class T>
constexpr auto parameters_of() {
    if constexpr (requires { &F::operator(); }) return typename parameters_of_member<decltype(&F::operator())>::type{};
    else return typename parameters_of_member<decltype(&F::template operator()<T>)>::type {};
}

/// Whether C can hand over an argument: a table of numbers that is read, a number, or a graph.
template <class Parameter>
inline constexpr bool is_argument = std::is_arithmetic_v<Parameter> || std::is_same_v<Parameter, graph_view>;
template <class Element, int Rank>
inline constexpr bool is_argument<view<Element, Rank>> = std::is_const_v<Element>;

template <class Parameter>
inline constexpr int rank_of = 0;
template <class Element, int Rank>
inline constexpr int rank_of<view<Element, Rank>> = Rank;

/// Whether an argument is a table that can have a gradient.
template <class Parameter>
inline constexpr bool is_table_of_reals = false;
template <class Element, int Rank>
inline constexpr bool is_table_of_reals<view<Element, Rank>> = fovea::detail::is_real_number<Element>;

}  // namespace fovea::FOVEA_SET::bindings

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
/// The function takes views of const elements, with a name for each axis, numbers and a graph_view. Bits, of a view<bit
/// const, Rank>, lie eight in a byte of C, in which each row of the last axis begins. An axis is batch, heads,
/// key_heads, queries, keys, features or value_features, a number, another argument (a number, or a graph, whose edges
/// it counts), or a name of its own, which becomes an argument. A lambda with one template parameter, []<class
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
                  "dtype, wanted, outputs, d_outputs or forward");
    static_assert(!written || counted, "fovea: takes<...> has as many names as its function has arguments");
    static_assert(one_kind, "fovea: a kernel takes paged or ragged operands, not both");
    if constexpr (counted && free && one_kind)
        return has_sound_parameters<Kernel, parameters>(std::make_index_sequence<text::size>());
    else return false;
}

/// Checks of a kernel, said once; true where nothing is wrong.
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

#include <fovea/core/epilogue.hpp>
