// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel is in words: its arguments as C declares them, its specification and its formula.
#pragma once

#include <fovea/bindings/computed_numbers.hpp>
#include <fovea/bindings/samples.hpp>
#include <fovea/bindings/takes.hpp>
#include <fovea/core/repeated.hpp>
#include <fovea/driver/call/operands.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/spec/call/check_gradient.hpp>
#include <fovea/spec/call/differentiable.hpp>

#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::bindings {

struct argument_description {
    std::string name, type, shape;
    bool has_gradient = false;
    bool is_table() const { return !shape.empty(); }
    bool is_pointer() const { return is_table() || type == "fovea_graph"; }
};

struct kernel_description {
    std::string name, type, specification;
    std::vector<std::string> comment, formula;  // lines
    std::vector<argument_description> arguments;
    bool paged = false, ragged = false, has_gradients = false;
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

/// The reads of tables in the expressions of a specification as its words print them, and with the names of the tables.
/// Reads that are printed alike, of tables of several names, have none.
class named_reads {
public:
    template <attention_spec A>
    named_reads(A const& a, names_of_tables const& names) {
        auto const add = [&](auto const& e) { add_reads_of(e, names); };
        fovea::detail::for_each_expression_of_weights(a, add);
        if constexpr (requires { a.mask.predicate(); }) add(a.mask.predicate());
        for_each_finish(a.aggregate, [&](auto const& finish) {
            if constexpr (pointwise_finish<std::remove_cvref_t<decltype(finish)>>) add(finish.expression());
        });
    }
    std::string operator()(std::string text) const {
        for (auto const& [printed, named] : reads_)
            for (std::size_t at = text.find(printed); at != std::string::npos && !named.empty();
                 at = text.find(printed, at + named.size()))
                text.replace(at, printed.size(), named);
        return text;
    }

private:
    template <class E>
    void add_reads_of(E const& e, names_of_tables const& names) {
        if constexpr (is_node_of<at_operation, E>) {
            auto const named = print(e, names);
            auto const [place, is_new] = reads_.try_emplace(print(e), named);
            if (!is_new && place->second != named) place->second.clear();
        } else if constexpr (is_node<E>) {
            with_children(e, [&](auto const&... children) { (add_reads_of(children, names), ...); });
        }
    }
    std::map<std::string, std::string> reads_;
};

/// The formula of a specification, a line for each of its parts, and after these itself.
template <attention_spec A>
std::vector<std::string> formula_of(A const& a, names_of_tables const& names = {}) {
    std::vector<std::string> lines;
    named_reads const named(a, names);
    auto const add = [&](std::string label, std::string const& text) {
        label.resize(label_width, ' ');
        if (!text.empty()) lines.push_back(label + text);
    };
    add("rows", describe(a.project));
    if constexpr (requires { a.score.expression(); }) add("score", print(a.score.expression(), names));
    else add("score", describe(a.score));
    if constexpr (enumerating_mask<decltype(a.mask)>) add("pairs", "the edges of the graph");
    else if constexpr (requires { a.mask.predicate(); }) add("pairs", print(a.mask.predicate(), names));
    else add("pairs", describe(a.mask));
    add("weights", named(describe(a.normalize)));
    add("result", named(describe(a.aggregate)));
    add("", named(text(a)));
    return lines;
}

/// The lines of a specification that is made from arguments: of numbers computed from them they say how. There are none
/// where samples are no arguments for the function.
template <class Kernel, class Parameters, std::size_t... I>
std::vector<std::string> formula_of(Kernel const& kernel, std::index_sequence<I...>) {
    using text = typename Kernel::arguments;
    return named_lines(unknowns_of<text, Parameters>, [&](assumed_numbers const& numbers) {
        [[maybe_unused]] std::tuple<sample<std::tuple_element_t<I, Parameters>>...> const samples(
            sample<std::tuple_element_t<I, Parameters>>(text::arguments[I], numbers)...);
        names_of_tables names;
        (std::get<I>(samples).name_table(names, text::arguments[I].name), ...);
        return formula_of(kernel.make(std::get<I>(samples).value...), names);
    });
}

/// Says of which tables a kernel has gradients; of all tables of reals where samples are no arguments for its function.
template <class Kernel, class Parameters, std::size_t... I>
void find_gradients(Kernel const& kernel, std::vector<argument_description>& arguments, std::index_sequence<I...>) {
    using text = typename Kernel::arguments;
    for (int attempt = 0; attempt < 6; ++attempt) {
        assumed_numbers numbers;
        for (auto const& each : unknowns_of<text, Parameters>(attempt))
            numbers.numbers.emplace_back(each.name, each.values[0]);
        try {
            std::tuple<sample<std::tuple_element_t<I, Parameters>>...> const samples(
                sample<std::tuple_element_t<I, Parameters>>(text::arguments[I], numbers)...);
            fovea::detail::for_each_array_with_gradient(
                kernel.make(std::get<I>(samples).value...), [&](auto const& array) {
                    [[maybe_unused]] auto const look = [&](auto const& table, argument_description& argument) {
                        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(table)>,
                                                     std::remove_cvref_t<decltype(array)>>)
                            argument.has_gradient |= fovea::detail::same_elements(table, fovea::detail::once(array));
                    };
                    (look(std::get<I>(samples).value, arguments[I]), ...);
                });
            return;
        } catch (std::exception const&) {
            continue;  // with other numbers
        }
    }
    ((arguments[I].has_gradient = is_table_of_reals<std::tuple_element_t<I, Parameters>>), ...);
}

/// A kernel for elements of one type; `expression` is what it was written as, which stands for it where its words
/// cannot be told before a call, with the comment above it.
template <class Element, class Kernel>
kernel_description describe_kernel(std::string name, std::string expression, Kernel const& kernel,
                                   std::vector<std::string> comment = {}, bool has_gradients = false) {
    using T = compute_type<Element>;
    kernel_description d;
    d.name = std::move(name);
    d.type = type_name<Element>;
    d.specification = std::move(expression);
    d.comment = std::move(comment);
    d.has_gradients = has_gradients;
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
        if (has_gradients)
            find_gradients<Kernel, parameters>(kernel, d.arguments, std::make_index_sequence<text::size>());
        text::for_each_extent([&](std::string_view own) { d.arguments.push_back({std::string(own), "int64_t", ""}); });
    }
    if (!d.formula.empty()) {  // its last line says what the name of a specification does not
        d.specification = d.formula.back().substr(label_width);
        d.formula.pop_back();
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
