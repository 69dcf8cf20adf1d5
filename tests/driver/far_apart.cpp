// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements more than 2^31 apart: positions and strides are never narrowed. The memory is mapped, and most of it never
// touched.
#include <fovea/fovea.hpp>

#include "catch.hpp"

#include <sys/mman.h>

#include <cstddef>

using namespace fovea;

namespace {

/// So many floats of address space, of which only what is touched is memory.
struct mapping {
    std::size_t bytes;
    void* place;

    explicit mapping(index_t floats)
        : bytes(static_cast<std::size_t>(floats) * sizeof(float)),
          place(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
    mapping(mapping const&) = delete;
    ~mapping() {
        if (place != MAP_FAILED) munmap(place, bytes);
    }
    float* data() const { return static_cast<float*>(place); }
};

}  // namespace

TEST_CASE("operands and results beyond 2^31 elements", "[driver]") {
    constexpr index_t far = (index_t{1} << 31) + 1000;
    mapping const space(4 * far);
    if (space.place == MAP_FAILED) {
        WARN("skipped 1 case: the system gives no " << space.bytes << " bytes of address space");
        return;
    }
    extents_t<4> const extents{2, 1, 33, 16};
    view<float, 4> const x(space.data(), extents, {far, far, 16, 1}),
        result(space.data() + 2 * far, extents, {far, far, 16, 1});
    tensor<float, 4> near(extents), expected(extents);
    for (index_t b = 0; b < 2; ++b)
        for (index_t n = 0; n < 33; ++n)
            for (index_t c = 0; c < 16; ++c)
                near(b, index_t{0}, n, c) = x(b, index_t{0}, n, c) = static_cast<float>((7 * b + 3 * n + c) % 11) / 11;
    constexpr auto attention = scaled_dot | causal | softmax | weighted_sum;
    attend(threads(2), attention, x, result);
    attend(attention, near, expected);
    for (index_t b = 0; b < 2; ++b)
        for (index_t n = 0; n < 33; ++n)
            for (index_t c = 0; c < 16; ++c) REQUIRE(result(b, index_t{0}, n, c) == expected(b, index_t{0}, n, c));
}
