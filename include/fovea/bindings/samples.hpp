// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Specifications that a kernel makes of samples of its arguments, before any call.
#pragma once

#include <fovea/bindings/takes.hpp>
#include <fovea/core/graph.hpp>
#include <fovea/core/view.hpp>
#include <fovea/expr/print.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>
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
        auto const* const at = reinterpret_cast<std::byte const*>(fovea::detail::byte_of(table.data));
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

/// The numbers that samples of arguments have, by name: arguments that are numbers, and extents of tables. Of two sets
/// of one attempt each number differs. Not every function takes every number: attempts have small ones and large ones,
/// and extents of every kind.
template <class Text, class Parameters>
std::map<std::string, double, std::less<>> sample_numbers(int attempt, int set) {
    std::map<std::string, double, std::less<>> numbers;
    int place = 0;
    auto const add_argument = [&]<class Parameter>(std::type_identity<Parameter>, std::string_view name) {
        double const x = ++place + 0.25 * set;
        if constexpr (std::is_same_v<Parameter, bool>) numbers.try_emplace(std::string(name), 1 - set);
        else if constexpr (std::is_same_v<Parameter, graph_view>) numbers.try_emplace(std::string(name), 0);
        else if constexpr (std::is_floating_point_v<Parameter>)
            numbers.try_emplace(std::string(name), attempt < 3 ? x / 8 : 1000 * x);
        else if constexpr (std::is_integral_v<Parameter>)
            numbers.try_emplace(std::string(name), attempt < 3 || sizeof(Parameter) == 1 ? 8 * x : 1000 * x);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (add_argument(std::type_identity<std::tuple_element_t<I, Parameters>>{}, Text::arguments[I].name), ...);
    }(std::make_index_sequence<Text::size>());
    double const step = attempt % 3 == 0 ? 1 : 2;
    double extent = (attempt % 3 == 2 ? 2 : 3) + 10 * set;
    for (auto const& argument : Text::arguments)
        for (int axis = 0; axis < argument.rank; ++axis) {
            std::string const name(argument.axes[static_cast<std::size_t>(axis)]);
            bool const is_new = numbers.try_emplace(name, detail::is_number(name) ? std::stod(name) : extent).second;
            if (is_new && attempt < 3) extent += step;  // extents of different names are equal in later attempts
        }
    return numbers;
}

/// An argument with sample numbers: a number; a graph without edges; a table of zeros.
template <class Parameter>
struct sample {
    Parameter value;

    template <class Numbers>
    sample(argument_text const& text, Numbers const& numbers)
        : value(static_cast<Parameter>(numbers.find(text.name)->second)) {}
    void name_table(names_of_tables&, std::string_view) const {}
};
template <>
struct sample<graph_view> {
    static constexpr std::array<index_t, 1> offsets{};
    graph_view value{offsets, {}, {}};

    template <class Numbers>
    sample(argument_text const&, Numbers const&) {}
    void name_table(names_of_tables&, std::string_view) const {}
};
template <class Element, int Rank>
class sample<view<Element, Rank>> {
    using number = std::conditional_t<fovea::detail::is_bit<Element>, unsigned char, std::remove_const_t<Element>>;
    index_t size_ = 1;  // of bits no less than their bytes
    std::unique_ptr<number[]> elements_;

public:
    view<Element, Rank> value;

    template <class Numbers>
    sample(argument_text const& text, Numbers const& numbers) {
        extents_t<Rank> extents{};
        for (std::size_t axis = 0; axis < Rank; ++axis) {
            extents[axis] = static_cast<index_t>(numbers.find(text.axes[axis])->second);
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

/// Calls f(spec, names of tables, numbers) for specifications that a kernel makes of samples, two sets of one attempt;
/// false where its function refuses all of them.
template <class Kernel, class Parameters, class F>
bool with_samples(Kernel const& kernel, F const& f) {
    using text = typename Kernel::arguments;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        for (int attempt = 0; attempt < 6; ++attempt) try {
                for (int const set : {0, 1}) {
                    auto const numbers = sample_numbers<text, Parameters>(attempt, set);
                    [[maybe_unused]] std::tuple<sample<std::tuple_element_t<I, Parameters>>...> const samples(
                        sample<std::tuple_element_t<I, Parameters>>(text::arguments[I], numbers)...);
                    names_of_tables names;
                    (std::get<I>(samples).name_table(names, text::arguments[I].name), ...);
                    f(set, kernel.make(std::get<I>(samples).value...), names, numbers,
                      std::tie(std::get<I>(samples).value...));
                }
                return true;
            } catch (std::exception const&) {
                continue;  // with other numbers
            }
        return false;
    }(std::make_index_sequence<text::size>());
}

}  // namespace fovea::FOVEA_SET::bindings
