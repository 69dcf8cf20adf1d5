// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exponential back-off of attempts that may not be worth their cost.
#pragma once

#include <fovea/core/index.hpp>

namespace fovea::FOVEA_SET::driver {

/// Exponential back-off: after `trials` failed attempts in a row the next 2, 6, 14, 30, ... steps are skipped; a
/// success resets it.
class back_off {
public:
    explicit back_off(index_t trials = 1) : trials_(trials) {}

    /// Whether the next step tries.
    bool is_due() {
        if (left_ == 0) return true;
        --left_;
        return false;
    }
    /// The outcome of a try.
    void learn(bool was_worth_it) {
        failed_ = was_worth_it ? 0 : failed_ + 1;
        if (failed_ == 0) pause_ = 0;
        else if (failed_ >= trials_) pause_ = 2 * pause_ + 2;
        left_ = pause_;
    }

private:
    index_t trials_, failed_ = 0;
    index_t pause_ = 0, left_ = 0;  // steps after a try; of these, those to come
};

}  // namespace fovea::FOVEA_SET::driver
