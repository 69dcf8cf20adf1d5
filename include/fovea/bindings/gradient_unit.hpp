// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The unit of each kernel with gradients, element type and architecture: a call of gradient from the arguments
// of C.
#pragma once

#include <fovea/bindings/outputs.hpp>
#include <fovea/bindings/unit.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/gradient.hpp>
#include <fovea/spec/call/saved_rows.hpp>

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace fovea::FOVEA_SET::bindings {

/// Whether a kernel has gradients for C, said once where it has none.
template <class Kernel, class T>
constexpr bool has_gradients() {
    if constexpr (!is_kernel<Kernel, T>()) {
        return false;
    } else if constexpr (attention_spec<Kernel>) {
        constexpr bool passes = driver::has_gradient_pass<T, Kernel>() || driver::has_layer_gradient<T, Kernel>();
        static_assert(
            passes,
            "fovea: a kernel has gradients where its aggregator is weighted_sum or running_state: take it out "
            "of GRADIENTS");
        return passes;
    } else {
        constexpr bool plain = !Kernel::paged && !Kernel::ragged;
        static_assert(plain, "fovea: a kernel over pages or of sequences has no gradients: take it out of GRADIENTS");
        if constexpr (plain) {
            using arguments = arguments_of_call<Kernel, T>;
            return has_gradients<decltype(std::declval<arguments const&>().specification(std::declval<Kernel>())), T>();
        } else {
            return false;
        }
    }
}

/// An argument, and where its gradient goes. Gradients are found by the elements that they are of: an argument with the
/// elements of another one is copied, so that each gets its own.
template <class Element, int Rank>
struct asked_argument {
    view<Element const, Rank> of;
    view<Element, Rank> target;  // without an address where it is not asked for
    std::string name;
    std::size_t place = 0;  // among the arguments of the kernel
    std::string target_name = "d_" + name;
    tensor<Element, Rank> copy{{}};

    /// Errors: shape_error for what cannot be read.
    template <class... Others>
    void set_apart_from(Others const&... others) {
        if ((has_elements_of(others.of) || ...)) become_copy();
    }
    grad_output<Element, Element, Rank> asked() const {
        return {of, target, target_name.c_str(), target.data != nullptr};
    }

private:
    template <class Other, int OtherRank>
    bool has_elements_of(view<Other const, OtherRank> const& other) const {
        return fovea::names < OtherRank == 4 > (grad_output<Element, Element, Rank>{of, target}, other);
    }
    /// Copies elements once that an axis of stride 0 repeats.
    void become_copy() {
        fovea::detail::require_sound(fovea::detail::region_of(of, name.c_str()));
        auto kept = of.extents;
        for (std::size_t axis = 0; axis < kept.size(); ++axis)
            if (of.strides[axis] == 0 && kept[axis] > 1) kept[axis] = 1;
        copy = tensor<Element, Rank>(kept);
        fovea::detail::for_each_index(kept, [&](auto... index) { copy(index...) = of(index...); });
        view<Element const, Rank> copied = std::as_const(copy).view();
        copied.extents = of.extents;
        for (std::size_t axis = 0; axis < kept.size(); ++axis)
            if (kept[axis] != of.extents[axis]) copied.strides[axis] = 0;
        of = copied;
    }
};

/// The argument of a place, if it is a table of reals.
template <std::size_t I, class Kernel, class T>
auto asked_table(arguments_of_call<Kernel, T> const& arguments, fovea_value const* targets) {
    using parameter = std::tuple_element_t<I, decltype(parameters_of<typename Kernel::make_type, T>())>;
    if constexpr (is_table_of_reals<parameter>) {
        using element = std::remove_const_t<typename parameter::value_type>;
        auto const of = arguments.template argument<I>();
        auto* const target = static_cast<element*>(const_cast<void*>(targets[I].pointer));
        return std::tuple<asked_argument<element, rank_of<parameter>>>{
            {of, {target, of.extents}, std::string(Kernel::arguments::arguments[I].name), I}};
    } else {
        return std::tuple<>();
    }
}

/// Sets tables apart from operands and from one another; `values` get where they are.
template <class... Tables, class... Operands>
void set_apart(std::tuple<Tables...>& tables, fovea_value* values, Operands const&... operands) {
    [[maybe_unused]] auto const set = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
        auto& table = std::get<N>(tables);
        [&]<std::size_t... Before>(std::index_sequence<Before...>) {
            table.set_apart_from(operands..., std::get<Before>(tables)...);
        }(std::make_index_sequence<N>());
        values[table.place].pointer = table.of.data;
    };
    [&]<std::size_t... N>(std::index_sequence<N...>) {
        (set(std::integral_constant<std::size_t, N>()), ...);
    }(std::index_sequence_for<Tables...>());
}

/// The gradient of the log-sum-exp, as `d_lse` gives it, that a call may leave out: an array without an address.
template <class T>
struct d_lse_if_given {
    using output_tag = void;
    using d_lse_tag = void;
    using element = T;
    static constexpr std::string_view name = "d_lse";
    view<T const, 3> target;

    view<T const, 3> rows(operand_shapes const& shapes) const {
        return target.data == nullptr ? target : rows_of_call("d_lse is", target, shapes);
    }
};

/// The result and the log-sum-exp of the forward call, as its saved rows, that a call may leave out: arrays without
/// addresses. A row is given again by its log-sum-exp as the maximum m and 1 as the sum of exp(s - m); one that saw no
/// key by 0.
template <class T>
class forward_if_given {
public:
    using output_tag = void;
    using saved_tag = void;
    using value_type = T;
    static constexpr std::string_view name = "saved_rows";

    /// Errors: shape_error where one is given without the other, or they do not fit one another.
    forward_if_given(fovea_array const& result, fovea_array const& lse) : lse_(numbers_of<T const>(lse, "lse")) {
        if (complete() != (result.data != nullptr))
            throw shape_error(complete() ? "result" : "lse", " is null, it must be that of the forward call, as ",
                              complete() ? "lse" : "result", " is");
        if (!complete()) return;
        result_ = array_of<T const>(result);
        memory([](auto const& region) { fovea::detail::require_sound(region); });
        extents_t<3> const rows{result_.extents[0], result_.extents[1], result_.extents[2]};
        if (lse_.extents != rows)
            throw shape_error("lse is ", lse_.extents, " and must be ", rows, ", (batch, head, query)");
        sums_ = tensor<T, 3>(rows, T{1});
        fovea::detail::for_each_index(rows, [&](auto... at) {
            if (lse_(at...) == excluded<T>) sums_(at...) = T{0};
        });
    }

    bool complete() const { return lse_.data != nullptr; }
    view<T const, 4> result() const { return result_; }
    row_state_views<T const> rows() const { return {lse_, std::as_const(sums_).view(), result_}; }

    /// The arrays that are read: visit(region).
    template <class Visit>
    void memory(Visit const& visit) const {
        if (!complete()) return;
        visit(fovea::detail::region_of(result_, "result"));
        visit(fovea::detail::region_of(lse_, "lse"));
    }

private:
    view<T const, 4> result_;
    view<T const, 3> lse_;
    tensor<T, 3> sums_{{}};
};

/// Arguments of gradient that a kernel's outputs give rise to, from arrays of C: the gradient of the log-sum-exp, and
/// what the forward call gave.
template <class A, class Element, fixed_string... Names>
auto given_of_outputs(fovea_array const* arrays) {
    using T = compute_type<Element>;
    if constexpr (takes_forward<A, Element, Names...>)
        return std::tuple<d_lse_if_given<T>, forward_if_given<T>>(
            d_lse_if_given<T>{numbers_of<T const>(arrays[0], "d_lse")}, forward_if_given<T>(arrays[1], arrays[2]));
    else if constexpr ((takes_gradient_of<A, Names> || ...))
        return std::tuple(d_lse_if_given<T>{numbers_of<T const>(arrays[0], "d_lse")});
    else return std::tuple();
}

/// The gradients of one call of C++; `given` is what its outputs beside the result give rise to.
template <class Element, class T, class Kernel, class... Given>
void differentiate_operands(threads const& executor, workspace& scratch, fovea_array const* operands,
                            fovea_value const* values, Kernel const& kernel, Given const&... given) {
    auto const operand = [&](std::size_t i, char const* name) {
        return asked_argument<Element, 4>{array_of<Element const>(operands[i]), array_of<Element>(operands[4 + i]),
                                          name};
    };
    auto query = operand(0, "query"), key = operand(1, "key"), value = operand(2, "value");
    auto const compute = [&](auto const& spec, auto const&... tables) {
        gradient(executor, scratch, spec, query.of, key.of, value.of, array_of<Element const>(operands[3]), given...,
                 query.asked(), key.asked(), value.asked(), tables.asked()...);
    };
    key.set_apart_from(query);
    value.set_apart_from(query, key);
    if constexpr (attention_spec<Kernel>) {
        compute(kernel);
    } else {
        using text = typename Kernel::arguments;
        constexpr std::size_t count = text::size + text::extents;
        std::array<fovea_value, count + 1> own{};
        std::copy_n(values, count, own.begin());
        arguments_of_call<Kernel, T> const arguments(operands, own.data());
        auto tables = [&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple_cat(asked_table<I>(arguments, values + count)...);
        }(std::make_index_sequence<text::size>());
        set_apart(tables, own.data(), query, key, value);
        std::apply([&](auto const&... each) { compute(arguments.specification(kernel), each...); }, tables);
    }
}

/// A call of the gradients of one kernel from C. Operands are query, key, value, the gradient of the result, where the
/// gradients of the first three go, the gradient of each output that has one and, where the kernel takes them, the
/// result and the log-sum-exp of the forward call, all of which may have no address; behind the arguments stands, for
/// each, where its gradient goes.
template <class Element, class Kernel, fixed_string... Names>
fovea_status run_gradient_unit(fovea_call const* call, fovea_array const* operands, fovea_value const* values,
                               Kernel const& kernel, outputs<Names...> = {}) noexcept {
    using T = compute_type<Element>;
    if constexpr (has_gradients<Kernel, T>())
        return run_with(call, [&](threads const& executor, workspace& scratch) {
            using specification = typename decltype(specification_type<Kernel, T>())::type;
            std::apply(
                [&](auto const&... given) {
                    differentiate_operands<Element, T>(executor, scratch, operands, values, kernel, given...);
                },
                given_of_outputs<specification, Element, Names...>(operands + 7));
        });
    else return FOVEA_FAILED;
}

}  // namespace fovea::FOVEA_SET::bindings
