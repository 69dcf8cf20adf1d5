// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/graph.hpp>
#include <fovea/core/tensor.hpp>

/// club_members: the karate club as operands of a graph attention whose weights are set by hand, not learned.
///
/// The first feature of a member is a leaning, from friends in common with the officer to friends in common with the
/// instructor; the others are noise. The projection passes it on twice, with both signs, and the score rewards pairs
/// that lean the same way: something GATv2 can say and GAT cannot, since there the ranking of the neighbours is the
/// same for every node.
namespace club_members {

/// Each member looks at its friends and at itself.
fovea::graph friends_and_self();

/// (member, feature)
fovea::tensor<float, 2> features();

/// W, (feature, heads * 4), the same for queries, keys and values.
fovea::tensor<float, 2> projection(fovea::index_t heads);

/// a, (head, 4)
fovea::tensor<float, 2> score_weights(fovea::index_t heads);

}  // namespace club_members
