// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: alone native catalogue
// A workspace that has seen a shape allocates nothing for it again; its size is linear in the sequence.
#include <fovea/driver/run/workspace.hpp>
#include <fovea/fovea.hpp>

#include "catalogue/judge.hpp"
#include "catch.hpp"
#include "support/seeds.hpp"

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

TEST_CASE("the steady state of every specification allocates nothing", "[driver]") {
    INFO(seeds::how_to_repeat());
    int calls = 0;
    for (auto const& of : catalogue::all())
        for (auto const& computed : of.engines)
            for (int const workers : {1, 3}) {
                auto from = seeds::dice_for(std::string(of.name) + computed.text, static_cast<unsigned>(workers));
                auto const sizes = catalogue::draw_sizes(from, from.between(1, 40), from.between(1, 40),
                                                         computed.types.ragged, of.shape.of_sizes);
                catalogue::drawn_call const drawn(from, computed.types, of.shape, sizes);
                catalogue::attend_results const to(from, computed, drawn);
                workspace scratch;
                INFO(of.name << ": " << computed.text << " in " << workers << " threads\n" << drawn.text());
                CHECK(allocations_of(
                          [&] { computed.run({drawn, to.result, to.lse.get(), to.weights.get(), workers, scratch}); })
                      == 0);
                ++calls;
            }
    CHECK(calls >= 100);
}

TEST_CASE("no work, and merged parts, allocate nothing", "[driver]") {
    CHECK(allocations_of([] { threads(5).run(9, [](index_t, index_t) {}); }) == 0);
    tensor<float, 4> const first({2, 2, 170, 10}, 1), second({2, 2, 170, 10}, 2);
    tensor<float, 3> const sums({2, 2, 170});
    tensor<float, 4> out({2, 2, 170, 10});
    CHECK(allocations_of([&] { merge(first, sums, second, sums, out); }) == 0);
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

TEST_CASE("a part in memory of the caller's allocates nothing from the first call on", "[driver]") {
    call c;
    auto const check = [&](auto const& spec) {
        std::vector<std::byte> memory(workspace_size(spec, c.q, c.k, c.v, c.out));
        std::size_t const before = allocations;
        attend(part(0, 2, memory.data(), memory.size()), spec, c.q, c.k, c.v, c.out);
        CHECK(allocations == before);
    };
    check(scaled_dot | causal | softmax | weighted_sum);
    check(cosine | sparsemax | weighted_sum);
}

TEST_CASE("values that are not finite allocate nothing", "[driver]") {
    call c;
    workspace scratch;
    for (auto& x : c.v) x = std::numeric_limits<float>::infinity();
    CHECK(allocations_of([&] { attend(scratch, scaled_dot | causal | softmax | weighted_sum, c.q, c.k, c.v, c.out); })
          == 0);
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
