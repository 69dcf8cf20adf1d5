// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multi-head attention with its weights, and the blocks of a Transformer made of it (Vaswani et al. 2017, figure 1, with
// the norm before each part).
#pragma once

#include "layers/dense.hpp"

#include <fovea/fovea.hpp>

namespace layers {

/// Four matrices: of queries, keys, values and the output.
struct multi_head {
    matrix query, key, value, out;

    multi_head(fovea::testing::dice& random, index_t model)
        : query(weights(random, model, model)),
          key(weights(random, model, model)),
          value(weights(random, model, model)),
          out(weights(random, model, model)) {}

    /// x + attention of x over a memory, under a mask.
    template <class Mask>
    matrix operator()(matrix const& x, matrix const& memory, Mask const& mask) const {
        using namespace fovea;
        auto const attention =
            project(query, key, value, heads<4>) | scaled_dot | mask | softmax | weighted_sum | output(out);
        matrix result(x.extents);
        attend(attention, queries(layer_norm(x)), fovea::memory(memory), result);
        for (std::size_t i = 0; i < result.elements.size(); ++i) result.elements[i] += x.elements[i];
        return result;
    }
};

/// Every position looks at all others, then at itself.
struct encoder_block {
    multi_head self;
    matrix first, second;

    encoder_block(fovea::testing::dice& random, index_t model)
        : self(random, model), first(weights(random, model, 2 * model)), second(weights(random, 2 * model, model)) {}

    matrix operator()(matrix const& x) const {
        return feed_forward(self(x, layer_norm(x), fovea::everything_t{}), first, second);
    }
};

/// Every position looks at those before it, then at what the encoder made, then at itself.
struct decoder_block {
    multi_head self, cross;
    matrix first, second;

    decoder_block(fovea::testing::dice& random, index_t model)
        : self(random, model),
          cross(random, model),
          first(weights(random, model, 2 * model)),
          second(weights(random, 2 * model, model)) {}

    matrix operator()(matrix const& x, matrix const& encoded) const {
        auto const own = self(x, layer_norm(x), fovea::causal);
        return feed_forward(cross(own, encoded, fovea::everything_t{}), first, second);
    }
};

}  // namespace layers
