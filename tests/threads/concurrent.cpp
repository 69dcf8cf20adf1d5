// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One specification in many threads at once: calls that share what they read need no locks.
#include "support/random_graph.hpp"
#include "threads/same_everywhere.hpp"

#include <atomic>
#include <thread>

using namespace fovea;

namespace {

/// Many threads call at once, each with a result and a workspace of its own; how many results are not the expected.
template <class Call>
int differing(extents_t<4> const& extents, Call const& call) {
    tensor<float, 4> expected(extents);
    workspace alone;
    call(serial, alone, expected);
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int t = 0; t < 6; ++t)
        callers.emplace_back([&, t] {
            workspace scratch;
            for (int i = 0; i < 5; ++i) {
                tensor<float, 4> result(extents, 7);
                call(threads(1 + (t + i) % 4), scratch, result);
                if (result.elements != expected.elements) ++wrong;
            }
        });
    for (auto& caller : callers) caller.join();
    return wrong;
}

}  // namespace

TEST_CASE("a specification is shared by calls in many threads", "[threads]") {
    random_operands const x({1, 4, 60, 8}, 2, 70);
    std::vector<float> const slopes{0.5f, 0.25f, 0.125f, 0.0625f};
    std::vector<int> const lengths{50};
    auto const spec = scaled_dot | alibi(slopes) | key_lengths(lengths) | softmax | weighted_sum;
    CHECK(differing(x.result, [&](auto const& executor, workspace& scratch,
                                  auto& out) { attend(executor, scratch, spec, x.q, x.k, x.v, out); })
          == 0);
}

TEST_CASE("a graph is shared by calls in many threads", "[threads]") {
    random_operands const x({1, 2, 80, 8}, 2, 80);
    auto const edges = random_graph(80, 80, 400);
    auto const spec = scaled_dot | neighbors(edges) | softmax | weighted_sum;
    CHECK(differing(x.result, [&](auto const& executor, workspace& scratch,
                                  auto& out) { attend(executor, scratch, spec, x.q, x.k, x.v, out); })
          == 0);
}

TEST_CASE("calls within the tasks of another", "[threads]") {
    random_operands const x({1, 4, 60, 8}, 2, 70);
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    tensor<float, 4> expected(x.result);
    attend(spec, x.q, x.k, x.v, expected);
    std::vector<tensor<float, 4>> results(12, tensor<float, 4>(x.result));
    threads(4).run(12, [&](index_t task, index_t) {
        attend(threads(3), spec, x.q, x.k, x.v, results[static_cast<std::size_t>(task)]);
    });
    for (auto const& result : results) CHECK(result.elements == expected.elements);
}
