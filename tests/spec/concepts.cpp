// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/hardmax.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/project/project.hpp>
#include <fovea/reference/row.hpp>
#include <fovea/spec/concepts.hpp>

#include "catch.hpp"

using namespace fovea;

namespace {

/// A user's normalizer of each strength, as small as it can be.
struct softplus_t : stage<role::normalizer> {
    static constexpr std::string_view name = "softplus";
    template <class V>
    static constexpr V weight(V s) {
        return s > 0 ? s : V(0);
    }
};
struct share_t : stage<role::normalizer> {
    static constexpr std::string_view name = "share";
    static void normalize(auto const& row) {
        row.map([n = row.size()](auto) { return 1.0 / static_cast<double>(n); });
    }
};
struct unfinished_t : stage<role::normalizer> {
    template <class T>
    struct state {};
    template <class T>
    static T fold(state<T>&, auto const&) {
        return 1;
    }
};

}  // namespace

TEST_CASE("a normalizer is of the strength that it offers", "[spec]") {
    STATIC_REQUIRE(elementwise_normalizer<softplus_t>);
    STATIC_REQUIRE(whole_row_normalizer<share_t>);
    STATIC_REQUIRE(streaming_normalizer<softmax_t>);
    STATIC_REQUIRE(one_hot_normalizer<hardmax_t>);
    STATIC_REQUIRE(!streaming_normalizer<hardmax_t>);
    STATIC_REQUIRE(!elementwise_normalizer<softmax_t>);
    STATIC_REQUIRE(!normalizer<unfinished_t>);
    STATIC_REQUIRE(!normalizer<weighted_sum_t>);
}

TEST_CASE("the parts of an attention are told apart", "[spec]") {
    STATIC_REQUIRE(aggregator<weighted_sum_t>);
    STATIC_REQUIRE(projection<decltype(project(as_is, as_is, as_is))>);
    STATIC_REQUIRE(linear_map<linear_t<float>>);
    STATIC_REQUIRE(!linear_map<as_is_t>);
    STATIC_REQUIRE(score_row<row_archetype<float>>);
    STATIC_REQUIRE(score_row<reference::row<float>>);
}

TEST_CASE("a stage is described by its text, or by its name", "[spec]") {
    CHECK(describe(softmax) == "softmax");
    CHECK(describe(softplus_t{}) + describe(share_t{}) == "softplusshare");
    CHECK(describe(project(as_is, as_is, as_is)) == "project(as_is, as_is, as_is)");
    CHECK(name_of(role::normalizer) == "normalizer");
}
