// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The unit of each kernel, element type and architecture: a call of C++ from the arguments of C.
#pragma once

#include <fovea/bindings/types.h>
#include <fovea/bindings/elements.hpp>
#include <fovea/bindings/status.hpp>
#include <fovea/bindings/takes.hpp>
#include <fovea/core/packed_bits.hpp>
#include <fovea/core/paged.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/driver/call/operands.hpp>
#include <fovea/spec/quantized.hpp>

#include <algorithm>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::bindings {

/// The number of an integer argument.
///
/// Errors: shape_error where the function takes a smaller type, and the number does not fit.
template <class Number>
Number number_of(std::int64_t value, std::string_view name) {
    if constexpr (std::is_same_v<Number, bool>) {
        return value != 0;
    } else {
        auto const number = static_cast<Number>(value);
        if (static_cast<std::int64_t>(number) != value || (number < Number{0}) != (value < 0))
            throw shape_error(name, " is ", value, ", it must be from ",
                              static_cast<std::int64_t>(std::numeric_limits<Number>::min()), " to ",
                              static_cast<std::int64_t>(std::numeric_limits<Number>::max()));
        return number;
    }
}

/// A graph of C as one of C++.
///
/// Errors: graph_error for a null pointer or negative sizes; the rest is checked by the call.
inline graph_view graph_of(void const* pointer, std::string_view name) {
    if (pointer == nullptr) throw graph_error(name, " is null, it must be a graph");
    auto const& g = *static_cast<fovea_graph const*>(pointer);
    if (g.queries < 0 || g.edges < 0)
        throw graph_error(name, " has ", fovea::detail::counted(g.queries, "query"), " and ",
                          fovea::detail::counted(g.edges, "edge"), ", it must have 0 or more");
    if (g.offsets == nullptr || (g.keys == nullptr && g.edges > 0))
        throw graph_error(name, " has no ", g.offsets == nullptr ? "offsets" : "keys", ": the pointer is null");
    auto const edges = static_cast<std::size_t>(g.edges);
    return {{g.offsets, static_cast<std::size_t>(g.queries) + 1},
            {g.keys, edges},
            {g.numbers, g.numbers == nullptr ? 0 : edges}};
}

/// An array of C, or its first axes. Strides that lead to no other element do not matter: they are 0, whatever stands
/// there.
template <class Element, int Rank = 4>
view<Element, Rank> array_of(fovea_array const& a) {
    extents_t<Rank> extents{}, strides{};
    std::copy_n(a.extents, Rank, extents.begin());
    bool const empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
    for (std::size_t axis = 0; axis < Rank; ++axis) strides[axis] = empty || extents[axis] == 1 ? 0 : a.strides[axis];
    return {static_cast<Element*>(a.data), extents, strides};
}

/// A number for each query, or for each key, of C: an array with one feature, or none, without an address.
///
/// Errors: shape_error where it has more features, or none.
template <class Element>
view<Element, 3> numbers_of(fovea_array const& a, std::string_view name) {
    if (a.data == nullptr) return {};
    if (a.extents[3] != 1)
        throw shape_error(name, " has ", fovea::detail::counted(a.extents[3], "feature"),
                          ", it must have 1: (batch, head, position, 1)");
    return array_of<Element, 3>(a);
}

/// Keys or values of C, or pages of them: an array of numbers, or of blocks where C counts the numbers in these.
///
/// Errors: shape_error where features or strides are no whole blocks.
template <class Element>
view<Element const, 4> rows_of(fovea_array const& a, char const* name) {
    auto rows = array_of<Element const>(a);
    if constexpr (block_format<Element>) {
        auto const require_whole = [&](index_t numbers, auto const&... what) {
            if (numbers % Element::size != 0)
                throw shape_error(name, " has ", what..., ", it must be a multiple of ", Element::size,
                                  ": the numbers in a block of ", type_name<Element>);
        };
        require_whole(rows.extents[3], fovea::detail::counted(rows.extents[3], "feature"));
        rows.extents[3] /= Element::size;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (rows.extents[axis] > 1)
                require_whole(rows.strides[axis], "stride ", rows.strides[axis], " along axis ", axis);
            rows.strides[axis] /= Element::size;
        }
    }
    return rows;
}

/// The same rows as C++ takes them.
template <class Rows>
auto operand_of_rows(Rows const& rows) {
    if constexpr (block_format<element_of_rows<Rows>>) return quantized(rows);
    else return rows;
}

/// The arguments of one call, in the types that the function of the kernel takes.
template <class Kernel, class T>
class arguments_of_call {
    using text = typename Kernel::arguments;
    using parameters = decltype(parameters_of<typename Kernel::make_type, T>());

public:
    arguments_of_call(fovea_array const* operands, fovea_value const* values)
        : query_(operands[0]), key_(operands[1]), value_(operands[2]), values_(values) {}

    view<std::int32_t const, 2> page_table() const {
        return {static_cast<std::int32_t const*>(added(0).pointer), {query_.extents[0], added(1).integer}};
    }
    /// Of queries or of keys; a number of sequences that cannot be is a negative extent.
    view<std::int64_t const, 1> offsets(std::size_t of) const {
        index_t const sequences = added(2).integer;
        index_t const extent = sequences < 0 || sequences == std::numeric_limits<index_t>::max() ? -1 : sequences + 1;
        return {static_cast<std::int64_t const*>(added(of).pointer), {extent}};
    }

    auto specification(Kernel const& kernel) const {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return kernel.make(argument<I>()...);
        }(std::make_index_sequence<text::size>());
    }

    template <std::size_t I>
    auto argument() const {
        using parameter = std::tuple_element_t<I, parameters>;
        auto const& value = values_[I];
        auto const name = text::arguments[I].name;
        if constexpr (std::is_same_v<parameter, graph_view>) return graph_of(value.pointer, name);
        else if constexpr (std::is_floating_point_v<parameter>) return static_cast<parameter>(value.real);
        else if constexpr (std::is_integral_v<parameter>) return number_of<parameter>(value.integer, name);
        else return table<I, parameter>(value.pointer);
    }

private:
    /// The arguments after those of the kernel and their extents.
    fovea_value const& added(std::size_t i) const { return values_[text::size + text::extents + i]; }

    template <std::size_t I, class View>
    View table(void const* pointer) const {
        extents_t<View::rank> extents{};
        for (int axis = 0; axis < View::rank; ++axis)
            extents[static_cast<std::size_t>(axis)] = extent(text::arguments[I].axes[static_cast<std::size_t>(axis)]);
        using element = typename View::value_type;
        if constexpr (std::is_same_v<element, bit>)
            return fovea::detail::bits_in_rows(static_cast<unsigned char const*>(pointer), extents);
        else return View(static_cast<element const*>(pointer), extents);
    }

    index_t extent(std::string_view name) const {
        if (detail::is_number(name)) {
            index_t n = 0;
            for (char const c : name) n = 10 * n + (c - '0');
            return n;
        }
        if (name == "batch") return query_.extents[0];
        if (name == "heads") return query_.extents[1];
        if (name == "queries") return query_.extents[2];
        if (name == "features") return query_.extents[3];
        if (name == "key_heads") return key_.extents[1];
        if (name == "keys") return keys();
        if (name == "value_features") return value_.extents[3];
        if (name == pages_name) return added(1).integer;
        if (name == sequences_name) return added(2).integer;
        return extent_of_argument(name);
    }

    /// The positions of pages together; -1 where they cannot be counted.
    index_t keys() const {
        if constexpr (Kernel::paged) {
            index_t n = 0;
            return __builtin_mul_overflow(added(1).integer, key_.extents[2], &n) ? -1 : n;
        } else {
            return key_.extents[2];
        }
    }

    /// Of a number, the edges of a graph, or an extent that follows the arguments.
    index_t extent_of_argument(std::string_view name) const {
        std::size_t found = text::place_of(name);
        if (found < text::size)
            return is_graph(found) ? graph_of(values_[found].pointer, name).edges() : values_[found].integer;
        std::size_t i = text::size;
        text::for_each_extent([&](std::string_view own) {
            if (own == name) found = i;
            ++i;
        });
        return values_[found].integer;
    }
    static constexpr bool is_graph(std::size_t place) {
        return []<std::size_t... I>(std::size_t at, std::index_sequence<I...>) {
            return ((at == I && std::is_same_v<std::tuple_element_t<I, parameters>, graph_view>) || ...);
        }(place, std::make_index_sequence<text::size>());
    }

    fovea_array const &query_, &key_, &value_;
    fovea_value const* values_;
};

/// Calls use(specification, query, key, value) as attend takes them: of a specification, or of one that its arguments
/// make, over pages or sequences where it is so made.
template <class Types, class Kernel, class Use>
void with_operands(fovea_array const* operands, fovea_value const* values, Kernel const& kernel, Use const& use) {
    auto const query = array_of<typename Types::query const>(operands[0]);
    auto const key = rows_of<typename Types::key>(operands[1], "key");
    auto const value = rows_of<typename Types::value>(operands[2], "value");
    if constexpr (attention_spec<Kernel>) {
        use(kernel, query, operand_of_rows(key), operand_of_rows(value));
    } else {
        arguments_of_call<Kernel, typename Types::number> const arguments(operands, values);
        auto const spec = arguments.specification(kernel);
        if constexpr (Kernel::paged) {
            auto const table = arguments.page_table();
            use(spec, query, operand_of_rows(paged(key, table)), operand_of_rows(paged(value, table)));
        } else if constexpr (Kernel::ragged) {
            use(ragged(arguments.offsets(0), arguments.offsets(1)), spec, query, operand_of_rows(key),
                operand_of_rows(value));
        } else {
            use(spec, query, operand_of_rows(key), operand_of_rows(value));
        }
    }
}

/// One call of C++; `asked` are outputs beside the result.
template <class Types, class Kernel, class... Asked>
void attend_operands(threads const& executor, workspace& scratch, fovea_array const* operands,
                     fovea_value const* values, Kernel const& kernel, Asked const&... asked) {
    auto const result = array_of<typename Types::result>(operands[3]);
    with_operands<Types>(operands, values, kernel,
                         [&](auto const&... each) { attend(executor, scratch, each..., result, asked...); });
}

/// Does something with the threads and the scratch memory of a call, and makes a status of what it throws.
template <class Work>
fovea_status run_with(fovea_call const* call, Work const& work) noexcept {
    return status_of(call, [&] {
        threads const executor(call == nullptr ? 1 : call->threads);
        if (call != nullptr && call->workspace != nullptr) {
            work(executor, *reinterpret_cast<workspace*>(call->workspace));
        } else {
            workspace scratch;
            work(executor, scratch);
        }
    });
}

/// A call of one kernel from C; `Elements` are those of element_types.
template <class... Elements, class Kernel>
fovea_status run_unit(fovea_call const* call, fovea_array const* operands, fovea_value const* values,
                      Kernel const& kernel) noexcept {
    using types = element_types<Elements...>;
    if constexpr (is_kernel<Kernel, typename types::number>())
        return run_with(call, [&](threads const& executor, workspace& scratch) {
            attend_operands<types>(executor, scratch, operands, values, kernel);
        });
    else return FOVEA_FAILED;
}

}  // namespace fovea::FOVEA_SET::bindings
