// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A layer that learns: its call, the gradient of its call, and a step of an optimizer.
#include "check.hpp"

#include <fovea/gradient.hpp>

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
}
