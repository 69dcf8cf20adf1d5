// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An engine whose threads all enter each operator, in work memory whose size was asked for when the graph was planned.
#include "check.hpp"

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdio>
#include <thread>

namespace engine {

using fovea::view;

//! [engine]
/// Thread ith of nth, and the work memory of all.
struct parameters {
    int ith, nth;
    std::byte* work;
    std::size_t work_bytes;
};
enum class status { ok, failed };

struct node {
    view<float const, 4> query, key, value;
    view<float, 4> result;
    std::size_t (*bytes_of_thread)(node const&);
    status (*compute)(parameters const&, node const&);
};

/// Every thread enters every node; a barrier stands after each.
std::vector<status> run(std::vector<node> const& graph, int threads) {
    std::size_t most = 0;
    for (auto const& n : graph) most = std::max(most, n.bytes_of_thread(n));
    std::vector<std::byte> work(most * static_cast<std::size_t>(threads));
    std::vector<status> last(static_cast<std::size_t>(threads), status::ok);
    std::barrier<> all_done(threads);
    auto const enter = [&](int ith) {
        for (auto const& n : graph) {
            last[static_cast<std::size_t>(ith)] = n.compute({ith, threads, work.data(), work.size()}, n);
            all_done.arrive_and_wait();
        }
    };
    std::vector<std::jthread> pool;
    for (int ith = 1; ith < threads; ++ith) pool.emplace_back(enter, ith);
    enter(0);
    pool.clear();
    return last;
}
//! [engine]

//! [operator]
constexpr auto spec = fovea::scaled_dot | fovea::causal_at_end | fovea::softmax | fovea::weighted_sum;

std::size_t bytes_of_thread(node const& n) {
    return fovea::workspace_size(spec, n.query, n.key, n.value, n.result);
}

status attention(parameters const& p, node const& n) {
    std::size_t const bytes = p.work_bytes / static_cast<std::size_t>(p.nth);
    try {
        attend(fovea::part(p.ith, p.nth, p.work + static_cast<std::size_t>(p.ith) * bytes, bytes), spec, n.query, n.key,
               n.value, n.result);
        return status::ok;
    } catch (fovea::shape_error const& error) {  // in all threads alike, and nothing has been written
        if (p.ith == 0) std::fprintf(stderr, "attention: %s\n", error.what());
        return status::failed;
    }
}
//! [operator]

}  // namespace engine

int main() {
    using namespace engine;
    using how_to::require;
    using tensor = fovea::tensor<float, 4>;
    constexpr fovea::index_t d = 16, heads = 6, key_heads = 2, cached = 5000;
    auto const key = how_to::random_tensor<4>({1, key_heads, cached, d});
    auto const value = how_to::random_tensor<4>({1, key_heads, cached, d});
    auto const prompt = how_to::random_tensor<4>({1, heads, 70, d}), token = how_to::random_tensor<4>({1, heads, 1, d});
    tensor of_prompt(prompt.extents), of_token(token.extents), expected_prompt(prompt.extents), expected(token.extents);
    attend(spec, prompt, key, value, expected_prompt);
    attend(spec, token, key, value, expected);

    for (int const threads : {1, 2, 5}) {
        std::vector<node> const graph{{prompt, key, value, of_prompt, bytes_of_thread, attention},
                                      {token, key, value, of_token, bytes_of_thread, attention}};
        for (auto const& s : run(graph, threads)) require(s == status::ok, "each thread succeeds");
        require(of_prompt.elements == expected_prompt.elements, "the bits of one call");
        require(of_token.elements == expected.elements, "also of one token over many keys");
    }
    std::byte little[100];
    node const n{prompt, key, value, of_prompt, bytes_of_thread, attention};
    require(attention({0, 1, little, sizeof little}, n) == status::failed, "too little memory is refused");
    require(of_prompt.elements == expected_prompt.elements, "and nothing is written");
}
