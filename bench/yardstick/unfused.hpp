// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/graph.hpp>
#include <fovea/core/tensor.hpp>

#include <span>

/// unfused: attention step by step with Eigen, every intermediate matrix stored: the program one writes first,
/// and what fusion is measured against. One thread. T is float, for `attend` also double.
namespace unfused {

using fovea::index_t;

/// The steps on the scores between the product and the softmax, in this order.
template <class T>
struct steps {
    T scale = 0;                        // 0: 1 / sqrt(d)
    std::span<T const> alibi_slopes{};  // one per head: slope (key - query) is added
    T softcap = 0;                      // c tanh(score / c)
    bool causal = false;                // later keys are invisible
    index_t window = 0;                 // and so are keys this far back or farther
};

/// softmax(steps(Q K^T)) V for views (batch, head, position, feature); query heads share key heads evenly
/// where there are fewer of these. Returns the weights of the last head, (queries, keys).
template <class T>
fovea::tensor<T, 2> const& attend(fovea::view<T const, 4> query, fovea::view<T const, 4> key,
                                  fovea::view<T const, 4> value, fovea::view<T, 4> result,
                                  steps<T> const& between = {});

/// softmax_j(v . tanh(q_i + k_j)) applied to the values: for each query a (keys, features) matrix of tanh is stored.
template <class T>
void additive(fovea::view<T const, 4> query, fovea::view<T const, 4> key, fovea::view<T const, 4> value,
              fovea::view<T const, 1> v, fovea::view<T, 4> result);

/// The product of two matrices.
template <class T>
fovea::tensor<T, 2> product(fovea::view<T const, 2> a, fovea::view<T const, 2> b);

/// Rows divided by their lengths: the inner product of two is their cosine.
template <class T>
fovea::tensor<T, 4> unit_rows(fovea::view<T const, 4> rows);

// Over the edges of a graph, by one array per step as long as the edges: gather, score, maximum, exponential, sum,
// message, scatter.

/// GAT: leaky_relu(a . h_i + b . h_j, 0.2); features (1, head, node, feature), a and b (head, feature).
template <class T>
void gat(fovea::graph_view graph, fovea::view<T const, 4> features, fovea::view<T const, 2> a,
         fovea::view<T const, 2> b, fovea::view<T, 4> result);

/// GATv2: a . leaky_relu(q_i + k_j, 0.2); queries, keys and values (1, head, node, feature), a (head, feature).
template <class T>
void gatv2(fovea::graph_view graph, fovea::view<T const, 4> query, fovea::view<T const, 4> key,
           fovea::view<T const, 4> value, fovea::view<T const, 2> a, fovea::view<T, 4> result);

}  // namespace unfused
