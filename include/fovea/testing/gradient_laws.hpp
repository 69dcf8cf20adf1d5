// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The law of gradients: they are limits of differences.
#pragma once

#include <fovea/reference/gradient.hpp>
#include <fovea/testing/against_reference.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace fovea::FOVEA_SET::testing {

namespace detail {
/// A change of one number, and what it does to the loss: the sum of the result times the gradient of the result.
template <class Loss>
class differences {
public:
    explicit differences(Loss const& loss) : loss_(loss) {}

    /// Compares the gradients of the elements of an array with differences.
    template <class Elements, class Gradients>
    void check(std::string const& name, Elements& elements, Gradients const& gradients) {
        auto gradient = gradients.begin();
        index_t place = 0;
        for (double& x : elements) {
            check(name + "[" + std::to_string(place++) + "]", x, static_cast<double>(*gradient++));
        }
    }

    /// Errors: law_broken where too much was left out to tell.
    void check_enough() const {
        law(left_out_ * 10 <= compared_, "nine of ten gradients are compared with differences",
            [&] { return std::to_string(left_out_) + " left out, " + std::to_string(compared_) + " compared"; });
    }

private:
    // Richardson's extrapolation of central differences of a loss in long double: off by h^4 = 2e-16 times a fifth
    // derivative and by 1e-19 / h = 1e-15, while the gradient itself is rounded to some 1e-14. 1e-9 leaves room for
    // fifth derivatives of a million, and is far below any term that a rule could lack.
    static constexpr double h = 0x1p-13, allowed = 1e-9;
    Loss const& loss_;
    index_t compared_ = 0, left_out_ = 0;

    long double slope(double& x, double step) const {
        double const at = x, high = at + step, low = at - step;
        x = high;
        long double const above = loss_();
        x = low;
        long double const below = loss_();
        x = at;
        return (above - below) / (static_cast<long double>(high) - static_cast<long double>(low));
    }
    void check(std::string const& name, double& x, double gradient) {
        if (!std::isfinite(x)) {  // nobody sees it
            law(gradient == 0, "what takes no part has gradient 0", [&] { return name; });
            return;
        }
        long double const wide = slope(x, h), narrow = slope(x, h / 2), size = 1 + std::abs(narrow);
        // Beside a kink, or a step of a selection, differences of two widths do not agree.
        if (std::abs(wide - narrow) > 1e-5L * size) {
            ++left_out_;
            return;
        }
        ++compared_;
        long double const limit = (4 * narrow - wide) / 3;
        law(std::abs(limit - static_cast<long double>(gradient)) <= static_cast<long double>(allowed) * size,
            "a gradient is the limit of differences", [&] {
                return name + " is " + std::to_string(gradient) + ", differences say "
                     + std::to_string(static_cast<double>(limit));
            });
    }
};

/// The elements of an operand, wherever they lie.
struct elements_of {
    std::vector<double*> places;
    struct iterator {
        double* const* at;
        double& operator*() const { return **at; }
        iterator& operator++() { return ++at, *this; }
        bool operator!=(iterator const& other) const { return at != other.at; }
    };
    explicit elements_of(scattered<double> const& rows) {
        rows.for_each([&](double& x) { places.push_back(&x); });
    }
    iterator begin() { return {places.data()}; }
    iterator end() { return {places.data() + places.size()}; }
};
}  // namespace detail

/// check_gradients: the gradients of queries, keys and values, and of tables of doubles that are named, are the limits
/// of differences of the result.
///
/// The call is drawn as those of compare_with_reference: keys that nobody sees hold NaN, and have gradient 0. Where
/// differences meet a kink they are left out, at most one of ten. Errors: law_broken naming the element.
template <attention_spec A, class... Tables>
void check_gradients(A const& spec, call_sizes const& n, Tables&... tables) {
    dice from(1);
    detail::random_call<double, A> call(spec, n, from);
    auto const d_result = random_tensor<double, 4>(from, call.result);
    auto const loss = [&] {
        tensor<long double, 4> result(call.result);
        call.attend_plainly(0.0L, result.view());
        long double sum = 0;
        for (std::size_t i = 0; i < result.elements.size(); ++i)
            sum += result.elements[i] * static_cast<long double>(d_result.elements[i]);
        return sum;
    };
    tensor<double, 4> d_query(call.q_extents), d_key(call.k_extents), d_value(call.v_extents);
    detail::differences differences(loss);
    [[maybe_unused]] auto const check_table = [&](auto& table) {
        auto const of = as_view(table);
        tensor<double, decltype(of)::rank> d_table(of.extents);
        reference::gradient(spec, call.q.elements, call.k.elements, call.v.elements, d_result, grad(table, d_table));
        differences.check("the gradient of a table", table, d_table);
    };
    reference::gradient(spec, call.q.elements, call.k.elements, call.v.elements, d_result,
                        grad(call.q.elements, d_query), grad(call.k.elements, d_key), grad(call.v.elements, d_value));
    detail::elements_of q(call.q), k(call.k), v(call.v);
    differences.check("the gradient of the query", q, d_query);
    differences.check("the gradient of the key", k, d_key);
    differences.check("the gradient of the value", v, d_value);
    (check_table(tables), ...);
    differences.check_enough();
}

/// The same for sizes of grouped heads.
template <attention_spec A, class... Tables>
void check_gradients(A const& spec, Tables&... tables) {
    check_gradients(spec, call_sizes{2, 2, 1, 4, 5, 4, 2}, tables...);
}

}  // namespace fovea::FOVEA_SET::testing
