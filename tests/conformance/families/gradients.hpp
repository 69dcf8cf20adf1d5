// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of a case, as the definition computes them: in the engine of doubles, since they need no other. The
// passes are held against the definition in tests/driver/; sdpa.cpp compares them with the cases as well.
#pragma once

#include "engines.hpp"
#include "outcome.hpp"

#include <fovea/reference/gradient.hpp>

#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace conformance {

/// An array that a call reads, and the gradient of the case that belongs to it.
template <class Array>
struct of_case {
    std::string gradient;
    Array const& array;
};
template <class Array>
of_case(std::string, Array const&) -> of_case<Array>;

template <class Engine>
inline constexpr bool has_gradients = std::is_same_v<Engine, float64_engine>;

/// use(d_arrays...) with the gradients of these arrays, where `d_result` is that of the result: tensors of their
/// extents.
template <class Engine, class Use, class... Arrays>
void with_gradients(auto const& attention, auto const& query, auto const& key, auto const& value, auto const& d_result,
                    Use const& use, Arrays const&... arrays) {
    if constexpr (has_gradients<Engine>) {
        auto const like = [](auto const& array) {
            auto const v = fovea::as_view(array);
            return fovea::tensor<double, decltype(v)::rank>(v.extents);
        };
        std::tuple gradients(like(arrays)...);
        std::apply(
            [&](auto&... d) {
                fovea::reference::gradient(attention, query, key, value, d_result, fovea::grad(arrays, d)...);
                use(d...);
            },
            gradients);
    }
}

/// Gradients by their names in the case; what is added more than once has the sum.
class named_gradients {
public:
    void add(std::string const& name, std::vector<double> const& amounts);
    /// Sums so far are no gradients of the case, but needed for one.
    std::vector<double> take(std::string const& name);
    /// Of a matrix whose first columns, and whose others, are gradients of the case.
    void take_columns(std::string const& name, fovea::index_t width, fovea::index_t first, std::string const& of_first,
                      std::string const& of_others);
    /// Two matrices of as many rows as one: each row of the left one, and then that of the right one.
    void add_beside(std::string const& name, std::vector<double> const& left, std::vector<double> const& right,
                    fovea::index_t row_count);
    /// Compares those that the case has.
    void compare(test_case const& subject, checks& all) const;

private:
    std::map<std::string, std::vector<double>> sums_;
};

/// Rows x W^T + b, and their gradients from those of the result: of an attention in which each position sees itself.
struct linear_rows {
    fovea::view<double const, 2> rows, matrix;
    std::vector<double> const& bias;  // may be empty

    fovea::tensor<double, 2> result() const;
    void add_gradients(named_gradients& sums, std::vector<double> const& d_result, std::string const& of_rows,
                       std::string const& of_matrix, std::string const& of_bias = "none") const;
};

/// Adds the gradients of these arrays.
template <class Engine, class... Arrays>
void add_gradients(named_gradients& sums, auto const& attention, auto const& query, auto const& key, auto const& value,
                   auto const& d_result, of_case<Arrays> const&... named) {
    with_gradients<Engine>(
        attention, query, key, value, d_result,
        [&](auto const&... gradients) { (sums.add(named.gradient, gradients.elements), ...); }, named.array...);
}

/// Compares the gradients of these arrays where the case has them.
template <class Engine, class... Arrays>
void compare_gradients(test_case const& subject, checks& all, auto const& attention, auto const& query, auto const& key,
                       auto const& value, auto const& d_result, of_case<Arrays> const&... named) {
    named_gradients sums;
    add_gradients<Engine>(sums, attention, query, key, value, d_result, named...);
    sums.compare(subject, all);
}

}  // namespace conformance
