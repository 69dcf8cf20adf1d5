// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multi-head attention as a layer that learns: it owns the matrices, and the specification comes with each call.
#pragma once

#include "layers.hpp"

#include <fovea/gradient.hpp>

#include <utility>

namespace training {

/// Rows of sequences of one length, one sequence after the other: (sequence, head, position, feature).
inline fovea::view<float, 4> in_heads(matrix& rows, Index sequences, Index heads) {
    Index const positions = rows.rows() / sequences, size = rows.cols() / heads;
    return {rows.data(), {sequences, heads, positions, size}, {positions * rows.cols(), size, rows.cols(), 1}};
}

/// Queries of one input, keys and values of another or of the same (Vaswani et al. 2017, section 3.2.2).
struct multi_head {
    static constexpr Index head_count = 4;
    linear query, key, value, out;
    Index sequences = 0;
    matrix q, k, v;            // of the last call
    fovea::workspace scratch;  // repeated calls allocate nothing

    multi_head(dice& random, Index features)
        : query(random, features, features),
          key(random, features, features),
          value(random, features, features),
          out(random, features, features) {}

    //! [forward]
    /// Outputs such as weights(...) may follow.
    template <class Specification, class... Extra>
    matrix operator()(Specification const& specification, Index batch, matrix const& x, matrix const& memory,
                      Extra const&... extra) {
        sequences = batch, q = query(x), k = key(memory), v = value(memory);
        matrix mixed(x.rows(), x.cols());
        attend(scratch, specification, split(q), split(k), split(v), split(mixed), extra...);
        return out(mixed);
    }
    //! [forward]

    //! [backward]
    /// The gradients of x and of the memory, by the specification of the call.
    template <class Specification>
    std::pair<matrix, matrix> backward(Specification const& specification, matrix const& d) {
        using fovea::grad;
        matrix d_mixed = out.backward(d), d_q(q.rows(), q.cols()), d_k(k.rows(), k.cols()), d_v(k.rows(), k.cols());
        gradient(scratch, specification, split(q), split(k), split(v), split(d_mixed), grad(split(q), split(d_q)),
                 grad(split(k), split(d_k)), grad(split(v), split(d_v)));
        return {query.backward(d_q), key.backward(d_k) + value.backward(d_v)};
    }
    //! [backward]

    void visit(auto const& found) { query.visit(found), key.visit(found), value.visit(found), out.visit(found); }

private:
    fovea::view<float, 4> split(matrix& rows) const { return in_heads(rows, sequences, head_count); }
};

}  // namespace training
