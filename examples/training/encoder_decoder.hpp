// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Transformer that reads a string and writes another. How the weights of the alignment, its cross attention, are made
// of scores is up to the word in Alignment: softmax, sparsemax, entmax15, straight_through.
#pragma once

#include "string_tasks.hpp"
#include "transformer.hpp"

#include <vector>

namespace training {

template <class Alignment>
class encoder_decoder {
public:
    static constexpr Index features = 64;

    encoder_decoder(dice& random, Alignment alignment)
        : alignment_(alignment),
          symbols_(random, symbol::count, features),
          written_(random, symbol::count, features),
          encoder_{{random, features}, {random, features}},
          decoder_{{random, features}, {random, features}},
          last_encoded_(features),
          last_decoded_(features),
          to_symbols_(random, features, symbol::count) {}

    //! [specifications]
    /// Every position of the source looks at all of it, each of the target at those before it, then at the source.
    auto within(string_batch const& batch) const {
        using namespace fovea;
        return scaled_dot | key_lengths(batch.lengths) | softmax | weighted_sum;
    }
    static auto causally() {
        using namespace fovea;
        return scaled_dot | causal | softmax | weighted_sum;
    }
    auto across(string_batch const& batch) const {
        using namespace fovea;
        return scaled_dot | key_lengths(batch.lengths) | alignment_ | weighted_sum;
    }
    //! [specifications]

    /// One pass forward and one back; the gradients are added to those of the parameters.
    double learn(string_batch const& batch) {
        encode(batch);
        auto const [value, d_scores] = cross_entropy(decode(batch, batch.shifted), batch.target);
        backward(batch, d_scores);
        return value;
    }

    /// The targets that the network writes symbol by symbol, each after what it has written before.
    std::vector<int> write(string_batch const& batch) {
        std::vector<int> shifted(batch.shifted.size(), symbol::end), target = shifted;
        encode(batch);
        for (Index at = 0; at < string_batch::positions; ++at) {
            matrix const scores = decode(batch, shifted);
            for (Index row = at; row < scores.rows(); row += string_batch::positions) {
                auto const here = static_cast<std::size_t>(row);
                target[here] = best_symbol(scores, row);
                if (at + 1 < string_batch::positions) shifted[here + 1] = target[here];
            }
        }
        return target;
    }

    /// The weights of the last decoder block's alignment, mean of its heads: (sequence, target, source).
    fovea::tensor<float, 3> alignment(string_batch const& batch) {
        fovea::index_t const n = string_batch::positions, heads = multi_head::head_count;
        fovea::tensor<float, 4> shares({batch.sequences, heads, n, n});
        encode(batch);
        decode(batch, batch.shifted, fovea::weights(shares));
        fovea::tensor<float, 3> mean({batch.sequences, n, n});
        for (fovea::index_t s = 0; s < batch.sequences; ++s)
            for (fovea::index_t h = 0; h < heads; ++h)
                for (fovea::index_t i = 0; i < n; ++i)
                    for (fovea::index_t j = 0; j < n; ++j)
                        mean(s, i, j) += shares(s, h, i, j) / static_cast<float>(heads);
        return mean;
    }

    void visit(auto const& found) {
        symbols_.visit(found), written_.visit(found);
        for (auto& block : encoder_) block.visit(found);
        for (auto& block : decoder_) block.visit(found);
        last_encoded_.visit(found), last_decoded_.visit(found), to_symbols_.visit(found);
    }

private:
    void encode(string_batch const& batch) {
        matrix x = with_positions(symbols_(batch.source), batch.sequences);
        for (auto& block : encoder_) x = block(within(batch), batch.sequences, x);
        encoded_ = last_encoded_(x);
    }

    /// A score for each symbol at each position of the targets. Outputs such as weights are of the last block.
    template <class... Extra>
    matrix decode(string_batch const& batch, std::vector<int> const& shifted, Extra const&... extra) {
        matrix x = with_positions(written_(shifted), batch.sequences);
        x = decoder_[0](causally(), across(batch), batch.sequences, x, encoded_);
        x = decoder_[1](causally(), across(batch), batch.sequences, x, encoded_, extra...);
        return to_symbols_(last_decoded_(x));
    }

    void backward(string_batch const& batch, matrix const& d_scores) {
        matrix d = last_decoded_.backward(to_symbols_.backward(d_scores));
        d = decoder_[1].backward(causally(), across(batch), d);
        d = decoder_[0].backward(causally(), across(batch), d);
        written_.backward(d);
        d = last_encoded_.backward(decoder_[0].d_encoded + decoder_[1].d_encoded);
        d = encoder_[1].backward(within(batch), d);
        d = encoder_[0].backward(within(batch), d);
        symbols_.backward(d);
    }

    static matrix with_positions(matrix const& rows, int sequences) {
        return rows + positional_encoding(string_batch::positions, features).replicate(sequences, 1);
    }

    Alignment alignment_;
    embedding symbols_, written_;
    self_attention_block encoder_[2];
    decoder_block decoder_[2];
    layer_norm last_encoded_, last_decoded_;
    linear to_symbols_;
    matrix encoded_;
};

}  // namespace training
