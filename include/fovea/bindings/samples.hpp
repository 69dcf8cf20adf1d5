// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stands for the arguments of a kernel while it is put into words.
#pragma once

#include <fovea/bindings/computed_numbers.hpp>
#include <fovea/bindings/signature.hpp>
#include <fovea/expr/print.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::bindings {

/// The names of tables in an expression that was made of samples. Numbers stand as digits.
class names_of_tables : public without_names {
public:
    void add(void const* first, void const* end, std::string_view name) {
        tables_.push_back({static_cast<std::byte const*>(first), static_cast<std::byte const*>(end), name});
    }

    using without_names::operator();
    template <class T, int Rank>
    std::string operator()(view<T, Rank> const& table) const {
        auto const* const at = reinterpret_cast<std::byte const*>(table.data);
        for (auto const& each : tables_)
            if (!std::less<>{}(at, each.first) && std::less<>{}(at, each.end)) return std::string(each.name);
        return without_names::operator()(table);
    }

private:
    struct named_table {
        std::byte const *first, *end;
        std::string_view name;
    };
    std::vector<named_table> tables_;
};

/// An argument for which some numbers are assumed: a number; a graph without edges; a table of zeros.
template <class Parameter>
struct sample {
    Parameter value;

    sample(argument_text const& text, assumed_numbers const& numbers) : value(of(numbers.of(text.name))) {}
    void name_table(names_of_tables&, std::string_view) const {}

private:
    static Parameter of(double x) {
        if constexpr (std::is_integral_v<Parameter> && !std::is_same_v<Parameter, bool>)
            if (x > static_cast<double>(std::numeric_limits<Parameter>::max())) throw std::out_of_range("a sample");
        return static_cast<Parameter>(x);
    }
};

template <>
struct sample<graph_view> {
    static constexpr std::array<index_t, 1> offsets{};
    graph_view value{offsets, {}, {}};

    sample(argument_text const&, assumed_numbers const&) {}
    void name_table(names_of_tables&, std::string_view) const {}
};

template <class Element, int Rank>
class sample<view<Element, Rank>> {
    using number = std::remove_const_t<Element>;
    index_t size_ = 1;
    std::unique_ptr<number[]> elements_;

public:
    view<Element, Rank> value;

    sample(argument_text const& text, assumed_numbers const& numbers) {
        extents_t<Rank> extents{};
        for (std::size_t axis = 0; axis < Rank; ++axis) {
            extents[axis] = static_cast<index_t>(numbers.of(text.axes[axis]));
            if (__builtin_mul_overflow(size_, extents[axis], &size_) || size_ > most) throw std::bad_alloc();
        }
        size_ = std::max<index_t>(size_, 1);  // so that each table has an address of its own
        elements_ = std::make_unique<number[]>(static_cast<std::size_t>(size_));
        value = {elements_.get(), extents};
    }
    void name_table(names_of_tables& names, std::string_view name) const {
        names.add(elements_.get(), elements_.get() + size_, name);
    }

private:
    static constexpr index_t most = index_t{1} << 26;
};

/// The numbers that a specification may be made from: the arguments that are numbers, and the extents of tables. Not
/// every function takes every number, so there are attempts: small ones and large ones, extents of every kind, odd ones
/// and even ones. Differences of arguments keep their sign while one of them changes.
template <class Text, class Parameters>
std::vector<unknown_number> unknowns_of(int attempt) {
    std::vector<unknown_number> all;
    auto const add = [&](std::string_view name, double first, double second, double third) {
        auto const same = [&](unknown_number const& each) { return each.name == name; };
        if (std::none_of(all.begin(), all.end(), same)) all.push_back({std::string(name), {first, second, third}});
    };
    auto const add_argument = [&]<class Parameter>(std::type_identity<Parameter>, std::size_t i) {
        auto const name = Text::arguments[i].name;
        auto const place = static_cast<double>(i);
        bool const small = attempt < 3;
        if constexpr (std::is_same_v<Parameter, graph_view>) add(name, 0, 0, 0);
        else if constexpr (std::is_same_v<Parameter, bool>) add(name, 1, 0, 0);
        else if constexpr (!std::is_arithmetic_v<Parameter>) return;
        else if (!small) add(name, 1003 + 1000 * place, 1204 + 1000 * place, 1606 + 1000 * place);
        else if constexpr (std::is_integral_v<Parameter>) add(name, 3 + 8 * place, 4 + 8 * place, 6 + 8 * place);
        else add(name, (1 + place) / 8, (1.25 + place) / 8, (1.75 + place) / 8);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (add_argument(std::type_identity<std::tuple_element_t<I, Parameters>>{}, I), ...);
    }(std::make_index_sequence<Text::size>());
    auto const least = attempt % 3 == 2 ? 2.0 : 3.0, step = attempt % 3 == 0 ? 1.0 : 2.0;
    for (auto const& argument : Text::arguments)
        for (int axis = 0; axis < argument.rank; ++axis) {
            auto const name = argument.axes[static_cast<std::size_t>(axis)];
            double const number = detail::is_number(name) ? std::stod(std::string(name)) : 0;
            if (detail::is_number(name)) add(name, number, number, number);
            else add(name, least, least + step, least + 3 * step);
        }
    return all;
}

}  // namespace fovea::FOVEA_SET::bindings
