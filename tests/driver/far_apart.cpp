// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native change posix
// Elements more than 2^31 apart: positions and strides are never narrowed. The memory is mapped, and most of it never
// touched.
#include <fovea/fovea.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// So many elements of address space, of which only what is touched is memory.
template <class T>
struct mapping {
    std::size_t bytes;
    void* place;

    explicit mapping(index_t elements)
        : bytes(static_cast<std::size_t>(elements) * sizeof(T)),
          place(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
    mapping(mapping const&) = delete;
    ~mapping() {
        if (place != MAP_FAILED) munmap(place, bytes);
    }
    T* data() const { return static_cast<T*>(place); }

    /// False, and the reason printed, where the system does not give so much.
    bool is_there() const {
        if (place == MAP_FAILED) WARN("skipped 1 case: the system gives no " << bytes << " bytes of address space");
        return place != MAP_FAILED;
    }
};

float number(index_t n) { return static_cast<float>(n % 23 - 11) / 11; }

template <class T>
void set(view<T, 4> const& x, index_t salt) {
    for (index_t b = 0; b < x.extent(0); ++b)
        for (index_t h = 0; h < x.extent(1); ++h)
            for (index_t n = 0; n < x.extent(2); ++n)
                for (index_t c = 0; c < x.extent(3); ++c)
                    x(b, h, n, c) = static_cast<T>(number(7 * b + 5 * h + 3 * n + c + salt));
}

template <class T>
std::vector<float> collected(view<T, 4> const& x) {
    std::vector<float> all;
    for (index_t b = 0; b < x.extent(0); ++b)
        for (index_t h = 0; h < x.extent(1); ++h)
            for (index_t n = 0; n < x.extent(2); ++n)
                for (index_t c = 0; c < x.extent(3); ++c) all.push_back(static_cast<float>(x(b, h, n, c)));
    return all;
}

constexpr index_t past_31 = (index_t{1} << 31) + 1000, past_32 = (index_t{1} << 32) + 2000;

/// Every operand and result with one axis so far apart, against the same numbers side by side: the same bits.
template <class T>
void check_strided(auto const& spec, int axis, index_t step) {
    CAPTURE(axis, step, text(spec));
    index_t const positions = axis == 2 ? 3 : 33;
    extents_t<4> const extents{2, 2, positions, 16};
    extents_t<4> strides{2 * positions * 16, positions * 16, 16, 1};
    strides[static_cast<std::size_t>(axis)] = step;
    mapping<T> const space(4 * 3 * step + 4096);
    if (!space.is_there()) return;
    auto const far = [&](index_t i) { return view<T, 4>(space.data() + i * 3 * step, extents, strides); };
    tensor<T, 4> q(extents), k(extents), v(extents), expected(extents);
    index_t salt = 1;
    for (auto* const x : {&q, &k, &v}) {
        set(x->view(), salt);
        set(far(salt - 1), salt);
        ++salt;
    }
    attend(spec, q, k, v, expected);
    for (int workers : {1, 3}) {
        attend(threads(workers), spec, far(0), far(1), far(2), far(3));
        CHECK(collected(far(3)) == collected(expected.view()));
    }
}

}  // namespace

TEST_CASE("any axis may step past 2^31 and 2^32 elements, back as well", "[driver]") {
    constexpr auto streamed = scaled_dot | causal | softmax | weighted_sum;
    for (int axis = 0; axis < 3; ++axis) {
        check_strided<float>(streamed, axis, past_31);
        check_strided<bfloat16>(streamed, axis, past_32);
        check_strided<float>(cosine | sparsemax | max_pool, axis, past_32);
    }
}

TEST_CASE("rows one after another, more than 2^32 elements of them", "[driver]") {
    // Of 2^27 keys a condition leaves the last: all others lie in blocks that are not looked at.
    constexpr index_t keys = (index_t{1} << 27) + 5, features = 40, last = 70;
    mapping<float> const space(2 * keys * features);
    if (!space.is_there()) return;
    view<float, 4> const k(space.data(), {1, 1, keys, features}), v(space.data() + keys * features, k.extents);
    tensor<float, 4> q({1, 1, 3, features}), expected(q.extents), got(q.extents), far_back(q.extents);
    auto const tail = [&](view<float, 4> const& x) {
        return view<float, 4>(x.place(0, 0, keys - last, 0), {1, 1, last, features});
    };
    set(q.view(), 1);
    set(tail(k), 2);
    set(tail(v), 3);
    attend(scaled_dot | softmax | weighted_sum, q, tail(k), tail(v), expected);
    attend(threads(2), scaled_dot | where(kv_idx >= kv_len - last) | softmax | weighted_sum, q, k, v, got);
    testing::check_close<float, float>("result", expected.elements, got.elements, {2e-6, 1e-5});

    // The same rows backwards: the first key is the last in memory.
    view<float, 4> const k_back(k.place(0, 0, keys - 1, 0), k.extents, {0, 0, -features, 1}),
        v_back(v.place(0, 0, keys - 1, 0), k.extents, {0, 0, -features, 1});
    attend(threads(2), scaled_dot | where(kv_idx < last) | softmax | weighted_sum, q, k_back, v_back, far_back);
    testing::check_close<float, float>("result", expected.elements, far_back.elements, {2e-6, 1e-5});
}

TEST_CASE("edges to nodes past 2^31 and 2^32 elements", "[driver]") {
    constexpr index_t nodes = (index_t{1} << 27) + 9, features = 40;
    mapping<float> const space(2 * nodes * features);
    if (!space.is_there()) return;
    view<float, 2> const k(space.data(), {nodes, features}), v(space.data() + nodes * features, k.extents);
    tensor<float, 2> q({4, features}), near_k({12, features}), near_v({12, features}), expected(q.extents),
        got(q.extents);
    std::vector<graph::edge> far_edges, near_edges;
    for (index_t i = 0; i < 12; ++i) {
        index_t const node = nodes - 1 - i * (nodes / 12);  // from 0 to the last
        far_edges.push_back({i % 4, node});
        near_edges.push_back({i % 4, 11 - i});
        for (index_t c = 0; c < features; ++c) {
            near_k(11 - i, c) = k(node, c) = number(3 * i + c);
            near_v(11 - i, c) = v(node, c) = number(5 * i + 2 * c);
        }
    }
    for (index_t i = 0; i < 4; ++i)
        for (index_t c = 0; c < features; ++c) q(i, c) = number(i + 4 * c);
    graph const far_graph(4, far_edges), near_graph(4, near_edges);
    attend(threads(2), scaled_dot | neighbors(far_graph) | softmax | weighted_sum, q, k, v, got);
    attend(scaled_dot | neighbors(near_graph) | softmax | weighted_sum, q, near_k, near_v, expected);
    CHECK(got.elements == expected.elements);
}

TEST_CASE("pages past 2^31 and 2^32 elements", "[driver]") {
    constexpr index_t count = (index_t{1} << 20) + 3, heads = 2, slots = 16, features = 136;
    mapping<float> const space(count * heads * slots * features);
    if (!space.is_there()) return;
    view<float, 4> const pages(space.data(), {count, heads, slots, features});
    tensor<std::int32_t, 2> far_table({1, 4}), near_table({1, 4});
    tensor<float, 4> near({4, heads, slots, features}), q({1, 4, 3, features}), expected(q.extents), got(q.extents);
    set(near.view(), 1);
    set(q.view(), 2);
    for (index_t i = 0; i < 4; ++i) {
        near_table(index_t{0}, i) = static_cast<std::int32_t>(i);
        index_t const page = count - 1 - i * (count / 4);
        far_table(index_t{0}, i) = static_cast<std::int32_t>(page);
        for (index_t h = 0; h < heads; ++h)
            for (index_t s = 0; s < slots; ++s)
                for (index_t c = 0; c < features; ++c) pages(page, h, s, c) = near(i, h, s, c);
    }
    constexpr auto attention = scaled_dot | causal_at_end | softmax | weighted_sum;
    attend(threads(2), attention, q, paged(pages, far_table), paged(pages, far_table), got);
    attend(attention, q, paged(near, near_table), paged(near, near_table), expected);
    CHECK(got.elements == expected.elements);
}

TEST_CASE("weights and log-sum-exps past 2^31 and 2^32 elements", "[driver]") {
    mapping<float> const space(4 * past_32 + 4096);
    if (!space.is_there()) return;
    tensor<float, 4> x({2, 2, 9, 8}), expected(x.extents), got(x.extents), weights_near({2, 2, 9, 9});
    tensor<float, 3> lse_near({2, 2, 9});
    set(x.view(), 1);
    constexpr auto attention = scaled_dot | causal | softmax | weighted_sum;
    attend(attention, x, expected, weights(weights_near), lse(lse_near));
    for (int axis = 0; axis < 3; ++axis) {
        extents_t<4> strides{162, 81, 9, 1};
        strides[static_cast<std::size_t>(axis)] = axis < 2 ? past_32 : past_31 / 4;  // nine rows, two heads
        view<float, 4> const weights_far(space.data(), weights_near.extents, strides);
        attend(threads(2), attention, x, got, weights(weights_far));
        CHECK(collected(weights_far) == weights_near.elements);
        if (axis == 2) continue;
        view<float, 3> const lse_far(space.data(), lse_near.extents,
                                     {axis == 0 ? past_32 : 18, axis == 1 ? past_31 : 9, 1});
        attend(threads(2), attention, x, got, lse(lse_far));
        for (index_t b = 0; b < 2; ++b)
            for (index_t h = 0; h < 2; ++h)
                for (index_t n = 0; n < 9; ++n) CHECK(lse_far(b, h, n) == Approx(lse_near(b, h, n)));
    }
}

TEST_CASE("a hundred thousand positions in a window", "[driver]") {
    constexpr index_t n = 100'000, features = 16, before = 40, behind = 8;
    tensor<float, 4> q({1, 2, n, features}), k({1, 1, n, features}), v({1, 1, n, features}), got(q.extents);
    set(q.view(), 1);
    set(k.view(), 2);
    set(v.view(), 3);
    constexpr auto attention = scaled_dot | sliding_window(before, behind) | softmax | weighted_sum;
    attend(threads(2), attention, q, k, v, got);
    // Each row is one of a call on the keys that it sees.
    for (index_t i = 0; i < n; i += i < 100 || i > n - 100 ? 7 : 997) {
        index_t const first = std::max<index_t>(i - before, 0), last = std::min(i + behind + 1, n);
        auto const rows = [&](tensor<float, 4> const& x) {
            return view<float const, 4>(&x(0, 0, first, 0), {1, 1, last - first, features});
        };
        tensor<float, 4> expected({1, 2, 1, features}), here(expected.extents);
        reference::attend(scaled_dot | softmax | weighted_sum,
                          view<float const, 4>(&q(0, 0, i, 0), {1, 2, 1, features}, {0, n * features, features, 1}),
                          rows(k), rows(v), expected);
        for (index_t h = 0; h < 2; ++h)
            for (index_t c = 0; c < features; ++c) here(0, h, 0, c) = got(0, h, i, c);
        CAPTURE(i);
        testing::check_close<float, float>("result", expected.elements, here.elements, {2e-6, 1e-5});
    }
}
