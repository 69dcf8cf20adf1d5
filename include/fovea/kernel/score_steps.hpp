// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of queries and keys as steps of work beside other work.
#pragma once

#include <fovea/kernel/lane_products.hpp>
#include <fovea/kernel/work_steps.hpp>

namespace fovea::FOVEA_SET::kernel {

/// What `Product` multiplies of some keys, as many at each step as it takes at once; the last, fewer, are left.
template <class Product>
class score_steps : public work_steps {
    using operand = key_operand<typename Product::element>;
    using sums = lane_sums<typename Product::number>;

public:
    score_steps(operand const& keys, sums const& to, prefetch_queue& next)
        : work_steps{&take}, keys_(keys), to_(to), next_(&next) {}

    index_t multiplied() const { return multiplied_; }

private:
    static void take(work_steps& steps) {
        auto& self = static_cast<score_steps&>(steps);
        if (self.multiplied_ + Product::keys_per_step > self.to_.element_count) return;
        Product::multiply_keys(self.keys_, self.to_, self.multiplied_, *self.next_);
        self.multiplied_ += Product::keys_per_step;
    }

    operand keys_;
    sums to_;
    prefetch_queue* next_;
    index_t multiplied_ = 0;
};

}  // namespace fovea::FOVEA_SET::kernel
