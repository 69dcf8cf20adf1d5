// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over products of a factor of the query and a factor of the key: scores that are inner products of mapped rows.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/expr/features.hpp>

namespace fovea::FOVEA_SET {

/// A factor that is one and is left out.
struct unit {
    using expression_tag = void;
};

/// scale * sum(of_query * of_key) over some features: a matrix product of two row-wise prepared factors.
template <class OfQuery, class OfKey, class Scale, class Over>
struct product_term {
    OfQuery of_query{};
    OfKey of_key{};
    Scale scale{};
    Over over{};
};

namespace detail {
template <class E>
inline constexpr bool of_query_side = !uses<E, k_t, kv_idx_t, edge_t, score_t>;
template <class E>
inline constexpr bool of_key_side = !uses<E, q_t, q_idx_t, edge_t, score_t, head_t>;

/// True for a body that separates into a factor of the query and a factor of the key.
template <class E>
constexpr bool separates() {
    if constexpr (of_query_side<E> || of_key_side<E>) return true;
    else if constexpr (is_node_of<operations::times, E>)
        return with_children(E{}, [](auto const& a, auto const& b) {
            return separates<std::remove_cvref_t<decltype(a)>>() && separates<std::remove_cvref_t<decltype(b)>>();
        });
    else if constexpr (is_node_of<operations::divided, E>)
        return with_children(E{}, [](auto const& a, auto const& b) {
            using divisor = std::remove_cvref_t<decltype(b)>;
            return separates<std::remove_cvref_t<decltype(a)>>() && (of_query_side<divisor> || of_key_side<divisor>);
        });
    else if constexpr (is_node_of<operations::negate, E>)
        return with_children(E{}, [](auto const& a) { return separates<std::remove_cvref_t<decltype(a)>>(); });
    else return false;
}

template <class A, class B>
constexpr auto multiply(A const& a, B const& b) {
    if constexpr (std::is_same_v<A, unit>) return b;
    else if constexpr (std::is_same_v<B, unit>) return a;
    else return a * b;
}

template <class Q, class K>
struct factors {
    Q of_query{};
    K of_key{};
};

template <class E>
constexpr auto separate(E const& e) {
    if constexpr (of_query_side<E>) {
        return factors<E, unit>{e, {}};
    } else if constexpr (of_key_side<E>) {
        return factors<unit, E>{{}, e};
    } else if constexpr (is_node_of<operations::times, E>) {
        auto const a = separate(get<0>(e));
        auto const b = separate(get<1>(e));
        auto const q = multiply(a.of_query, b.of_query);
        auto const k = multiply(a.of_key, b.of_key);
        return factors<std::remove_const_t<decltype(q)>, std::remove_const_t<decltype(k)>>{q, k};
    } else if constexpr (is_node_of<operations::divided, E>) {
        auto const a = separate(get<0>(e));
        auto const inverse = literal<double>{1} / get<1>(e);
        if constexpr (of_query_side<std::remove_const_t<decltype(inverse)>>) {
            auto const q = multiply(a.of_query, inverse);
            return factors<std::remove_const_t<decltype(q)>, decltype(a.of_key)>{q, a.of_key};
        } else {
            auto const k = multiply(a.of_key, inverse);
            return factors<decltype(a.of_query), std::remove_const_t<decltype(k)>>{a.of_query, k};
        }
    } else {
        auto const a = separate(get<0>(e));
        auto const q = multiply(literal<index_t>{-1}, a.of_query);
        return factors<std::remove_const_t<decltype(q)>, decltype(a.of_key)>{q, a.of_key};
    }
}

/// True for sum(separable body of both sides), also under factors that are the same for all keys of a row.
template <class E>
constexpr bool is_scaled_product() {
    if constexpr (is_node_of<operations::sum, E>) {
        return with_children(E{}, [](auto const& body, auto const&...) {
            using b = std::remove_cvref_t<decltype(body)>;
            return has_query_features<b> && has_key_features<b> && separates<b>();
        });
    } else if constexpr (is_node_of<operations::times, E>) {
        return with_children(E{}, [](auto const& x, auto const& y) {
            using a = std::remove_cvref_t<decltype(x)>;
            using b = std::remove_cvref_t<decltype(y)>;
            return (is_scaled_product<a>() && of_query_side<b>) || (of_query_side<a> && is_scaled_product<b>());
        });
    } else if constexpr (is_node_of<operations::divided, E>) {
        return with_children(E{}, [](auto const& x, auto const& y) {
            return is_scaled_product<std::remove_cvref_t<decltype(x)>>()
                && of_query_side<std::remove_cvref_t<decltype(y)>>;
        });
    } else if constexpr (is_node_of<operations::negate, E>) {
        return with_children(E{}, [](auto const& x) { return is_scaled_product<std::remove_cvref_t<decltype(x)>>(); });
    } else {
        return false;
    }
}

template <class E, class Scale>
constexpr auto scaled_product(E const& e, Scale const& scale) {
    if constexpr (is_node_of<operations::sum, E>) {
        auto const f = separate(get<0>(e));
        auto const over = features_of_sum(e);
        return product_term<decltype(f.of_query), decltype(f.of_key), Scale, std::remove_const_t<decltype(over)>>{
            f.of_query, f.of_key, scale, over};
    } else if constexpr (is_node_of<operations::negate, E>) {
        return scaled_product(get<0>(e), multiply(literal<index_t>{-1}, scale));
    } else if constexpr (is_node_of<operations::divided, E>) {
        return scaled_product(get<0>(e), multiply(literal<double>{1} / get<1>(e), scale));
    } else if constexpr (of_query_side<std::remove_cvref_t<decltype(get<0>(e))>>) {
        return scaled_product(get<1>(e), multiply(get<0>(e), scale));
    } else {
        return scaled_product(get<0>(e), multiply(get<1>(e), scale));
    }
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
