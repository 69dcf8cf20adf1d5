// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of a running state: from features of queries and keys to these and to tables.
#pragma once

#include <fovea/driver/call/operands.hpp>
#include <fovea/kernel/backward/body_gradient.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The way back through the maps of a product of all features, scale sum f(q) g(k): one row at a time. `tables` take
/// the gradients of tables.
template <class Call>
class map_gradient {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Operands = typename Call::operands;

public:
    map_gradient(typename Call::spec const& spec, Operands const& x)
        : term_(fovea::detail::scaled_product(spec.score.expression(), unit{})), x_(x) {}

    /// d are the gradients of scale f(q); those of q are written to `to`.
    template <class Tables>
    void query(row_place const& at, T const* d, T* to, Tables const& tables) const {
        auto const body = sum(term_.of_query * placeholders::k);
        auto const* const source = x_.query.place(at.batch, at.head, at.query, index_t{0});
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(term_.scale)>, unit>)
            back<q_t>(body, at, source, d, to, tables);
        else back<q_t>(body * term_.scale, at, source, d, to, tables);
    }
    /// d are the gradients of g(k); those of k are written to `to`.
    template <class Tables>
    void key(row_place const& at, T const* d, T* to, Tables const& tables) const {
        auto const* const source = x_.key.place(at.batch, at.head, at.query, index_t{0});
        back<k_t>(sum(placeholders::q * term_.of_key), at, d, source, to, tables);
    }

private:
    template <class Which, class E, class Q, class K, class Tables>
    void back(E const& e, row_place const& at, Q const* q, K const* k, T* to, Tables const& tables) const {
        index_t const features = x_.key_features();
        std::fill_n(to, features, T{0});
        kernel::row_coordinates const coordinates{at.batch, at.head, at.query, x_.queries(), x_.keys(), features};
        kernel::pair_rows<Q, K> const rows{coordinates, at.query, 0, q, k};
        kernel::head_lanes const one(1);
        auto const features_of = [&](T amount, auto const& body, auto const& over) {
            kernel::feature_gradients<Which, T, Arch>(
                over, body, kernel::pair_amounts<T>{&amount, 1, one}, [&](index_t, index_t) { return rows; },
                {features, features}, false, [&](index_t) { return to; }, tables);
        };
        kernel::single_environment<T, Arch, Q, K> const names{{coordinates, at.query}, q, k, features, features};
        backpropagate(e, names, T{1}, kernel::term_cotangents<T, Tables, decltype(features_of)>{tables, features_of});
    }

    typename Call::term term_;
    Operands const& x_;
};

}  // namespace fovea::FOVEA_SET::driver
