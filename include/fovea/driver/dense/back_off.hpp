// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When something that may not be worth its cost is tried again.
#pragma once

#include <fovea/core/index.hpp>

namespace fovea::FOVEA_SET::driver {

/// After a try that was not worth it 2 steps go by without one, then 6, 14, 30, ...; after one that was, none. So many
/// tries in a row as `trials` says have to fail before the first steps go by.
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
