// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel is in words: its arguments as C declares them, its specification and its formula.
#pragma once

#include <fovea/bindings/takes.hpp>
#include <fovea/driver/operands.hpp>
#include <fovea/expr/print.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::bindings {

struct argument_description {
    std::string name, type, shape;
    bool is_table() const { return !shape.empty(); }
    bool is_pointer() const { return is_table() || type == "fovea_graph"; }
};

struct kernel_description {
    std::string name, type, specification;
    std::vector<std::string> formula;  // lines
    std::vector<argument_description> arguments;
    bool paged = false, ragged = false;
};

/// An element or a number as C names it.
template <class Number>
std::string c_type() {
    if constexpr (std::is_same_v<Number, float>) return "float";
    else if constexpr (std::is_same_v<Number, double>) return "double";
    else if constexpr (std::is_same_v<Number, bool>) return "bool";
    else if constexpr (std::is_integral_v<Number>)
        return (std::is_signed_v<Number> ? "int" : "uint") + std::to_string(8 * sizeof(Number)) + "_t";
    else return "fovea_" + std::string(type_name<Number>);
}

template <class Parameter>
argument_description description_of(argument_text const& text) {
    std::string shape;
    for (int axis = 0; axis < text.rank; ++axis)
        shape += (axis == 0 ? "" : ", ") + std::string(text.axes[static_cast<std::size_t>(axis)]);
    std::string type;
    if constexpr (std::is_same_v<Parameter, graph_view>) type = "fovea_graph";
    else if constexpr (std::is_floating_point_v<Parameter>) type = "double";
    else if constexpr (std::is_integral_v<Parameter>) type = "int64_t";
    else type = c_type<typename Parameter::value_type>();
    return {std::string(text.name), type, shape.empty() ? "" : "(" + shape + ")"};
}

/// Stands for argument `I` while a specification is put into words: few elements, an unlikely number, no edges. What is
/// computed of a number or of an extent differs from round to round (0 and 1).
template <std::size_t I, class Parameter>
struct sample {
    static Parameter of(int round) {
        if constexpr (std::is_same_v<Parameter, bool>) return round == 0;
        else return static_cast<Parameter>(1003 + 1000 * round + static_cast<int>(I));
    }
};
template <std::size_t I>
struct sample<I, graph_view> {
    static graph_view of(int) {
        static constexpr std::array<index_t, 1> offsets{};
        return {offsets, {}, {}};
    }
};
template <std::size_t I, class Element, int Rank>
struct sample<I, view<Element, Rank>> {
    static view<Element, Rank> of(int round) {
        static std::remove_const_t<Element> const elements[1 << argument_text::most_axes]{};
        extents_t<Rank> extents{};
        extents.fill(1 + round);
        return {elements, extents};
    }
};

/// The names of arguments in an expression that was made of samples.
struct names_of_samples {
    std::vector<std::pair<void const*, std::string>> tables;
    std::vector<std::pair<double, std::string>> numbers;

    template <class Parameter>
    void add(Parameter const& value, std::string_view name) {
        if constexpr (is_view<Parameter>) tables.emplace_back(value.data, name);
        else if constexpr (!std::is_same_v<Parameter, graph_view> && !std::is_same_v<Parameter, bool>)
            numbers.emplace_back(static_cast<double>(value), name);
    }
    template <class T, int Rank>
    std::string operator()(view<T, Rank> const& table) const {
        for (auto const& [at, name] : tables)
            if (at == table.data) return name;
        return without_names{}(table);
    }
    template <class Number>
    std::string operator()(Number x) const {
        for (auto const& [value, name] : numbers)
            if (value == static_cast<double>(x)) return name;
        return without_names{}(x);
    }
    /// Names in place of the samples that stand as digits in a text.
    std::string operator()(std::string text) const {
        for (auto const& [value, name] : numbers) {
            auto const digits = without_names{}(value);
            for (auto at = text.find(digits); at != std::string::npos; at = text.find(digits, at + name.size()))
                text.replace(at, digits.size(), name);
        }
        return text;
    }
};

/// What a specification computes, a line for each of its parts.
template <attention_spec A>
std::vector<std::string> formula_of(A const& a, names_of_samples const& names = {}) {
    std::vector<std::string> lines;
    auto const add = [&](char const* what, std::string const& text) {
        if (!text.empty()) lines.push_back(what + text);
    };
    add("rows     ", names(describe(a.project)));
    if constexpr (requires { a.score.expression(); }) add("score    ", print(a.score.expression(), names));
    else add("score    ", names(describe(a.score)));
    if constexpr (enumerating_mask<decltype(a.mask)>) add("pairs    ", "the edges of the graph");
    else if constexpr (requires { a.mask.predicate(); }) add("pairs    ", print(a.mask.predicate(), names));
    else add("pairs    ", names(describe(a.mask)));
    add("weights  ", names(describe(a.normalize)));
    add("result   ", names(describe(a.aggregate)));
    return lines;
}

/// The lines of a specification that is made from arguments. A line that numbers go into changed says so;
/// there are none where samples are no arguments for the function.
template <class Kernel, class Parameters, std::size_t... I>
std::vector<std::string> formula_of(Kernel const& kernel, std::index_sequence<I...>) {
    auto const lines_of = [&]([[maybe_unused]] int round) {
        names_of_samples names;
        (names.add(sample<I, std::tuple_element_t<I, Parameters>>::of(round), Kernel::arguments::arguments[I].name),
         ...);
        return formula_of(kernel.make(sample<I, std::tuple_element_t<I, Parameters>>::of(round)...), names);
    };
    try {
        auto const first = lines_of(0), second = lines_of(1);
        std::vector<std::string> same;
        for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i)
            same.push_back(first[i] == second[i] ? first[i] : first[i].substr(0, 9) + "(computed from arguments)");
        return same;
    } catch (std::exception const&) {
        return {};
    }
}

/// A kernel for elements of one type; `expression` is what it was written as.
template <class Element, class Kernel>
kernel_description describe_kernel(std::string name, std::string expression, Kernel const& kernel) {
    using T = compute_type<Element>;
    kernel_description d;
    d.name = std::move(name);
    d.type = type_name<Element>;
    d.specification = std::move(expression);
    if constexpr (!is_kernel<Kernel, T>()) return d;
    else if constexpr (attention_spec<Kernel>) {
        d.formula = formula_of(kernel);
    } else {
        using parameters = decltype(parameters_of<typename Kernel::make_type, T>());
        using text = typename Kernel::arguments;
        d.paged = Kernel::paged;
        d.ragged = Kernel::ragged;
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (d.arguments.push_back(description_of<std::tuple_element_t<I, parameters>>(text::arguments[I])), ...);
        }(std::make_index_sequence<text::size>());
        d.formula = formula_of<Kernel, parameters>(kernel, std::make_index_sequence<text::size>());
        text::for_each_extent([&](std::string_view own) { d.arguments.push_back({std::string(own), "int64_t", ""}); });
    }
    if (d.paged) {
        d.arguments.push_back({"page_table", "int32_t", "(batch, pages)"});
        d.arguments.push_back({"pages", "int64_t", ""});
    }
    if (d.ragged) {
        d.arguments.push_back({"query_offsets", "int64_t", "(sequences + 1)"});
        d.arguments.push_back({"key_offsets", "int64_t", "(sequences + 1)"});
        d.arguments.push_back({"sequences", "int64_t", ""});
    }
    return d;
}

}  // namespace fovea::FOVEA_SET::bindings
