// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Transformer without an encoder that learns which byte of a text comes next.
#pragma once

#include "transformer.hpp"

#include <array>
#include <string>
#include <vector>

namespace training {

class language_model {
public:
    static constexpr Index features = 64, context = 64, bytes = 256;

    explicit language_model(dice& random)
        : embedding_(random, bytes, features),
          blocks_{{random, features}, {random, features}},
          last_(features),
          to_bytes_(random, features, bytes),
          positions_(positional_encoding(context, features)) {}

    //! [specifications]
    static auto causally() {
        using namespace fovea;
        return scaled_dot | causal | softmax | weighted_sum;
    }
    /// The same for the last positions of a sequence, whose first keys are those of a cache.
    static auto at_the_end() {
        using namespace fovea;
        return scaled_dot | causal_at_end | softmax | weighted_sum;
    }
    //! [specifications]

    /// A score for each byte after each position of sequences of one length. Outputs such as weights are of the last
    /// block.
    template <class... Extra>
    matrix operator()(std::vector<int> const& text, Index sequences, Extra const&... extra) {
        Index const length = static_cast<Index>(text.size()) / sequences;
        matrix x = embedding_(text) + positions_.topRows(length).replicate(sequences, 1);
        x = blocks_[0](causally(), sequences, x);
        x = blocks_[1](causally(), sequences, x, extra...);
        return to_bytes_(last_(x));
    }

    void backward(matrix const& d_scores) {
        matrix d = last_.backward(to_bytes_.backward(d_scores));
        d = blocks_[1].backward(causally(), d);
        d = blocks_[0].backward(causally(), d);
        embedding_.backward(d);
    }

    //! [generate]
    /// The keys and values of each block for the text so far.
    using caches = std::array<key_value_cache, 2>;
    static caches no_text() { return {key_value_cache{context, features}, {context, features}}; }

    /// A score for each byte after each position of what comes next in a text.
    matrix step(caches& so_far, std::string const& next) {
        matrix x = embedding_(numbers(next)) + positions_.middleRows(so_far[0].count, static_cast<Index>(next.size()));
        for (std::size_t i = 0; i < 2; ++i) x = blocks_[i].step(at_the_end(), so_far[i], x);
        return to_bytes_(last_(x));
    }

    /// Goes on with a text until it has the length of a context; each byte is drawn by its probability.
    std::string generate(dice& random, std::string text) {
        auto so_far = no_text();
        for (std::string next = text; static_cast<Index>(text.size()) < context;) {  // the beginning, then byte by byte
            next = drawn(random, step(so_far, next).bottomRows(1));
            text += next;
        }
        return text;
    }
    //! [generate]

    static std::vector<int> numbers(std::string const& text) {
        std::vector<int> bytes;
        for (char const c : text) bytes.push_back(static_cast<unsigned char>(c));
        return bytes;
    }

    void visit(auto const& found) {
        embedding_.visit(found), blocks_[0].visit(found), blocks_[1].visit(found), last_.visit(found);
        to_bytes_.visit(found);
    }

private:
    /// A byte of softmax(scores / 0.7), which keeps to the likelier ones.
    static std::string drawn(dice& random, matrix const& scores) {
        Eigen::ArrayXf const share = ((scores.row(0).array() - scores.maxCoeff()) / 0.7f).exp();
        double left = random.real(0, static_cast<double>(share.sum()));
        int byte = 0;
        for (left -= static_cast<double>(share(0)); left > 0 && byte + 1 < bytes;)
            left -= static_cast<double>(share(++byte));
        return std::string(1, static_cast<char>(byte));
    }

    embedding embedding_;
    self_attention_block blocks_[2];
    layer_norm last_;
    linear to_bytes_;
    matrix positions_;
};

}  // namespace training
