// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/concat_heads.hpp>
#include <fovea/aggregate/map.hpp>
#include <fovea/aggregate/output.hpp>
#include <fovea/aggregate/residual.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/score/additive.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/spec/call/check_call.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

constexpr auto plain = scaled_dot | softmax | weighted_sum;

/// The operands of one call; each test spoils one of them.
struct call {
    tensor<float, 4> q{{2, 6, 5, 8}}, k{{2, 3, 7, 8}}, v{{2, 3, 7, 4}}, out{{2, 6, 5, 4}};

    auto check(auto const& spec, auto const&... extra) {
        return bind_call(spec, q.view(), k.view(), v.view(), out.view(), extra...);
    }
};

/// The operands of one call that makes its own heads.
struct projected_call {
    tensor<float, 4> x{{2, 1, 5, 12}}, out{{2, 1, 5, 12}};
    tensor<float, 2> wq{{12, 8}}, wk{{12, 4}}, wv{{12, 6}}, wo{{12, 12}};

    auto check(auto const& spec, auto const&... extra) {
        return bind_call(spec, x.view(), x.view(), x.view(), out.view(), extra...);
    }
    auto spec() const { return project(wq, wk, wv, heads<4, 2>) | scaled_dot | softmax | weighted_sum; }
};

}  // namespace

TEST_CASE("a call that fits gives its extents", "[spec]") {
    call c;
    auto const bound = c.check(plain);
    CHECK(bound.shapes.group() == 2);
    CHECK(bound.result.extents == extents_t<4>{2, 6, 5, 4});

    projected_call p;
    auto const projected = p.check(p.spec());
    CHECK(projected.shapes.query == extents_t<4>{2, 4, 5, 2});
    CHECK(projected.shapes.key == extents_t<4>{2, 2, 5, 2});
    CHECK(projected.shapes.value == extents_t<4>{2, 2, 5, 3});
    CHECK(projected.result.extents == extents_t<4>{2, 1, 5, 12});
}

TEST_CASE("operands that do not fit are named", "[spec]") {
    call c;
    SECTION("batch") {
        c.k = tensor<float, 4>({3, 3, 7, 8});
        CHECK_THROWS_WITH(c.check(plain), "key has 3 batch elements, query has 2");
    }
    SECTION("positions") {
        c.v = tensor<float, 4>({2, 3, 6, 4});
        CHECK_THROWS_WITH(c.check(plain), "value has 6 positions, key has 7");
    }
    SECTION("heads") {
        c.q = tensor<float, 4>({2, 4, 5, 8});
        CHECK_THROWS_WITH(c.check(plain), "query has 4 heads, not a multiple of the 3 heads of key and value");
    }
    SECTION("features") {
        c.k = tensor<float, 4>({2, 3, 7, 9});
        CHECK_THROWS_WITH(c.check(plain),
                          "the score compares query and key feature by feature: query has 8 features, key has 9");
    }
    SECTION("features that are not compared may differ") {
        c.k = tensor<float, 4>({2, 3, 7, 9});
        CHECK_NOTHROW(c.check(compare(sum(q) + sum(k)) | softmax | weighted_sum));
    }
    SECTION("result") {
        c.out = tensor<float, 4>({2, 6, 5, 8});
        CHECK_THROWS_WITH(c.check(plain),
                          "result is (2, 6, 5, 8) and must be (2, 6, 5, 4), (batch, head, position, feature)");
    }
}

TEST_CASE("what is written may not overlap what is read, nor itself", "[spec]") {
    call c;
    c.v = tensor<float, 4>({2, 6, 5, 4});
    c.k = tensor<float, 4>({2, 6, 5, 8});
    CHECK_THROWS_WITH(bind_call(plain, c.q.view(), c.k.view(), c.v.view(), c.v.view()),
                      "result overlaps value in memory: it would be overwritten while it is read");
    view<float, 4> const repeated(c.out.data(), {2, 6, 5, 4}, {0, 20, 4, 1});
    CHECK_THROWS_WITH(bind_call(plain, c.q.view(), c.k.view(), c.v.view(), repeated),
                      "result has stride 0 along axis 0: its elements would be written twice");
    CHECK_THROWS_WITH(c.check(plain, lse(view<float, 3>(c.out.data(), {2, 6, 5}))),
                      "lse overlaps result in memory: it would be overwritten while it is read");
}

TEST_CASE("matrices, biases and tables that do not fit are named", "[spec]") {
    projected_call c;
    tensor<float, 2> const tall({13, 8}), odd({12, 7});
    tensor<float, 1> const bias({5});
    CHECK_THROWS_WITH(c.check(project(tall, c.wk, c.wv, heads<4, 2>) | scaled_dot | softmax | weighted_sum),
                      "query has 12 features, the matrix it is multiplied by takes 13");
    CHECK_THROWS_WITH(c.check(project(odd, c.wk, c.wv, heads<4, 2>) | scaled_dot | softmax | weighted_sum),
                      "query has 7 features, not a multiple of its 4 heads");
    CHECK_THROWS_WITH(
        c.check(project(linear(c.wq, bias), c.wk, c.wv, heads<4, 2>) | scaled_dot | softmax | weighted_sum),
        "the bias added to query has 5 elements, the matrix gives 8 features");
    CHECK_THROWS_WITH(
        c.check(c.spec() | output(tall)),
        "the result of the heads, side by side, has 12 features, the matrix it is multiplied by takes 13");
    CHECK_THROWS_WITH(c.check(c.spec() | map(out + param(bias))),
                      "a table read feature by feature has 5 elements, the result has 12 features");
    CHECK_THROWS_WITH(c.check(project(c.wq, c.wk, c.wv, heads<4, 2>) | additive(bias) | softmax | weighted_sum),
                      "a table read feature by feature has 5 elements, query has 2 features");
    c.x = tensor<float, 4>({2, 3, 5, 12});
    CHECK_THROWS_WITH(c.check(c.spec()),
                      "query has 3 heads; an attention that makes its own heads takes (batch, position, feature)");
}

TEST_CASE("finishes decide the extents of the result", "[spec]") {
    call c;
    CHECK_THROWS_AS(c.check(plain | concat_heads), shape_error);
    c.out = tensor<float, 4>({2, 1, 5, 24});
    CHECK_NOTHROW(c.check(plain | concat_heads));
    CHECK_THROWS_WITH(
        c.check(plain | concat_heads | residual),
        "residual adds the source of the queries, which is (2, 6, 5, 8), to the result, which is (2, 1, 5, 24)");
    projected_call p;
    CHECK_NOTHROW(p.check(p.spec() | residual));
    CHECK_NOTHROW(p.check(p.spec() | output(p.wo) | residual));
}

TEST_CASE("further results have to fit", "[spec]") {
    call c;
    tensor<float, 3> rows({2, 6, 5}), few({2, 6, 4});
    tensor<double, 4> pairs({2, 6, 5, 7});
    tensor<double, 3> without_batch({6, 5, 7});
    CHECK_NOTHROW(c.check(plain, lse(rows), weights(pairs)));
    CHECK_THROWS_WITH(c.check(plain, lse(few)), "lse is (2, 6, 4) and must be (2, 6, 5), (batch, head, query)");
    CHECK_THROWS_WITH(c.check(plain, weights(without_batch)),
                      "weights are (6, 5, 7) and must be (2, 6, 5, 7), (batch, head, query, key)");
}

TEST_CASE("batch or head may be left out of further results where they are one", "[spec]") {
    operand_shapes const one_batch{{1, 3, 4, 2}, {1, 3, 5, 2}, {1, 3, 5, 2}},
        one_head{{3, 1, 4, 2}, {3, 1, 5, 2}, {3, 1, 5, 2}};
    tensor<float, 3> pairs({3, 4, 5});
    tensor<float, 2> rows({3, 4});
    CHECK(pairs_of_call("weights are", pairs.view(), one_batch).extents == extents_t<4>{1, 3, 4, 5});
    CHECK(pairs_of_call("weights are", pairs.view(), one_head).extents == extents_t<4>{3, 1, 4, 5});
    CHECK(&pairs_of_call("weights are", pairs.view(), one_batch)(0, 2, 3, 4) == &pairs(2, 3, 4));
    CHECK(&pairs_of_call("weights are", pairs.view(), one_head)(2, 0, 3, 4) == &pairs(2, 3, 4));
    CHECK(&rows_of_call("lse is", rows.view(), one_batch)(0, 2, 3) == &rows(2, 3));
    CHECK(&rows_of_call("lse is", rows.view(), one_head)(2, 0, 3) == &rows(2, 3));
}

TEST_CASE("a graph is checked before anything is computed", "[spec]") {
    call c;
    std::vector<index_t> const offsets{0, 1, 1, 1, 1, 2};
    std::vector<std::int32_t> const keys{6, 7};
    CHECK_THROWS_WITH(c.check(scaled_dot | neighbors(graph_view{offsets, keys}) | softmax | weighted_sum),
                      "graph: edge 1 leads to key 7, there are 7 keys");
}

TEST_CASE("extents, strides and pointers that no memory has are named", "[spec]") {
    call c;
    auto const check = [&](view<float const, 4> const& key) {
        return bind_call(plain, c.q.view(), key, c.v.view(), c.out.view());
    };
    float const* const data = c.k.data();
    CHECK_THROWS_WITH(check({data, {2, 3, -7, 8}}), "key has extent -7 along axis 2: it must be 0 or more");
    CHECK_THROWS_WITH(check({nullptr, {2, 3, 7, 8}}), "key is (2, 3, 7, 8) and its data is a null pointer");
    CHECK_THROWS_WITH(
        check({data, {2, 3, 7, 8}, {index_t{1} << 62, 56, 8, 1}}),
        "key is (2, 3, 7, 8) with strides (4611686018427387904, 56, 8, 1): it reaches outside the address space");
    CHECK_THROWS_WITH(check({data, {2, index_t{1} << 40, index_t{1} << 40, 8}, {0, 0, 1, 1}}),
                      "key is (2, 1099511627776, 1099511627776, 8): it has more elements than can be counted");
    CHECK_THROWS_WITH(check({data, {2, 3, index_t{1} << 40, 8}, {0, 0, 1, 1}}),
                      "value has 7 positions, key has 1099511627776");
    CHECK_NOTHROW(check({data, {2, 3, 7, 8}, {0, 56, 8, 1}}));

    CHECK_THROWS_WITH(c.check(plain, lse(view<float, 3>(nullptr, {2, 6, 5}))),
                      "lse is (2, 6, 5) and its data is a null pointer");
    view<float const, 1> const nowhere(nullptr, {6});
    CHECK_THROWS_WITH(c.check(scaled_dot | rescore(score * param(nowhere)[head]) | softmax | weighted_sum),
                      "a table of the score is (6) and its data is a null pointer");
    projected_call p;
    CHECK_THROWS_WITH(p.check(project(view<float const, 2>(nullptr, {12, 8}), p.wk, p.wv, heads<4, 2>) | scaled_dot
                              | softmax | weighted_sum),
                      "the matrix for query is (12, 8) and its data is a null pointer");
}

TEST_CASE("a call without elements needs no pointers", "[spec]") {
    view<float, 4> const none(nullptr, {0, 6, 5, 8}), no_keys(nullptr, {0, 3, 7, 8}), values(nullptr, {0, 3, 7, 4});
    CHECK_NOTHROW(bind_call(plain, none, no_keys, values, view<float, 4>(nullptr, {0, 6, 5, 4})));
}

TEST_CASE("a table that is too short is found before anything is computed", "[spec]") {
    call c;
    std::vector<float> const short_table(6);
    auto const biased = rescore(score + param(short_table)[kv_idx]);
    CHECK_THROWS_WITH(
        c.check(scaled_dot | biased | softmax | weighted_sum),
        "a table of extents (6) is read at 6 along axis 0, which has 6 elements: batch 0, head 0, q_idx 0, "
        "kv_idx 6");
    CHECK_NOTHROW(c.check(scaled_dot | biased | where(kv_idx < 6) | softmax | weighted_sum));
}
