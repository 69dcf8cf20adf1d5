// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of a call, which run at once and wait for none: together they give the bits of one call, in memory of the
// caller's.
#include "threads/same_everywhere.hpp"

#include "support/random_graph.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <thread>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// Memory that begins anywhere and held something else before, between guards.
class used_memory {
public:
    explicit used_memory(std::size_t bytes) : bytes_(bytes), all_(bytes + 2 * guard, mark) {}
    std::byte* data() { return all_.data() + guard; }
    std::size_t size() const { return bytes_; }
    bool is_within_bounds() const {
        auto const is_mark = [](std::byte b) { return b == mark; };
        return std::all_of(all_.begin(), all_.begin() + guard, is_mark)
            && std::all_of(all_.end() - guard, all_.end(), is_mark);
    }

private:
    static constexpr std::byte mark{0xa5};
    static constexpr std::ptrdiff_t guard = 100;
    std::size_t bytes_;
    std::vector<std::byte> all_;
};

/// call(part) in n threads, each in memory of its own.
void enter(int n, std::size_t bytes, auto const& call) {
    std::vector<used_memory> memory(static_cast<std::size_t>(n), used_memory(bytes));
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < n; ++i)
            threads.emplace_back(
                [&, i, own = &memory[static_cast<std::size_t>(i)]] { call(part(i, n, own->data(), own->size())); });
    }
    for (auto const& each : memory) CHECK(each.is_within_bounds());
}

/// Arguments of a call but its result: all numbers of parts leave the bits of one call.
void check_parts(extents_t<4> const& extents, auto const&... arguments) {
    tensor<float, 4> expected(extents);
    attend(arguments..., expected);
    std::size_t const bytes = workspace_size(arguments..., expected);
    for (int const n : {1, 2, 3, 13}) {
        CAPTURE(n);
        tensor<float, 4> result(extents, 7);
        enter(n, bytes, [&](part const& own) { attend(own, arguments..., result); });
        CHECK(result.elements == expected.elements);
    }
}

}  // namespace

TEST_CASE("parts of tiles, of few queries over many keys, of whole rows", "[threads]") {
    auto const check = [](random_operands const& x, auto const& spec) { check_parts(x.result, spec, x.q, x.k, x.v); };
    constexpr auto causal_spec = scaled_dot | causal | softmax | weighted_sum;
    check(random_operands({2, 4, 130, 12}, 2, 150), causal_spec);
    check(random_operands({1, 2, 900, 12}, 1, 900), causal_spec);
    check(random_operands({1, 6, 1, 12}, 2, 6000), causal_spec);
    check(random_operands({2, 6, 3, 12}, 1, 6000), causal_spec);
    check(random_operands({1, 1, 5, 12}, 1, 0), causal_spec);
    check(random_operands({2, 4, 130, 12}, 2, 150), scaled_dot | sliding_window(20, 0) | sparsemax | weighted_sum);
}

TEST_CASE("parts that read a mask in memory find what it leaves out", "[threads]") {
    random_operands const x({1, 2, 300, 12}, 2, 310);
    tensor<float, 2> visible({300, 310});
    for (index_t i = 0; i < 300; ++i)
        for (index_t j = 0; j < 310; ++j) visible(i, j) = static_cast<float>(j / 64 == i / 64 || j % 97 == 0);
    auto const spec = scaled_dot | mask_tensor(visible) | softmax | weighted_sum;
    check_parts(x.result, spec, x.q, x.k, x.v);
    tensor<float, 4> result(x.result);
    auto const bytes = workspace_size(spec, x.q, x.k, x.v, result);
    std::fill(visible.elements.begin(), visible.elements.end(), 1.0f);
    CHECK(workspace_size(spec, x.q, x.k, x.v, result) == bytes);
}

TEST_CASE("parts of a graph, with a further output", "[threads]") {
    random_operands const x({2, 4, 400, 8}, 4, 400);
    auto const edges = random_graph(400, 400, 1600);
    auto const spec = scaled_dot | neighbors(edges) | softmax | weighted_sum;
    tensor<float, 4> expected(x.result), result(x.result);
    tensor<float, 3> expected_sums({2, 4, 400}), sums({2, 4, 400});
    attend(spec, x.q, x.k, x.v, expected, lse(expected_sums));
    enter(3, workspace_size(spec, x.q, x.k, x.v, result, lse(sums)),
          [&](part const& own) { attend(own, spec, x.q, x.k, x.v, result, lse(sums)); });
    CHECK(result.elements == expected.elements);
    CHECK(sums.elements == expected_sums.elements);
}

TEST_CASE("parts of running states go on from a state in place", "[threads]") {
    random_operands const x({2, 4, 90, 8}, 2, 90);
    auto const check = [&](auto const& spec, index_t columns) {
        testing::dice random(5);
        auto const before = testing::random_tensor<float>(random, extents_t<4>{2, 2, 8, columns});
        tensor<float, 4> expected(x.result), after(before);
        attend(spec, x.q, x.k, x.v, expected, past_state(after), present_state(after));
        for (int const n : {2, 5, 40}) {
            tensor<float, 4> result(x.result), state(before);
            enter(n, workspace_size(spec, x.q, x.k, x.v, result, past_state(state), present_state(state)),
                  [&](part const& own) {
                      attend(own, spec, x.q, x.k, x.v, result, past_state(state), present_state(state));
                  });
            CHECK(result.elements == expected.elements);
            CHECK(state.elements == after.elements);
        }
    };
    check(feature_map(elu(q) + 1) | causal | proportional | running_state, 11);
    check(feature_map(q) | causal | unnormalized | running_state | gated(-0.1f), 10);
}

TEST_CASE("parts of a ragged batch", "[threads]") {
    random_operands const x({1, 4, 90, 8}, 4, 90);
    for (auto const& offsets :
         {std::vector<index_t>{0, 40, 90}, std::vector<index_t>{0, 5, 9, 9, 30, 31, 50, 60, 70, 90}})
        check_parts(x.result, ragged(offsets), scaled_dot | causal | softmax | weighted_sum, x.q, x.k, x.v);
}

TEST_CASE("a part out of range, or with too little memory, is refused before anything is written", "[threads]") {
    random_operands const x({1, 2, 40, 12}, 2, 40);
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    tensor<float, 4> result(x.result, 7);
    tensor<float, 4> const before(result);
    CHECK_THROWS_WITH(part(3, 3), "part(i, n): i is 3 and must be at least 0 and below n, which is 3");
    CHECK_THROWS_AS(part(-1, 3), shape_error);
    CHECK_THROWS_AS(part(0, 0), shape_error);

    std::size_t const bytes = workspace_size(spec, x.q, x.k, x.v, result), needed = bytes - 63;  // on a cache line
    alignas(64) std::byte memory[100000];
    REQUIRE(bytes + 1 <= sizeof memory);
    CHECK_THROWS_WITH(attend(part(1, 2, memory, needed - 1), spec, x.q, x.k, x.v, result),
                      "part(i, n, memory, bytes): bytes is " + std::to_string(needed - 1) + " and must be at least "
                          + std::to_string(needed) + ", see workspace_size");
    CHECK_THROWS_AS(attend(part(0, 1, memory + 1, bytes - 1), spec, x.q, x.k, x.v, result), shape_error);
    CHECK_THROWS_AS(attend(part(0, 1, memory + 9, 3), spec, x.q, x.k, x.v, result), shape_error);
    CHECK_THROWS_AS(workspace_size(spec, x.q, x.k, x.k, result), shape_error);
    CHECK(result.elements == before.elements);
    attend(part(0, 1, memory + 1, bytes), spec, x.q, x.k, x.v, result);
    tensor<float, 4> expected(x.result);
    attend(spec, x.q, x.k, x.v, expected);
    CHECK(result.elements == expected.elements);
}
