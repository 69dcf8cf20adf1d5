// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A layer that learns: its call, the gradient of its call, and a step of an optimizer.
#include "check.hpp"

#include <fovea/gradient.hpp>

#include <cmath>
#include <cstddef>

using namespace fovea;
using namespace how_to;

namespace {

/// The mean square of the difference to what the result should be, and its gradient.
float loss_of(tensor<float, 3> const& result, tensor<float, 3> const& wanted, tensor<float, 3>& d_result) {
    float loss = 0;
    float const count = static_cast<float>(result.size());
    for (std::size_t i = 0; i < result.elements.size(); ++i) {
        float const off = result.elements[i] - wanted.elements[i];
        loss += off * off / count;
        d_result.elements[i] = 2 * off / count;
    }
    return loss;
}

//! [parameter]
/// A matrix that learns, with its gradient and what Adam keeps of earlier gradients (Kingma and Ba 2015, algorithm 1).
struct parameter {
    tensor<float, 2> value, gradient{value.extents}, mean{value.extents}, square{value.extents};

    void step(float rate, int number) {
        float const scale = rate * std::sqrt(1 - std::pow(0.999f, number)) / (1 - std::pow(0.9f, number));
        for (std::size_t i = 0; i < value.elements.size(); ++i) {
            float& g = gradient.elements[i];
            mean.elements[i] = 0.9f * mean.elements[i] + 0.1f * g;
            square.elements[i] = 0.999f * square.elements[i] + 0.001f * g * g;
            value.elements[i] -= scale * mean.elements[i] / (std::sqrt(square.elements[i]) + 1e-8f);
            g = 0;
        }
    }
};
//! [parameter]

//! [class]
class learning_attention {
    parameter query_{random_tensor<2>({16, 16})}, key_{random_tensor<2>({16, 16})}, value_{random_tensor<2>({16, 16})};
    workspace scratch_;       // repeated calls allocate nothing
    saved_rows<float> rows_;  // of the pass forward, for the one back
    int steps_ = 0;

    auto layer() const {
        return project(query_.value, key_.value, value_.value, heads<4>) | scaled_dot | causal | softmax | weighted_sum;
    }

public:
    void forward(tensor<float, 3> const& x, tensor<float, 3>& result) {
        attend(threads(2), scratch_, layer(), x, result, save(rows_));
    }
    /// Adds to the gradients of the parameters, and returns that of x.
    tensor<float, 3> backward(tensor<float, 3> const& x, tensor<float, 3> const& d_result) {
        tensor<float, 3> d_x(x.extents);
        gradient(threads(2), scratch_, layer(), x, d_result, rows_, grad(x, d_x),
                 grad(query_.value, add_to(query_.gradient)), grad(key_.value, add_to(key_.gradient)),
                 grad(value_.value, add_to(value_.gradient)));
        return d_x;
    }
    void step(float rate) {
        ++steps_;
        for (auto* each : {&query_, &key_, &value_}) each->step(rate, steps_);
    }
};
//! [class]

}  // namespace

int main() {
    auto const x = random_tensor<3>({2, 10, 16});  // (batch, position, feature)
    auto const teacher = random_tensor<2>({16, 16});
    tensor<float, 3> wanted(x.extents), result(x.extents), d_result(x.extents);
    attend(project(teacher, teacher, teacher, heads<4>) | scaled_dot | causal | softmax | weighted_sum, x, wanted);

    //! [layer]
    auto Wq = random_tensor<2>({16, 16}), Wk = random_tensor<2>({16, 16}), Wv = random_tensor<2>({16, 16});
    tensor<float, 2> dWq(Wq.extents), dWk(Wk.extents), dWv(Wv.extents);
    auto const layer = project(Wq, Wk, Wv, heads<4>)  // keeps views: the matrices may change
                     | scaled_dot | causal | softmax | weighted_sum;
    //! [layer]

    float first = 0, last = 0;
    int const steps = 60;
    for (int step = 0; step < steps; ++step) {
        //! [step]
        attend(layer, x, result);
        last = loss_of(result, wanted, d_result);  // yours: a loss, and its gradient by the result
        gradient(layer, x, d_result, grad(Wq, dWq), grad(Wk, dWk), grad(Wv, dWv));
        for (auto [W, dW] : {std::pair(&Wq, &dWq), {&Wk, &dWk}, {&Wv, &dWv}})
            for (std::size_t i = 0; i < W->elements.size(); ++i) W->elements[i] -= 5 * dW->elements[i];
        //! [step]
        if (step == 0) first = last;
    }
    require(last < first / 10, "the loss falls to less than a tenth");

    attend(layer, x, result);
    float const before = loss_of(result, wanted, d_result);
    //! [input]
    tensor<float, 3> d_x(x.extents);
    gradient(layer, x, d_result, grad(x, d_x));  // what the layer before this one goes on with
    //! [input]
    tensor<float, 3> moved = x, none(x.extents);
    for (std::size_t i = 0; i < moved.elements.size(); ++i) moved.elements[i] -= 0.1f * d_x.elements[i];
    attend(layer, moved, result);
    require(loss_of(result, wanted, none) < before, "a step against the gradient of the input lowers the loss");

    learning_attention learner;
    for (int step = 0; step < 300; ++step) {
        learner.forward(x, result);
        last = loss_of(result, wanted, d_result);
        learner.backward(x, d_result);
        learner.step(0.02f);
        if (step == 0) first = last;
    }
    require(last < first / 10, "Adam lowers the loss to less than a tenth");
}
