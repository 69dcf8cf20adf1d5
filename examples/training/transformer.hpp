// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Encoder and decoder blocks of a Transformer (Vaswani et al. 2017, figure 1, with the norm before each part: Xiong et
// al. 2020), which hand gradients back part by part. Around each part is a residual: its gradient goes through and
// past.
#pragma once

#include "attention.hpp"

namespace training {

/// The code of positions that is added to embeddings: sines and cosines of wavelengths from 2 pi to 10000 * 2 pi.
inline matrix positional_encoding(Index positions, Index features) {
    return matrix::NullaryExpr(positions, features, [&](Index at, Index c) {
        double const angle =
            static_cast<double>(at) / std::pow(1e4, static_cast<double>(c / 2 * 2) / static_cast<double>(features));
        return static_cast<float>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    });
}

/// Every position looks at positions of its sequence, then at itself.
struct self_attention_block {
    layer_norm before_attention, before_network;
    multi_head attention;
    feed_forward network;

    self_attention_block(dice& random, Index features)
        : before_attention(features),
          before_network(features),
          attention(random, features),
          network(random, features, 2 * features) {}

    template <class Specification, class... Extra>
    matrix operator()(Specification const& own, Index batch, matrix x, Extra const&... extra) {
        matrix const y = before_attention(x);
        x += attention(own, batch, y, y, extra...);
        x += network(before_network(x));
        return x;
    }
    /// The next positions of one sequence, by the keys and values of those before.
    template <class Specification>
    matrix step(Specification const& own, key_value_cache& cache, matrix x) {
        x += attention.step(own, cache, before_attention(x));
        x += network(before_network(x));
        return x;
    }
    template <class Specification>
    matrix backward(Specification const& own, matrix d) {
        d += before_network.backward(network.backward(d));
        auto const [as_query, as_memory] = attention.backward(own, d);
        d += before_attention.backward(as_query + as_memory);
        return d;
    }
    void visit(auto const& found) {
        before_attention.visit(found), before_network.visit(found), attention.visit(found), network.visit(found);
    }
};

/// Every position looks at those before it, then at what the encoder made, then at itself.
struct decoder_block {
    layer_norm before_own, before_cross, before_network;
    multi_head own, cross;
    feed_forward network;
    matrix d_encoded;  // of the last call of backward

    decoder_block(dice& random, Index features)
        : before_own(features),
          before_cross(features),
          before_network(features),
          own(random, features),
          cross(random, features),
          network(random, features, 2 * features) {}

    template <class Own, class Cross, class... Extra>
    matrix operator()(Own const& causally, Cross const& across, Index batch, matrix x, matrix const& encoded,
                      Extra const&... extra) {
        matrix const y = before_own(x);
        x += own(causally, batch, y, y);
        x += cross(across, batch, before_cross(x), encoded, extra...);
        x += network(before_network(x));
        return x;
    }
    template <class Own, class Cross>
    matrix backward(Own const& causally, Cross const& across, matrix d) {
        d += before_network.backward(network.backward(d));
        matrix d_query;
        std::tie(d_query, d_encoded) = cross.backward(across, d);
        d += before_cross.backward(d_query);
        auto const [as_query, as_memory] = own.backward(causally, d);
        d += before_own.backward(as_query + as_memory);
        return d;
    }
    void visit(auto const& found) {
        before_own.visit(found), before_cross.visit(found), before_network.visit(found);
        own.visit(found), cross.visit(found), network.visit(found);
    }
};

}  // namespace training
