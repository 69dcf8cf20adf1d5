// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call `explain_gradient()`: the derivatives of a specification as expressions, and what computes a gradient of it,
// as text.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/driver/explain.hpp>
#include <fovea/driver/layer_gradient.hpp>
#include <fovea/expr/backpropagate.hpp>
#include <fovea/expr/print.hpp>

#include <string>

namespace fovea::FOVEA_SET {

namespace derivatives {
/// The derivative of a whole by a child, from that by its parent.
template <class ByParent, class ByChild>
constexpr auto chained(ByParent const& by_parent, ByChild const& by_child) {
    if constexpr (std::is_same_v<ByParent, one> || is_zero<ByChild>) return by_child;
    else if constexpr (std::is_same_v<ByChild, one>) return by_parent;
    else return by_parent * by_child;
}

template <class E, class Whole, class Found>
void find_each(E const& e, Whole const& by_this, Found const& found) {
    if constexpr (has_gradient<E>) {
        if constexpr (!is_node<E> || is_node_of<at_operation, E>) {
            found(e, written(by_this));
        } else if constexpr (is_node_of<operations::sum, E>) {
            find_each(get<0>(e), by_this, found);
        } else {
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                [[maybe_unused]] auto const go_on = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
                    auto const& child = get<N>(e);
                    if constexpr (has_gradient<std::remove_cvref_t<decltype(child)>>) {
                        auto const by_child = chained(by_this, derivatives::by_child<N>(e));
                        if constexpr (!is_zero<std::remove_const_t<decltype(by_child)>>)
                            find_each(child, by_child, found);
                    }
                };
                (go_on(std::integral_constant<std::size_t, I>()), ...);
            }(std::make_index_sequence<E::arity>());
        }
    }
}
}  // namespace derivatives

/// for_each_derivative: calls found(leaf, derivative) for each place where an expression reads a number that a gradient
/// can be of: a feature, the score, the weight, the result, or an element of a table.
///
/// Of a sum over features it is that by one feature, in which q and k stand for that one.
template <expression E, class Found>
void for_each_derivative(E const& e, Found const& found) {
    derivatives::find_each(e, derivatives::one{}, found);
}

namespace driver {
/// "by q        k * rsqrt(dim)": a line for each place where an expression reads a number that has a gradient.
template <class E>
std::string explain_derivatives(E const& e) {
    std::string text;
    for_each_derivative(e, [&](auto const& leaf, auto const& derivative) {
        std::string name = "by " + print(leaf);
        name.resize(std::max<std::size_t>(name.size() + 1, 12), ' ');
        text += name + print(derivative) + "\n";
    });
    return text;
}

/// True where a matrix unit would compute the products of operands and gradients of results of type `Stored`.
template <class Stored, class Arch, class A>
constexpr bool gradient_uses_matrix_unit() {
    using rows = view<Stored const, 4>;
    using lowered = decltype(plan::lower_attention(std::declval<A const&>()));
    using pairs = plan::lowered_score<decltype(lowered::score), decltype(lowered::predicate)>;
    using scores = plan::score_types<compute_type<Stored>, Arch, pairs, score_operands<Stored, rows>>;
    return plan::gradient_uses_matrix_unit<scores, rows, Stored>;
}

/// The pass that computes the gradient of an attention on heads, of operands of type `Stored`.
template <class Stored, class Arch, class A>
std::string explain_gradient_pass() {
    using T = compute_type<Stored>;
    if constexpr (!has_gradient_pass<T, A>()) return "as it is defined, pair by pair in double: reference/gradient.hpp";
    else if constexpr (is_recurrent<A>)
        return "chunks of keys, a sweep forward and one back: driver/recurrent/backward/recurrent_gradient.hpp";
    else if constexpr (plan::lists_keys<A>)
        return "a pass over the queries and one over the keys of the list: "
               "driver/graph/backward/run_listed_gradient.hpp";
    else if constexpr (recomputes_weights<T, A>())
        return std::string(
                   "tiles, five products with saved rows and seven without: driver/dense/backward/softmax_gradient.hpp")
             + (gradient_uses_matrix_unit<Stored, Arch, A>()
                    ? ", by the matrix unit for many queries: kernel/product/amx_product.hpp"
                    : "");
    else return "tiles of whole rows, five products: driver/dense/backward/normalizer_gradient.hpp";
}

template <class Stored, class Arch, class A>
std::string explain_what_runs() {
    using T = compute_type<Stored>;
    if constexpr (!has_gradient_pass<T, A>() && has_layer_gradient<T, A>()) {
        constexpr bool projects = projection<decltype(std::declval<A const&>().project)>;  // to numbers
        return "driver/layer_gradient.hpp, around "
             + explain_gradient_pass<std::conditional_t<projects, T, Stored>, Arch,
                                     decltype(attention_on_heads(std::declval<A const&>()))>();
    } else return explain_gradient_pass<Stored, Arch, A>();
}

/// Five products, two more without saved rows, and of each projection three: its rows, and the gradients of its source
/// and of its matrix.
template <class A, class Call>
std::string explain_gradient_work(A const& a, Call const& call) {
    using T = typename Call::number;
    auto const how = plan::make_plan<T, arch::best, A, operands_of_call<A, Call>>(
        {call.shapes.queries(), call.shapes.group(), call.shapes.keys(), call.shapes.query[3], call.shapes.features()});
    auto const each = plan::count_operations(a, call.shapes);
    double const pairs = plan::count_pairs(a, call.shapes, 1 - count_blocks<T>(a, call.shapes, how).counted.empty()),
                 saved = pairs * (3 * each.score + 2 * each.values) + 3 * plan::count_projections(a, call.shapes);
    auto const bytes = count_bytes(a, call);
    return "work        " + plan::explain_work(saved, bytes.read + bytes.written, bytes.read)
         + (recomputes_weights<T, decltype(attention_on_heads(a))>()
                ? "; " + plan::in_thousands(saved + pairs * (each.score + each.values)) + "flop without saved rows"
                : "")
         + "\n";
}
}  // namespace driver

/// explain_gradient: the derivatives of a specification, and what computes a gradient of it.
///
///     explain_gradient(spec)      explain_gradient<double>(spec)      explain_gradient<float, arch::avx2>(spec)
///     explain_gradient(spec, query, key, value)      of operands of the type of the first, and what is computed, read
///                                                    and written where the gradients of all arrays are asked for
///
/// A line for the score, one for each place where it reads a number that has a gradient, with the derivative by it, the
/// same for a reweighting, then the normalizer and what runs for operands of type T. Tables are printed as `param`. The
/// wording may change between versions.
template <class T = float, class Arch = arch::best, attention_spec A>
std::string explain_gradient(A const& a) {
    auto const score = a.score.expression();
    std::string text = "score       " + print(score) + "\n" + driver::explain_derivatives(score);
    auto const reweight = reweighting_of(a.normalize);
    if constexpr (!std::is_same_v<std::remove_const_t<decltype(reweight)>, weight_t>)
        text += "reweight    " + print(reweight) + "\n" + driver::explain_derivatives(reweight);
    return text + "normalize   " + describe(normalizer_of(a.normalize)) + "\nruns        "
         + kernel::on_usable<Arch, compute_type<T>, 0, T>(
               []<class Usable>(std::type_identity<Usable>) { return driver::explain_what_runs<T, Usable, A>(); })
         + "\n";
}
template <attention_spec A, viewable First, class... Further>
std::string explain_gradient(A const& a, First const& first, Further const&... further) {
    auto const text = explain_gradient<std::remove_const_t<typename decltype(detail::view_of(first))::value_type>>(a);
    if constexpr (detail::is_explained_call<First const&, Further const&...>()) {
        auto const call = bind_call(a, first, further...);
        if constexpr (!is_ill_formed<decltype(call)>) return text + driver::explain_gradient_work(a, call);
    }
    return text;
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
