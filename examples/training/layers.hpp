// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers of a network beside attention. A layer is called with its input and keeps it; backward turns the gradient of
// the result of that call into the gradient of the input, and adds to the gradients of the layer's parameters.
#pragma once

#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>

#include <Eigen/Core>  // after fovea, which keeps GCC 12 from warning about intrinsics

#include <cmath>
#include <vector>

namespace training {

using dice = fovea::testing::dice;
using Eigen::Index;
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;  // (row, feature)

/// Numbers that an optimizer changes, and the gradient of the loss with respect to them.
struct parameter {
    matrix value, gradient;

    explicit parameter(matrix start) : value(std::move(start)), gradient(matrix::Zero(value.rows(), value.cols())) {}
};

/// Uniform numbers of a standard deviation of 1 / sqrt(inputs): rows that are multiplied with them keep their size.
inline matrix random_matrix(dice& random, Index inputs, Index outputs) {
    double const size = std::sqrt(3 / static_cast<double>(inputs));
    return matrix::NullaryExpr(inputs, outputs, [&] { return static_cast<float>(random.real(-size, size)); });
}

/// y = x W + b
struct linear {
    parameter weight, bias;
    matrix input;

    linear(dice& random, Index inputs, Index outputs)
        : weight(random_matrix(random, inputs, outputs)), bias(matrix::Zero(1, outputs)) {}

    matrix operator()(matrix const& x) {
        input = x;
        return (x * weight.value).rowwise() + bias.value.row(0);
    }
    matrix backward(matrix const& d) { return backward(input, d); }

    /// For a layer that was called more than once: the gradient of its call with x.
    matrix backward(matrix const& x, matrix const& d) {
        weight.gradient.noalias() += x.transpose() * d;
        bias.gradient += d.colwise().sum();
        return d * weight.value.transpose();
    }
    void visit(auto const& found) { found(weight), found(bias); }
};

/// Each row with mean 0 and variance 1, times a gain, plus a shift (Ba, Kiros and Hinton 2016).
struct layer_norm {
    parameter gain, shift;
    matrix normal;         // rows before gain and shift
    Eigen::VectorXf size;  // the standard deviation of each row

    explicit layer_norm(Index features) : gain(matrix::Ones(1, features)), shift(matrix::Zero(1, features)) {}

    matrix operator()(matrix const& x) {
        normal = x.colwise() - x.rowwise().mean();
        size = (normal.rowwise().squaredNorm().array() / static_cast<float>(x.cols()) + 1e-5f).sqrt();
        normal.array().colwise() /= size.array();
        return (normal.array().rowwise() * gain.value.array().row(0)).rowwise() + shift.value.array().row(0);
    }
    matrix backward(matrix const& d) {
        gain.gradient += d.cwiseProduct(normal).colwise().sum();
        shift.gradient += d.colwise().sum();
        matrix const g = d.array().rowwise() * gain.value.array().row(0);
        Eigen::VectorXf const along = g.cwiseProduct(normal).rowwise().mean();
        matrix d_x = g.colwise() - g.rowwise().mean();
        d_x.array() -= normal.array().colwise() * along.array();
        d_x.array().colwise() /= size.array();
        return d_x;
    }
    void visit(auto const& found) { found(gain), found(shift); }
};

/// Two matrices with relu between them, at each position by itself (Vaswani et al. 2017, equation 2).
struct feed_forward {
    linear first, second;

    feed_forward(dice& random, Index features, Index hidden)
        : first(random, features, hidden), second(random, hidden, features) {}

    matrix operator()(matrix const& x) { return second(first(x).cwiseMax(0)); }
    matrix backward(matrix const& d) {
        matrix d_hidden = second.backward(d);
        d_hidden = (second.input.array() > 0).select(d_hidden, 0);
        return first.backward(d_hidden);
    }
    void visit(auto const& found) { first.visit(found), second.visit(found); }
};

/// A row of a table for each symbol.
struct embedding {
    parameter table;
    std::vector<int> symbols;

    embedding(dice& random, Index count, Index features) : table(random_matrix(random, features, count).transpose()) {}

    matrix operator()(std::vector<int> const& of) {
        symbols = of;
        matrix rows(static_cast<Index>(of.size()), table.value.cols());
        for (Index i = 0; i < rows.rows(); ++i) rows.row(i) = table.value.row(of[static_cast<std::size_t>(i)]);
        return rows;
    }
    void backward(matrix const& d) {
        for (Index i = 0; i < d.rows(); ++i) table.gradient.row(symbols[static_cast<std::size_t>(i)]) += d.row(i);
    }
    void visit(auto const& found) { found(table); }
};

/// A loss and its gradient with respect to what it was computed from.
struct loss {
    double value = 0;
    matrix gradient;
};

inline constexpr int no_target = -1;

/// The mean of -log softmax(row)[target] over the rows that have a target, in nats.
inline loss cross_entropy(matrix const& rows, std::vector<int> const& targets) {
    loss result{0, matrix::Zero(rows.rows(), rows.cols())};
    Index counted = 0;
    for (Index i = 0; i < rows.rows(); ++i) {
        int const target = targets[static_cast<std::size_t>(i)];
        if (target == no_target) continue;
        auto share = result.gradient.row(i);
        share = (rows.row(i).array() - rows.row(i).maxCoeff()).exp();
        share /= share.sum();
        result.value -= std::log(static_cast<double>(share(target)));
        share(target) -= 1;
        ++counted;
    }
    result.value /= static_cast<double>(counted);
    result.gradient /= static_cast<float>(counted);
    return result;
}

}  // namespace training
