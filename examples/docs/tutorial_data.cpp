// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tutorial, step 4: a projection, a graph and threads, on Zachary's karate club.
#include <fovea/fovea.hpp>

#include "data/karate_club.hpp"

#include <cstdio>
#include <vector>

using namespace fovea;

int main() {
    using namespace karate_club;
    //! [club]
    std::vector<graph::edge> edges;
    for (auto const& [a, b] : friendships) {  // members are numbered from 1
        edges.push_back({a - 1, b - 1});
        edges.push_back({b - 1, a - 1});
    }
    for (index_t i = 0; i < members; ++i) edges.push_back({i, i});
    graph const friends(members, edges);

    tensor<float, 2> x({members, members});  // a member is described by whom it knows: 1 for friends and itself
    for (auto const& [to, from] : edges) x(to, from) = 1;
    //! [club]

    //! [layer]
    tensor<float, 2> leaning({members, 1});  // a member votes 1 if it knows the instructor, -1 if the officer, 0 if both
    leaning(instructor - 1, 0) = 1;
    leaning(officer - 1, 0) = -1;

    auto const layer = project(as_is, as_is, leaning) | dot | neighbors(friends) | softmax | weighted_sum;
    tensor<float, 2> vote({members, 1});
    workspace scratch;  // kept between calls, so that these allocate nothing
    attend(threads(2), scratch, layer, x, vote);
    //! [layer]

    int right = 0;
    for (int member = 1; member <= members; ++member) right += (vote(member - 1, 0) > 0) == stayed(member);
    std::printf("%d of %d members went with the side that the vote of their friends says\n", right, members);
}
