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

/// The keys and values of the positions of one sequence so far, with room for more.
struct key_value_cache {
    matrix keys, values;
    Index count = 0;

    key_value_cache(Index capacity, Index features) : keys(capacity, features), values(capacity, features) {}

    void add(matrix const& more_keys, matrix const& more_values) {
        keys.middleRows(count, more_keys.rows()) = more_keys;
        values.middleRows(count, more_keys.rows()) = more_values;
        count += more_keys.rows();
    }
};

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

    //! [step]
    /// The next positions of one sequence, a few queries over all keys so far: they are computed once and kept.
    template <class Specification>
    matrix step(Specification const& specification, key_value_cache& cache, matrix const& x) {
        sequences = 1, q = query(x);
        cache.add(key(x), value(x));
        matrix mixed(x.rows(), x.cols());
        auto const so_far = [&](matrix& all) {
            auto view = split(all);
            view.extents[2] = cache.count;
            return view;
        };
        attend(scratch, specification, split(q), so_far(cache.keys), so_far(cache.values), split(mixed));
        return out(mixed);
    }
    //! [step]

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
