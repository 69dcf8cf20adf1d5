// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether views share bytes is decided element by element: held against sets of addresses.
#include <fovea/core/memory.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <array>
#include <cstdint>
#include <set>

using namespace fovea;
using detail::memory_region;

namespace {

memory_region random_region(testing::dice& random) {
    memory_region r{};
    r.element = index_t{1} << random.between(0, 2);
    r.rank = static_cast<std::size_t>(1 + random.between(0, 3));
    bool const packed = random.between(0, 2) == 0;  // as a container's, but for the stride of axes of one element
    index_t elements = 1;
    for (std::size_t axis = r.rank; axis-- > 0;) {
        r.extents[axis] = random.between(0, 5);
        r.strides[axis] = packed && r.extents[axis] != 1 ? elements : random.between(0, 24) - 8;
        elements *= r.extents[axis];
    }
    r.data = static_cast<std::uint64_t>(100000 + random.between(0, 239));
    r.packed = detail::packed_bytes(r);
    return r;
}

/// Whether elements lie one after another in the order of their indices.
bool is_packed(memory_region const& r) {
    index_t elements = 1;
    bool packed = true;
    for (std::size_t axis = r.rank; axis-- > 0; elements *= r.extents[axis])
        packed = packed && (r.extents[axis] == 1 || r.strides[axis] == elements);
    return packed && elements > 0;
}

/// The addresses of all bytes, and whether two elements have one.
struct addresses {
    std::set<std::uint64_t> bytes;
    bool repeats = false;

    explicit addresses(memory_region const& r) {
        if (r.empty()) return;
        std::set<index_t> offsets;
        std::array<index_t, memory_region::most_axes> at{};
        for (bool more = true; more;) {
            index_t offset = 0;
            for (std::size_t axis = 0; axis < r.rank; ++axis) offset += at[axis] * r.strides[axis];
            repeats = !offsets.insert(offset).second || repeats;
            for (index_t i = 0; i < r.element; ++i)
                bytes.insert(r.data + static_cast<std::uint64_t>(offset * r.element + i));
            more = false;
            for (std::size_t axis = r.rank; axis-- > 0 && !more;) {
                more = ++at[axis] < r.extents[axis];
                if (!more) at[axis] = 0;
            }
        }
    }
    bool meets(addresses const& other) const {
        for (auto byte : bytes)
            if (other.bytes.contains(byte)) return true;
        return false;
    }
};

}  // namespace

TEST_CASE("two views share elements exactly where they share an address", "[core]") {
    testing::dice random{2026};
    int shared = 0, repeated = 0, shared_packed = 0, apart_packed = 0;
    constexpr int rounds = 20000;
    for (int i = 0; i < rounds; ++i) {
        auto const a = random_region(random), b = random_region(random);
        addresses const of_a(a), of_b(b);
        bool const meet = of_a.meets(of_b);
        if (detail::shares_elements(a, b) != meet || detail::repeats_elements(a) != of_a.repeats) {
            INFO(detail::message_of({a.list(a.extents)}) << " strides " << detail::message_of({a.list(a.strides)})
                                                         << " of " << a.element << " bytes at " << a.data);
            INFO(detail::message_of({b.list(b.extents)}) << " strides " << detail::message_of({b.list(b.strides)})
                                                         << " of " << b.element << " bytes at " << b.data);
            CHECK(detail::shares_elements(a, b) == meet);
            CHECK(detail::repeats_elements(a) == of_a.repeats);
        }
        bool const packed = is_packed(a) && is_packed(b);
        shared += meet;
        shared_packed += packed && meet;
        apart_packed += packed && !meet;
        repeated += of_a.repeats;
    }
    CHECK(shared > rounds / 10);
    CHECK(repeated > rounds / 10);
    CHECK(shared_packed > rounds / 100);
    CHECK(apart_packed > rounds / 100);
}

TEST_CASE("large views are decided by their strides", "[core]") {
    float number = 0;
    index_t const n = index_t{1} << 20;
    auto const region = [&](index_t first, extents_t<4> const& extents, extents_t<4> const& strides) {
        view<float, 4> v;
        v.data = &number;
        v.extents = extents;
        v.strides = strides;
        auto r = detail::region_of(v, "x");
        r.data = (std::uint64_t{1} << 46) + static_cast<std::uint64_t>(first * 4);
        return r;
    };
    extents_t<4> const rows{4, 32, n, 64}, of_position{n * 32 * 64 * 4, 64, 32 * 64 * 4, 1};
    for (index_t slot = 1; slot < 4; ++slot)
        CHECK_FALSE(detail::shares_elements(region(0, rows, of_position), region(slot * 2048, rows, of_position)));
    CHECK(detail::shares_elements(region(0, rows, of_position), region(2047, rows, of_position)));
    CHECK_FALSE(detail::repeats_elements(region(0, rows, of_position)));
    extents_t<4> const backwards{-of_position[0], -64, -32 * 64 * 4, 1};
    CHECK_FALSE(detail::repeats_elements(region(0, rows, backwards)));
    CHECK(detail::repeats_elements(region(0, rows, {n * 32 * 64 * 4, 64, 32 * 63, 1})));
}

TEST_CASE("sizes that no memory has", "[core]") {
    float number = 0;
    constexpr index_t huge = index_t{1} << 61;
    auto const refuses = [&](extents_t<2> const& extents, extents_t<2> const& strides) {
        view<float, 2> v;
        v.data = &number;
        v.extents = extents;
        v.strides = strides;
        CHECK_THROWS_AS(detail::require_sound(detail::region_of(v, "x")), shape_error);
    };
    for (index_t stride : {huge, -huge, 2 * huge, -2 * huge, -4 * huge}) refuses({2, 3}, {stride, 1});
    for (index_t extent : {index_t{-1}, -huge, huge, 2 * huge}) refuses({extent, 8}, {8, 1});
    refuses({huge, 8}, {0, 1});
    refuses({0, -1}, {1, 1});
}
