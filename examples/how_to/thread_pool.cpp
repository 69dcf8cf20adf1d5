// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls run by the threads that a program already has.
#include "check.hpp"
#include "pool.hpp"

#include <stdexcept>

using namespace fovea;
using namespace how_to;

namespace {

/// A normalizer whose tasks fail.
struct failing_t : stage<role::normalizer> {
    template <class Row>
    static void normalize(Row const&) {
        throw std::runtime_error("failed");
    }
};

}  // namespace

int main() {
    auto const query = random_tensor<4>({2, 4, 200, 32}), key = random_tensor<4>({2, 4, 200, 32}),
               value = random_tensor<4>({2, 4, 200, 32});
    tensor<float, 4> result(query.extents), expected(query.extents);
    constexpr auto sdpa = scaled_dot | causal | softmax | weighted_sum;
    attend(sdpa, query, key, value, expected);

    //! [executor]
    pool program_threads(3);
    auto const run = [&](index_t n, auto const& f) { program_threads.bulk(static_cast<int>(n), f); };
    auto const executor = bulk_executor(program_threads.size(), run);
    workspace scratch;  // has a part for each worker
    attend(executor, scratch, sdpa, query, key, value, result);
    //! [executor]
    require(result.elements == expected.elements, "the threads of a pool give the bits of one thread");

    bool caught = false;
    try {
        attend(executor, scratch, dot | failing_t{} | weighted_sum, query, key, value, result);
    } catch (std::runtime_error const&) {
        caught = true;
    }
    require(caught, "an exception of a task reaches the caller");
    attend(executor, scratch, sdpa, query, key, value, result);
    require(result.elements == expected.elements, "and the pool can be used again");
}
