// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls run by the threads that a program already has.
#include "check.hpp"
#include "pool.hpp"

#include <new>

using namespace fovea;
using namespace how_to;

int main() {
    auto const query = random_tensor<4>({2, 4, 200, 32}), key = random_tensor<4>({2, 4, 200, 32}),
               value = random_tensor<4>({2, 4, 200, 32});
    tensor<float, 4> result(query.extents), expected(query.extents);
    constexpr auto sdpa = scaled_dot | causal | softmax | weighted_sum;
    attend(sdpa, query, key, value, expected);

    //! [call]
    pool engine_threads(3);
    workspace scratch;  // has a part for each worker
    attend(on_pool(engine_threads), scratch, sdpa, query, key, value, result);
    //! [call]
    require(result.elements == expected.elements, "the threads of a pool give the bits of one thread");

    bool caught = false;
    try {
        on_pool(engine_threads).run(100, [](index_t i, index_t) {
            if (i == 10) throw std::bad_alloc();
        });
    } catch (std::bad_alloc const&) {
        caught = true;
    }
    require(caught, "an exception of a task reaches the caller");
    attend(on_pool(engine_threads), scratch, sdpa, query, key, value, result);
    require(result.elements == expected.elements, "and the pool can be used again");
}
