// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graph attention: friends look at each other, each with features, and a layer mixes those of a person's friends.
#include <fovea/fovea.hpp>

#include <cstdio>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

int main() {
    char const* const names[] = {"Ada", "Ben", "Cleo", "Dan", "Eva"};
    std::vector<graph::edge> const edges{{0, 1}, {0, 2}, {1, 0}, {2, 0}, {2, 3}, {3, 2}};  // {who looks, at whom}
    graph const friends(5, edges);

    tensor<float, 2> people({5, 2}), W({2, 4}), target({2, 2}, 0.5f), source({2, 2}, 1);
    people.elements = {1, 0, 0, 1, 2, 1, -1, 3, 5, 5};  // (person, feature)
    W.elements = {1, 0, 0.5f, 0, 0, 1, 0, 0.5f};        // two heads of two features
    tensor<float, 2> result({5, 4});
    tensor<float, 3> shares({2, 5, 5});  // (head, query, key)

    auto const gat = project(W, W, W, heads<2>) | gat_score(target, source, 0.2f) | neighbors(friends)
                   | softmax | weighted_sum | concat_heads | map(elu(out));
    attend(gat, people, result, weights(shares));

    for (index_t i = 0; i < 5; ++i) {
        std::printf("%s looks at", names[i]);
        for (auto const j : friends.view().of(i))
            std::printf(" %s (%.2f)", names[j], double{shares(0, i, j)});
        std::puts(friends.view().of(i).empty() ? " nobody" : "");
    }
}
// prints
// Ada looks at Ben (0.12) Cleo (0.88)
// Ben looks at Ada (1.00)
// Cleo looks at Ada (0.27) Dan (0.73)
// Dan looks at Cleo (1.00)
// Eva looks at nobody
