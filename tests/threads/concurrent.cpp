// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One specification in many threads at once: calls that share what they read need no locks.
#include "support/random_graph.hpp"
#include "threads/same_everywhere.hpp"

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

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

TEST_CASE("of two calls at once on one workspace, one runs and the other throws", "[threads]") {
    random_operands const x({1, 4, 300, 8}, 2, 300);
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    tensor<float, 4> expected(x.result);
    attend(spec, x.q, x.k, x.v, expected);
    workspace scratch;
    std::atomic<int> ready{0}, wrong{0}, ran{0}, refused{0};
    auto const call_until_both = [&] {
        ++ready;
        while (ready < 2) std::this_thread::yield();
        for (int i = 0; i < 20000 && (refused == 0 || ran == 0); ++i) {
            tensor<float, 4> result(x.result, 7);
            try {
                attend(scratch, spec, x.q, x.k, x.v, result);
                ++ran;
                wrong += result.elements != expected.elements;
            } catch (std::logic_error const& e) {
                ++refused;
                wrong += e.what()
                      != std::string("workspace: another call is using it: calls at the same time need one each");
                for (float const element : result) wrong += element != 7;
            }
        }
    };
    std::thread one(call_until_both), other(call_until_both);
    one.join();
    other.join();
    CHECK(wrong == 0);
    CHECK(ran > 0);
    CHECK(refused > 0);
    tensor<float, 4> after(x.result);
    attend(scratch, spec, x.q, x.k, x.v, after);
    CHECK(after.elements == expected.elements);
}

TEST_CASE("a task does not use the workspace of its call", "[threads]") {
    random_operands const x({1, 4, 60, 8}, 2, 70);
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    tensor<float, 4> expected(x.result), result(x.result);
    attend(spec, x.q, x.k, x.v, expected);
    workspace scratch;
    std::atomic<int> refused{0};
    bulk_executor const nesting(2, [&](index_t count, auto const& task) {
        tensor<float, 4> inner(x.result);
        try {
            attend(scratch, spec, x.q, x.k, x.v, inner);
        } catch (std::logic_error const&) {
            ++refused;
        }
        for (index_t i = 0; i < count; ++i) task(i);
    });
    attend(nesting, scratch, spec, x.q, x.k, x.v, result);
    CHECK(refused > 0);
    CHECK(result.elements == expected.elements);
    workspace moved(std::move(scratch));
    attend(moved, spec, x.q, x.k, x.v, result);
    attend(scratch, spec, x.q, x.k, x.v, result);
    CHECK(result.elements == expected.elements);
}

TEST_CASE("a call that throws gives its workspace back", "[threads]") {
    random_operands const x({1, 4, 60, 8}, 2, 70);
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    tensor<float, 4> result(x.result);
    workspace scratch;
    bulk_executor const failing(2, [](index_t, auto const&) { throw std::runtime_error("no threads"); });
    CHECK_THROWS_WITH(attend(failing, scratch, spec, x.q, x.k, x.v, result), "no threads");
    CHECK_NOTHROW(attend(scratch, spec, x.q, x.k, x.v, result));
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
