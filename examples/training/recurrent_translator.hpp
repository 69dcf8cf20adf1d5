// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The network for which attention was invented (Bahdanau, Cho and Bengio 2015): a recurrent encoder reads a string in
// both directions, and a recurrent decoder looks at what it made before each symbol that it writes.
#pragma once

#include "recurrent.hpp"
#include "string_tasks.hpp"

#include <fovea/gradient.hpp>

#include <vector>

namespace training {

class recurrent_translator {
public:
    static constexpr Index features = 32, state = 64, hidden = 16, positions = string_batch::positions;

    explicit recurrent_translator(dice& random)
        : symbols_(random, symbol::count, features),
          written_(random, symbol::count, features),
          forth_(random, features, state),
          back_(random, features, state),
          decoder_(random, features + 2 * state, state),
          to_query_(random, state, hidden),
          to_key_(random, 2 * state, hidden),
          to_symbols_(random, 3 * state, symbol::count),
          v_(random_matrix(random, hidden, 1).transpose()) {}

    //! [specification]
    /// A state of the decoder looks at the source through a network with one hidden layer.
    auto attention(string_batch const& batch) const {
        using namespace fovea;
        return additive(view(v_.value.data(), {hidden})) | key_lengths(batch.lengths) | softmax | weighted_sum;
    }
    //! [specification]

    /// One pass forward and one back; the gradients are added to those of the parameters.
    double learn(string_batch const& batch) {
        encode(batch);
        start(batch);
        embedded_ = written_(batch.shifted);
        for (Index i = 0; i < positions; ++i) write_state(batch, i, at_position(embedded_, i, positions));
        auto const [value, d_scores] = cross_entropy(to_symbols_(seen_), batch.target);
        backward(batch, to_symbols_.backward(d_scores));
        return value;
    }

    /// The targets that the network writes symbol by symbol, each after what it has written before.
    std::vector<int> write(string_batch const& batch) {
        encode(batch);
        start(batch);
        std::vector<int> target(batch.target.size(), symbol::end);
        std::vector<int> last(static_cast<std::size_t>(batch.sequences), symbol::end);
        for (Index i = 0; i < positions; ++i) {
            write_state(batch, i, written_(last));
            matrix const scores = to_symbols_(at_position(seen_, i, positions));
            for (std::size_t s = 0; s < last.size(); ++s)
                target[s * positions + static_cast<std::size_t>(i)] = last[s] =
                    best_symbol(scores, static_cast<Index>(s));
        }
        return target;
    }

    /// The weights of each written symbol over the source: (sequence, target, source).
    fovea::tensor<float, 3> alignment(string_batch const& batch) {
        fovea::tensor<float, 3> shares({batch.sequences, positions, positions});
        learn(batch);
        matrix queries(batch.sequences * positions, hidden);
        for (Index i = 0; i < positions; ++i)
            at_position(queries, i, positions) = queries_[static_cast<std::size_t>(i)];
        matrix mixed(queries.rows(), 2 * state);
        attend(scratch_, attention(batch), in_sequences(queries), in_sequences(keys_), in_sequences(annotations_),
               in_sequences(mixed), fovea::weights(shares));
        return shares;
    }

    void visit(auto const& found) {
        symbols_.visit(found), written_.visit(found), forth_.visit(found), back_.visit(found), decoder_.visit(found);
        to_query_.visit(found), to_key_.visit(found), to_symbols_.visit(found), found(v_);
    }

private:
    static fovea::view<float, 3> in_sequences(matrix& rows, Index each = positions) {
        return {rows.data(), {rows.rows() / each, each, rows.cols()}};
    }

    /// The states of both directions at each position are its annotation, from which its key is made.
    void encode(string_batch const& batch) {
        matrix const x = symbols_(batch.source);
        annotations_.resize(x.rows(), 2 * state);
        forth_.forget_steps(), back_.forget_steps();
        matrix h = matrix::Zero(batch.sequences, state), g = h;
        for (Index i = 0; i < positions; ++i) {
            Index const j = positions - 1 - i;
            h = forth_(at_position(x, i, positions), h);
            g = back_(at_position(x, j, positions), g);
            at_position(annotations_, i, positions).leftCols(state) = h;
            at_position(annotations_, j, positions).rightCols(state) = g;
        }
        keys_ = to_key_(annotations_);
    }

    void start(string_batch const& batch) {
        decoder_.forget_steps();
        states_.assign(1, matrix::Zero(batch.sequences, state));
        queries_.clear();
        seen_.resize(batch.sequences * positions, 3 * state);
    }

    /// Looks at the source, then makes the next state of what it saw and the symbol before.
    void write_state(string_batch const& batch, Index i, matrix const& embedded) {
        queries_.push_back(to_query_(states_.back()));
        matrix context(batch.sequences, 2 * state);
        attend(scratch_, attention(batch), in_sequences(queries_.back(), 1), in_sequences(keys_),
               in_sequences(annotations_), in_sequences(context, 1));
        matrix x(batch.sequences, features + 2 * state), both(batch.sequences, 3 * state);
        x << embedded, context;
        states_.push_back(decoder_(x, states_.back()));
        both << states_.back(), context;
        at_position(seen_, i, positions) = both;
    }

    void backward(string_batch const& batch, matrix const& d_seen) {
        matrix d_keys = matrix::Zero(keys_.rows(), hidden), d_annotations = matrix::Zero(keys_.rows(), 2 * state);
        matrix d_state = matrix::Zero(batch.sequences, state), d_embedded(keys_.rows(), features);
        for (Index i = positions - 1; i >= 0; --i) {
            matrix const d = at_position(d_seen, i, positions);
            auto const [d_x, d_before] = decoder_.backward(d_state + d.leftCols(state));
            at_position(d_embedded, i, positions) = d_x.leftCols(features);
            matrix const d_context = d.rightCols(2 * state) + d_x.rightCols(2 * state);
            matrix const d_query = look_back(batch, static_cast<std::size_t>(i), d_context, d_keys, d_annotations);
            d_state = d_before + to_query_.backward(states_[static_cast<std::size_t>(i)], d_query);
        }
        written_.backward(d_embedded);
        read_back(batch, d_annotations + to_key_.backward(d_keys));
    }

    //! [gradient]
    /// One call of attend taken back: the gradient of its query. Keys and annotations are read at each step, and the
    /// gradients of the steps are added up.
    matrix look_back(string_batch const& batch, std::size_t step, matrix d_context, matrix& d_keys,
                     matrix& d_annotations) {
        using fovea::grad, fovea::view;
        matrix d_query(d_context.rows(), hidden), of_keys(keys_.rows(), hidden), of_values(keys_.rows(), 2 * state);
        matrix of_v(1, hidden);
        auto const query = in_sequences(queries_[step], 1), keys = in_sequences(keys_),
                   values = in_sequences(annotations_);
        gradient(scratch_, attention(batch), query, keys, values, in_sequences(d_context, 1),
                 grad(query, in_sequences(d_query, 1)), grad(keys, in_sequences(of_keys)),
                 grad(values, in_sequences(of_values)),
                 grad(view(v_.value.data(), {hidden}), view(of_v.data(), {hidden})));
        d_keys += of_keys, d_annotations += of_values, v_.gradient += of_v;
        return d_query;
    }
    //! [gradient]

    /// Both directions of the encoder, each from its last step to its first.
    void read_back(string_batch const& batch, matrix const& d_annotations) {
        matrix d_x = matrix::Zero(d_annotations.rows(), features);
        matrix d_h = matrix::Zero(batch.sequences, state), d_g = d_h;
        for (Index i = positions - 1; i >= 0; --i) {
            Index const j = positions - 1 - i;
            auto const [of_x, before] = forth_.backward(d_h + at_position(d_annotations, i, positions).leftCols(state));
            auto const [of_y, after] = back_.backward(d_g + at_position(d_annotations, j, positions).rightCols(state));
            at_position(d_x, i, positions) += of_x;
            at_position(d_x, j, positions) += of_y;
            d_h = before, d_g = after;
        }
        symbols_.backward(d_x);
    }

    embedding symbols_, written_;
    gru forth_, back_, decoder_;
    linear to_query_, to_key_, to_symbols_;
    parameter v_;
    std::vector<matrix> states_, queries_;         // of the decoder: states_[i] asks before symbol i is written
    matrix annotations_, keys_, embedded_, seen_;  // (sequence and position, feature)
    fovea::workspace scratch_;
};

}  // namespace training
