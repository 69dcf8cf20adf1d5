// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native
// A workspace is a value that moves: where it went and where it was, both go on.
#include <fovea/fovea.hpp>

#include "catch.hpp"

#include <utility>
#include <vector>

using namespace fovea;

namespace {

struct call {
    tensor<float, 4> x{{2, 2, 70, 12}}, out{{2, 2, 70, 12}};
    call() {
        for (index_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 7 % 31) / 16 - 1;
    }
    std::vector<float> run(workspace& scratch, int n) {
        tensor<float, 2> w({12, 12}, 0.25f);
        attend(threads(n), scratch, project(w, w, w) | scaled_dot | causal | sparsemax | weighted_sum,
               view<float const, 3>(x.data(), {4, 70, 12}), view<float, 3>(out.data(), {4, 70, 12}));
        attend(threads(n), scratch, scaled_dot | causal | softmax | weighted_sum, x, x, x, out);
        return out.elements;
    }
};

}  // namespace

TEST_CASE("a workspace that was moved from is an empty one", "[driver]") {
    call c;
    workspace first;
    auto const expected = c.run(first, 2);
    workspace second(std::move(first));
    CHECK(c.run(first, 2) == expected);
    CHECK(c.run(second, 2) == expected);
    first = std::move(second);
    CHECK(c.run(second, 3) == expected);
    CHECK(c.run(first, 1) == expected);
    std::swap(first, second);
    CHECK(c.run(first, 2) == expected);
    CHECK(c.run(second, 2) == expected);
}

TEST_CASE("a workspace that was moved from serves a ragged batch", "[driver]") {
    call c;
    std::vector<index_t> const offsets{0, 10, 25, 70};
    auto const x = view<float const, 4>(c.x.data(), {1, 4, 70, 12});
    auto const out = view<float, 4>(c.out.data(), {1, 4, 70, 12});
    auto const run = [&](workspace& scratch) {
        attend(threads(2), scratch, ragged(offsets), scaled_dot | softmax | weighted_sum, x, x, x, out);
        return c.out.elements;
    };
    workspace first;
    auto const expected = run(first);
    workspace second = std::move(first);
    CHECK(run(first) == expected);
    CHECK(run(second) == expected);
}

TEST_CASE("scratch that was moved from has nothing", "[driver]") {
    arena first;
    first.take<float>(100);
    first.clear();
    float* const place = first.take<float>(10);
    arena second(std::move(first));
    second.clear();
    CHECK(second.take<float>(10) == place);
    float* const other = first.take<float>(100);
    CHECK(other != place);
    for (int i = 0; i < 100; ++i) other[i] = 1;
    first.clear();
    arena& itself = second;
    second = std::move(itself);
    CHECK(second.take<float>(10) != nullptr);
}
