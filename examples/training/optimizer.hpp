// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Adam (Kingma and Ba 2015, algorithm 1): steps that are scaled by means of earlier gradients.
#pragma once

#include "layers.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace training {

class adam {
public:
    /// All parameters of a network, which has visit(found) as a layer has.
    template <class Network>
    explicit adam(Network& network) {
        network.visit([this](parameter& p) {
            matrix const zero = matrix::Zero(p.value.rows(), p.value.cols());
            moments_.push_back({&p, zero, zero});
        });
    }

    /// Changes each parameter and clears its gradient. All gradients together are cut to a length of at most 1.
    void step(float rate) {
        ++steps_;
        float const clip = 1 / std::max(1.f, length_of_gradients());
        float const scale = rate * std::sqrt(1 - std::pow(square_share, steps_)) / (1 - std::pow(mean_share, steps_));
        for (auto& [p, mean, square] : moments_) {
            mean = mean_share * mean + (1 - mean_share) * clip * p->gradient;
            square = square_share * square + (1 - square_share) * clip * clip * p->gradient.cwiseAbs2();
            p->value.array() -= scale * mean.array() / (square.array().sqrt() + 1e-8f);
            p->gradient.setZero();
        }
    }

private:
    static constexpr float mean_share = 0.9f, square_share = 0.98f;

    struct moments {
        parameter* of;
        matrix mean, square;
    };

    float length_of_gradients() const {
        float squares = 0;
        for (auto const& m : moments_) squares += m.of->gradient.squaredNorm();
        return std::sqrt(squares);
    }

    std::vector<moments> moments_;
    float steps_ = 0;
};

/// A rate that grows over the first steps and falls to 0 at the last along a cosine.
inline float scheduled_rate(float highest, int step, int warm_up, int steps) {
    if (step < warm_up) return highest * static_cast<float>(step + 1) / static_cast<float>(warm_up);
    float const done = static_cast<float>(step - warm_up) / static_cast<float>(steps - warm_up);
    return highest * 0.5f * (1 + std::cos(3.14159265f * done));
}

}  // namespace training
