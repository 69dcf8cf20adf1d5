// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A gated recurrent unit, whose steps are taken back in the opposite order.
#pragma once

#include "layers.hpp"

#include <utility>
#include <vector>

namespace training {

inline matrix sigmoid(matrix const& x) { return 1 / (1 + (-x.array()).exp()); }

/// The rows of one position of sequences that are stored one after the other.
template <class Matrix>
auto at_position(Matrix& rows, Index position, Index positions) {
    Eigen::OuterStride<> const next(positions * rows.cols());
    return Eigen::Map<Matrix, 0, Eigen::OuterStride<>>(rows.data() + position * rows.cols(), rows.rows() / positions,
                                                       rows.cols(), next);
}

/// h' = (1 - z) n + z h, with gates z and r and n = tanh(x Wn + r (h Un)), biases aside (Cho et al. 2014, section 2.3).
class gru {
public:
    gru(dice& random, Index inputs, Index size)
        : of_input_(random, inputs, 3 * size), of_state_(random, size, 3 * size) {}

    matrix operator()(matrix const& x, matrix const& h) {
        Index const n = h.cols();
        matrix const from_x = of_input_(x), from_h = of_state_(h);
        matrix const gates = sigmoid(from_x.leftCols(2 * n) + from_h.leftCols(2 * n));
        matrix const z = gates.leftCols(n), r = gates.rightCols(n), memory = from_h.rightCols(n);
        matrix const fresh = (from_x.rightCols(n) + r.cwiseProduct(memory)).array().tanh();
        steps_.push_back({x, h, z, r, memory, fresh});
        return fresh + z.cwiseProduct(h - fresh);
    }

    /// The gradients of x and h of the latest step that has not been taken back.
    std::pair<matrix, matrix> backward(matrix const& d) {
        auto const [x, h, z, r, memory, fresh] = std::move(steps_.back());
        steps_.pop_back();
        Index const n = h.cols();
        matrix const d_fresh = d.array() * (1 - z.array()) * (1 - fresh.array().square());
        matrix d_x(d.rows(), 3 * n), d_h(d.rows(), 3 * n);
        d_x << d.array() * (h - fresh).array() * z.array() * (1 - z.array()),
            d_fresh.array() * memory.array() * r.array() * (1 - r.array()), d_fresh;
        d_h << d_x.leftCols(2 * n), d_fresh.cwiseProduct(r);
        matrix const through = of_state_.backward(h, d_h) + d.cwiseProduct(z);
        return {of_input_.backward(x, d_x), through};
    }

    void forget_steps() { steps_.clear(); }
    void visit(auto const& found) { of_input_.visit(found), of_state_.visit(found); }

private:
    struct step {
        matrix x, h, z, r, memory, fresh;
    };
    linear of_input_, of_state_;
    std::vector<step> steps_;
};

}  // namespace training
