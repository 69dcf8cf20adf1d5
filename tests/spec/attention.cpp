// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/concat_heads.hpp>
#include <fovea/aggregate/mean_heads.hpp>
#include <fovea/aggregate/output.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/spec/finish.hpp>

#include "catch.hpp"

using namespace fovea;

TEST_CASE("an attention prints as it was written", "[spec]") {
    CHECK(text(scaled_dot | causal | softmax | weighted_sum) == "scaled_dot | causal | softmax | weighted_sum");
    CHECK(text(scaled_dot | softmax) == "scaled_dot | softmax");
    tensor<float, 2> const w({12, 8});
    CHECK(text(project(w, w, as_is, heads<4, 2>) | scaled_dot | softmax | weighted_sum | output(w)) ==
          "project(linear(12 -> 8), linear(12 -> 8), as_is, heads<4, 2>) | scaled_dot | softmax | weighted_sum | "
          "output(linear(12 -> 8))");
}

TEST_CASE("finishes come in the order in which they were written", "[spec]") {
    auto const a = scaled_dot | softmax | weighted_sum | mean_heads | concat_heads;
    std::string order;
    for_each_finish(a.aggregate, [&](auto const& f) { order += describe(f) + ";"; });
    CHECK(order == "mean_heads;concat_heads;");
    STATIC_REQUIRE(std::is_same_v<decltype(core_of(a.aggregate)), weighted_sum_t>);
}

TEST_CASE("a list of keys survives the masks beside it", "[spec]") {
    std::vector<index_t> const offsets{0, 1};
    std::vector<std::int32_t> const keys{2};
    auto const listed = neighbors(graph_view{offsets, keys});
    auto const before = scaled_dot | listed | causal;
    auto const after = scaled_dot | causal | listed;
    STATIC_REQUIRE(enumerating_mask<decltype(before.mask)>);
    STATIC_REQUIRE(enumerating_mask<decltype(after.mask)>);
    STATIC_REQUIRE(!enumerating_mask<causal_t>);
    CHECK(after.mask.neighbor_list().of(0)[0] == 2);
    CHECK(text(before) == "scaled_dot | neighbors(1 node, 1 edge) | causal");
}

TEST_CASE("each finish is of one kind", "[spec]") {
    STATIC_REQUIRE(concatenating_finish<concat_heads_t>);
    STATIC_REQUIRE(averaging_finish<mean_heads_t>);
    STATIC_REQUIRE(linear_finish<output_t<linear_t<float>>>);
    STATIC_REQUIRE(!linear_finish<concat_heads_t>);
    STATIC_REQUIRE(!is_known_finish<weighted_sum_t>);
}
