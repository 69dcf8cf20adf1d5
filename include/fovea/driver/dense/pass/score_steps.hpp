// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of a tile's queries and keys as steps of work beside other work.
#pragma once

#include <fovea/driver/dense/query_lanes_products.hpp>
#include <fovea/kernel/work_steps.hpp>

namespace fovea::FOVEA_SET::driver {

/// The products of the first piece of a block of scores, as many keys at each step as are multiplied at once. Steps go
/// from one run of keys to the next, and end where fewer keys of a run are left.
template <plan::pipelined Shape>
class score_steps : public kernel::work_steps {
    using products = query_lanes_products<Shape>;
    using product = typename products::product;
    using call_type = typename products::call;
    using block = score_block<Shape>;

public:
    score_steps(call_type const& call, tile_rows<Shape> const& rows, head_keys<Shape> const& keys,
                key_run<Shape> const& at, block const& scores, next_lines& next)
        : work_steps{&take}, call_(call), rows_(rows), keys_(keys), next_(next) {
        if (call.summed.product.count == 0 || scores.pieces->size() == 0) return;
        vectors_ = scores.pieces->begin()->vectors;
        piece_ = products::piece_of(scores, at, scores.pieces->begin()->granules);
    }

    /// The keys of the piece whose products are there.
    index_t multiplied() const { return run_ + multiplied_; }

private:
    static void take(work_steps& steps) { static_cast<score_steps&>(steps).take(); }
    void take() {
        if (multiplied_ == operands_.sums.element_count) {  // of the last run
            run_ += multiplied_;
            multiplied_ = 0;
            if (run_ == piece_.count) return;
            operands_ = products::operands_at(call_, rows_, keys_, piece_, vectors_, run_, false);
        }
        if (multiplied_ + product::keys_per_step > operands_.sums.element_count) return;
        product::multiply_keys(operands_.keys, operands_.sums, multiplied_, next_.keys.queue());
        multiplied_ += product::keys_per_step;
    }

    call_type const& call_;
    tile_rows<Shape> const& rows_;
    head_keys<Shape> const& keys_;
    next_lines& next_;
    block piece_{};
    vector_run vectors_{};
    typename products::operands operands_{};
    index_t run_ = 0, multiplied_ = 0;  // the first key of a run, and how many of it are multiplied
};

}  // namespace fovea::FOVEA_SET::driver
