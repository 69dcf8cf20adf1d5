// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

#ifndef FOVEA_BROKEN
#include <fovea/gradient.hpp>
#endif

using namespace fovea;

// case: forgotten_gradient
// sentence: fovea: gradient and grad are in another header: #include <fovea/gradient.hpp>
void call(view<float, 2> x, view<float, 2> w, view<float, 2> d_result, view<float, 2> d_x, view<float, 2> d_w) {
    auto const spec = project(w, w, w) | scaled_dot | softmax | weighted_sum;
    gradient(spec, x, d_result, grad(x, d_x));
    gradient(threads(2), spec, x, d_result, grad(x, d_x), grad(w, add_to(d_w)));
    static_cast<void>(explain_gradient(spec, x));
}
