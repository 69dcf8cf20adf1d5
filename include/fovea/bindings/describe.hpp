// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel in words: its arguments as C declares them, its specification and its formula.
#pragma once

#include <fovea/bindings/elements.hpp>
#include <fovea/bindings/outputs.hpp>
#include <fovea/bindings/samples.hpp>
#include <fovea/bindings/takes.hpp>
#include <fovea/core/view.hpp>
#include <fovea/driver/call/operands.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/spec/call/check_gradient.hpp>
#include <fovea/spec/call/differentiable.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
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

struct output_description {
    std::string name, type, shape;
    bool has_gradient = false;
};

struct kernel_description {
    std::string name, type, specification;
    std::array<std::string, 4> types;           // of query, key, value and result
    std::vector<std::string> comment, formula;  // lines
    std::vector<argument_description> arguments;
    std::vector<output_description> outputs;
    bool paged = false, ragged = false, has_gradients = false;
    bool takes_forward = false;  // gradients take the result and the log-sum-exp of the forward call
    bool keeps_shape = false;    // the result has the rows of the query and the features of the value
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

/// The length of a label: the characters at the start of a line that say what it is about.
inline constexpr std::size_t label_width = 9;

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

/// A text cut at its numbers: what stands between them, and they.
struct split_text {
    std::vector<std::string> pieces{""}, digits;
};
inline split_text split_at_numbers(std::string const& text) {
    auto const in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    split_text split;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i + 1;
        bool const number = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
        if (number) {
            char* after = nullptr;
            std::strtod(text.c_str() + i, &after);
            end = static_cast<std::size_t>(after - text.c_str());
        } else if (in_name(text[i])) {
            while (end < text.size() && in_name(text[end])) ++end;
        }
        auto const word = text.substr(i, end - i);
        if (number || word == "true" || word == "false") {
            split.digits.push_back(word);
            split.pieces.emplace_back();
        } else {
            split.pieces.back() += word;
        }
        i = end;
    }
    return split;
}

/// A line that two sets of numbers give, with the name of an argument for each number that is the argument in both. A
/// number that differs otherwise is "(computed)": the function of the kernel computed it before the language saw it.
template <class Numbers>
std::string named_line(std::array<std::string, 2> const& lines, std::array<Numbers, 2> const& numbers) {
    auto const first = split_at_numbers(lines[0]), second = split_at_numbers(lines[1]);
    if (first.pieces != second.pieces) return lines[0].substr(0, label_width) + "(computed)";
    auto const is = [](std::string const& digits, double x) {
        return digits == fovea::detail::text_of_real(static_cast<float>(x)) || digits == (x != 0 ? "true" : "false");
    };
    std::string text = first.pieces[0];
    for (std::size_t i = 0; i < first.digits.size(); ++i) {
        bool const same = first.digits[i] == second.digits[i];
        std::string name = same ? first.digits[i] : "(computed)";
        for (auto const& [argument, x] : numbers[0])
            if (!same && is(first.digits[i], x) && is(second.digits[i], numbers[1].find(argument)->second))
                name = argument;
        text += name + first.pieces[i + 1];
    }
    return text;
}

/// The lines of a specification that is made from arguments, with their names; none where its function refuses samples.
template <class Parameters, class Kernel>
std::vector<std::string> formula_of_samples(Kernel const& kernel) {
    using numbers_type = decltype(sample_numbers<typename Kernel::arguments, Parameters>(0, 0));
    std::array<std::vector<std::string>, 2> lines;
    std::array<numbers_type, 2> numbers;
    std::vector<std::string> named;
    if (!with_samples<Kernel, Parameters>(
            kernel,
            [&](int set, auto const& a, auto const& names, auto const& of_set, auto const&) {
                auto const s = static_cast<std::size_t>(set);
                lines[s] = formula_of(a, names);
                numbers[s] = of_set;
            })
        || lines[0].size() != lines[1].size())
        return named;
    for (std::size_t i = 0; i < lines[0].size(); ++i)
        named.push_back(named_line<numbers_type>({lines[0][i], lines[1][i]}, numbers));
    return named;
}

/// Says of which tables a kernel has gradients; of all tables of reals where its function refuses samples.
template <class Parameters, class Kernel>
void find_gradients(Kernel const& kernel, std::vector<argument_description>& arguments) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        if (!with_samples<Kernel, Parameters>(kernel, [&](int, auto const& a, auto const&, auto const&,
                                                          auto const& tables) {
                fovea::detail::for_each_array_with_gradient(a, [&](auto const& array) {
                    [[maybe_unused]] auto const look = [&](auto const& table, argument_description& argument) {
                        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(table)>,
                                                     std::remove_cvref_t<decltype(array)>>)
                            argument.has_gradient |= fovea::detail::same_elements(table, fovea::detail::once(array));
                    };
                    (look(std::get<I>(tables), arguments[I]), ...);
                });
            }))
            ((arguments[I].has_gradient = is_table_of_reals<std::tuple_element_t<I, Parameters>>), ...);
    }(std::make_index_sequence<std::tuple_size_v<Parameters>>());
}

/// An output of a kernel that computes in T.
template <fixed_string Name, class Kernel, class T>
output_description description_of_output(bool has_gradients) {
    using A = typename decltype(specification_type<Kernel, T>())::type;
    return {std::string(Name.view()), std::string(type_name<output_element<Name, T>>),
            shape_of_output<Name, Kernel, T>(), has_gradients && takes_gradient_of<A, Name>};
}

/// A kernel for some element types; `expression` is what names it, which stands for it where its words cannot be told
/// before a call, with the comment above it and the specification as it was `written`.
template <class... Elements, class Kernel, fixed_string... Names>
kernel_description describe_kernel(std::string name, std::string expression, Kernel const& kernel,
                                   std::vector<std::string> comment = {}, bool has_gradients = false,
                                   std::string const& written = {}, outputs<Names...> = {}) {
    using types = element_types<Elements...>;
    using T = typename types::number;
    kernel_description d;
    d.name = std::move(name);
    d.type = types::name();
    std::copy(types::names.begin(), types::names.end(), d.types.begin());
    d.specification = std::move(expression);
    d.comment = std::move(comment);
    d.has_gradients = has_gradients;
    if constexpr (!is_kernel<Kernel, T>()) return d;
    else if constexpr (attention_spec<Kernel>) {
        d.formula = formula_of(kernel);
        d.keeps_shape = keeps_shape_of<Kernel>;
    } else {
        using parameters = decltype(parameters_of<typename Kernel::make_type, T>());
        using text = typename Kernel::arguments;
        d.paged = Kernel::paged;
        d.ragged = Kernel::ragged;
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (d.arguments.push_back(description_of<std::tuple_element_t<I, parameters>>(text::arguments[I])), ...);
        }(std::make_index_sequence<text::size>());
        d.formula = formula_of_samples<parameters>(kernel);
        if (has_gradients) find_gradients<parameters>(kernel, d.arguments);
        d.keeps_shape = keeps_shape_of<decltype(std::apply(kernel.make, std::declval<parameters const&>()))>;
        text::for_each_extent([&](std::string_view own) { d.arguments.push_back({std::string(own), "int64_t", ""}); });
    }
    if constexpr (has_outputs<Kernel, T, Names...>()) {
        (d.outputs.push_back(description_of_output<Names, Kernel, T>(has_gradients)), ...);
        using A = typename decltype(specification_type<Kernel, T>())::type;
        d.takes_forward = has_gradients && takes_forward<A, typename types::query, Names...>;
    }
    if (!d.formula.empty()) {  // its last line says what the name of a specification does not
        d.specification = d.formula.back().substr(label_width);
        d.formula.pop_back();
    }
    if (!written.empty()) d.specification = written;
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
