// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call explain_gradient(): the derivatives of a specification, and what computes a gradient of it, as text.
#pragma once

#include <fovea/driver/layer_gradient.hpp>
#include <fovea/expr/each_derivative.hpp>
#include <fovea/expr/print.hpp>

#include <string>

namespace fovea::FOVEA_SET {

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
    using scores = plan::score_call<compute_type<Stored>, Arch, pairs, score_operands<Stored, rows>>;
    return plan::gradient_uses_matrix_unit<scores, rows, Stored>;
}

/// What computes the gradient of an attention on heads, of operands of type `Stored`.
template <class Stored, class Arch, class A>
std::string explain_gradient_pass() {
    using T = compute_type<Stored>;
    if constexpr (!has_gradient_pass<T, A>()) return "as it is defined, pair by pair in double: reference/gradient.hpp";
    else if constexpr (is_recurrent<A>)
        return "a sweep over the keys forward and one back: driver/recurrent/recurrent_gradient.hpp";
    else if constexpr (plan::lists_keys<A>)
        return "a pass over the queries and one over the keys of the list: driver/graph/listed_gradient.hpp";
    else if constexpr (recomputes_weights<T, A>())
        return std::string("tiles, five products with saved rows and seven without: driver/dense/softmax_gradient.hpp")
             + (gradient_uses_matrix_unit<Stored, Arch, A>()
                    ? ", by the matrix unit for many queries: kernel/product/amx_key_sums.hpp"
                    : "");
    else return "tiles of whole rows, five products: driver/dense/normalizer_gradient.hpp";
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
}  // namespace driver

/// explain_gradient: the derivatives of a specification, and what computes a gradient of it.
///
///     explain_gradient(spec)      explain_gradient<double>(spec)      explain_gradient<float, arch::avx2>(spec)
///     explain_gradient(spec, query, key, value)      of operands of the type of the first
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
std::string explain_gradient(A const& a, First const& first, Further const&...) {
    return explain_gradient<std::remove_const_t<typename decltype(detail::view_of(first))::value_type>>(a);
}

}  // namespace fovea::FOVEA_SET
