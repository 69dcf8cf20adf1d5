// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hard retrieval: the value of the best key is copied, which makes attention a nearest-neighbour search.
#include <fovea/fovea.hpp>

#include <cstdio>

using namespace fovea;
using namespace fovea::placeholders;

int main() {
    char const* const names[] = {"Lisbon", "Madrid", "Paris", "Rome"};
    tensor<float, 2> cities({4, 2}), population({4, 1});
    cities.elements = {38.7f, -9.1f, 40.4f, -3.7f, 48.9f, 2.4f, 41.9f, 12.5f};  // latitude, longitude
    population.elements = {0.5f, 3.3f, 2.1f, 2.8f};                             // millions
    tensor<float, 2> places({2, 2}), found({2, 1});
    places.elements = {45.8f, 4.8f, 39.9f, -4.0f};
    tensor<int, 1> which({2});

    auto const nearest = compare(-sum(square(q - k))) | hardmax | weighted_sum;
    attend(nearest, places, cities, population, found, best_key(which));

    for (index_t i = 0; i < 2; ++i)
        std::printf("nearest to (%.1f, %.1f) is %s, with %.1f million people\n", double{places(i, 0)},
                    double{places(i, 1)}, names[which(i)], double{found(i, 0)});
}
// prints
// nearest to (45.8, 4.8) is Paris, with 2.1 million people
// nearest to (39.9, -4.0) is Madrid, with 3.3 million people
