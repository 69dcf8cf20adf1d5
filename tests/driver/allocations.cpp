// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A workspace that has seen a shape allocates nothing for it again; its size is linear in the sequence.
#include <fovea/fovea.hpp>

#include "catch.hpp"
#include "support/random_graph.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> allocations{0}, allocated_bytes{0};

void* counted(std::size_t bytes, std::size_t alignment) {
    ++allocations;
    allocated_bytes += bytes;
    void* const p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

using namespace fovea;

namespace {

struct call {
    testing::dice random{23};
    tensor<float, 4> q = testing::random_tensor<float>(random, extents_t<4>{2, 2, 170, 12});
    tensor<float, 4> k = testing::random_tensor<float>(random, extents_t<4>{2, 1, 190, 12});
    tensor<float, 4> v = testing::random_tensor<float>(random, extents_t<4>{2, 1, 190, 10});
    tensor<float, 4> out{{2, 2, 170, 10}};
};

/// The allocations of the third call with one workspace.
std::size_t allocations_of(auto const& run) {
    run();
    run();
    std::size_t const before = allocations;
    run();
    return allocations - before;
}

}  // namespace

TEST_CASE("the steady state allocates nothing", "[driver]") {
    call c;
    workspace scratch;
    CHECK(allocations_of([&] { attend(scratch, scaled_dot | causal | softmax | weighted_sum, c.q, c.k, c.v, c.out); })
          == 0);
    CHECK(allocations_of([&] { attend(scratch, cosine | softmax | weighted_sum, c.q, c.k, c.v, c.out); }) == 0);
}

TEST_CASE("outputs beside the result allocate nothing", "[driver]") {
    call c;
    workspace scratch;
    tensor<float, 3> sums({2, 2, 170});
    tensor<float, 4> all({2, 2, 170, 190});
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    CHECK(allocations_of([&] { attend(scratch, spec, c.q, c.k, c.v, c.out, lse(sums)); }) == 0);
    CHECK(allocations_of([&] { attend(scratch, spec, c.q, c.k, c.v, c.out, weights(all)); }) == 0);
}

TEST_CASE("threads allocate nothing in the steady state", "[driver]") {
    call c;
    workspace scratch;
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    CHECK(allocations_of([&] { attend(threads(3), scratch, spec, c.q, c.k, c.v, c.out); }) == 0);
    CHECK(allocations_of([&] { attend(threads(2), scratch, cosine | sparsemax | weighted_sum, c.q, c.k, c.v, c.out); })
          == 0);
    CHECK(allocations_of([] { threads(5).run(9, [](index_t, index_t) {}); }) == 0);
}

/// Four workers, one of which finds all the work.
struct one_of_four {
    using executor_tag = void;
    index_t busy;
    index_t workers() const { return 4; }
    template <class Task>
    void run(index_t tasks, Task const& task) const {
        for (index_t i = 0; i < tasks; ++i) task(i, busy);
    }
};

TEST_CASE("a worker that finds its first work in the steady state allocates nothing", "[driver]") {
    call c;
    std::vector<index_t> const offsets{0, 50, 170}, key_offsets{0, 130, 190};
    view<float const, 4> const q(c.q.data(), {1, 2, 170, 12}), k(c.k.data(), {1, 1, 190, 12}),
        v(c.v.data(), {1, 1, 190, 10});
    tensor<float, 4> out({1, 2, 170, 10});
    auto const run = [&](workspace& scratch, one_of_four const& executor) {
        attend(executor, scratch, scaled_dot | causal | softmax | weighted_sum, c.q, c.k, c.v, c.out);
        attend(executor, scratch, cosine | sparsemax | weighted_sum, c.q, c.k, c.v, c.out);
        attend(executor, scratch, ragged(offsets, key_offsets), scaled_dot | softmax | weighted_sum, q, k, v, out);
    };
    workspace scratch;
    for (int i = 0; i < 3; ++i) run(scratch, {2});
    for (index_t const late : {0, 1, 3}) {
        std::size_t const before = allocations;
        run(scratch, {late});
        CHECK(allocations == before);
    }
}

TEST_CASE("values that are not finite allocate nothing", "[driver]") {
    call c;
    workspace scratch;
    for (auto& x : c.v) x = std::numeric_limits<float>::infinity();
    CHECK(allocations_of([&] { attend(scratch, scaled_dot | causal | softmax | weighted_sum, c.q, c.k, c.v, c.out); })
          == 0);
}

TEST_CASE("graphs and projections allocate nothing in the steady state", "[driver]") {
    call c;
    workspace scratch;
    auto const g = random_graph(170, 190, 900);
    CHECK(allocations_of(
              [&] { attend(scratch, scaled_dot | neighbors(g) | softmax | weighted_sum, c.q, c.k, c.v, c.out); })
          == 0);
    auto const w = testing::random_tensor<float>(c.random, std::array<index_t, 2>{10, 12});
    auto const x = testing::random_tensor<float>(c.random, std::array<index_t, 3>{2, 70, 10});
    tensor<float, 3> y({2, 70, 12});
    auto const spec = project(w, w, w, heads<2>) | scaled_dot | softmax | weighted_sum | concat_heads;
    CHECK(allocations_of([&] { attend(scratch, spec, x, y); }) == 0);
}

TEST_CASE("running states, maps of heads, ragged batches and merged parts allocate nothing in the steady state",
          "[driver]") {
    call c;
    workspace scratch;
    auto const queries = view<float const, 4>(c.q.data(), {2, 2, 100, 12});
    auto const keys = view<float const, 4>(c.k.data(), {2, 1, 100, 12}),
               values = view<float const, 4>(c.v.data(), {2, 1, 100, 10});
    view<float, 4> const out(c.out.data(), {2, 2, 100, 10});
    tensor<float, 4> state({2, 1, 12, 11});
    constexpr auto recurrent = feature_map(elu(placeholders::q) + 1) | causal | proportional | running_state;
    CHECK(allocations_of(
              [&] { attend(scratch, recurrent | gated(-0.1f), queries, keys, values, out, present_state(state)); })
          == 0);
    auto const turned = project(as_is | l2_normalized | rotary, as_is | l2_normalized | rotary, as_is);
    CHECK(allocations_of([&] { attend(scratch, turned | scaled_dot | softmax | weighted_sum, c.q, c.k, c.v, c.out); })
          == 0);
    tensor<float, 3> const sums({2, 2, 170});
    tensor<float, 4> const other({2, 2, 170, 10}, 1);
    std::vector<index_t> const offsets{0, 50, 100};
    CHECK(allocations_of([&] {
              attend(scratch, ragged(offsets), scaled_dot | causal | softmax | weighted_sum,
                     view<float const, 4>(queries.data, {1, 2, 100, 12}),
                     view<float const, 4>(keys.data, {1, 1, 100, 12}),
                     view<float const, 4>(values.data, {1, 1, 100, 10}), view<float, 4>(out.data, {1, 2, 100, 10}));
          })
          == 0);
    CHECK(allocations_of([&] { merge(c.out, sums, other, sums, c.out); }) == 0);
}

TEST_CASE("scratch is linear in the length of the sequence", "[driver]") {
    auto const bytes_for = [](index_t n) {
        tensor<float, 2> const x({n, 16}, 1);
        tensor<float, 2> y({n, 16});
        std::size_t const before = allocated_bytes;
        attend(scaled_dot | causal | softmax | weighted_sum, x, x, x, y);
        return static_cast<double>(allocated_bytes - before);
    };
    CHECK(bytes_for(4096) < 2.5 * bytes_for(2048));
}
