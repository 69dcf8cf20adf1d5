// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which parts each score is taken apart into.
#include <fovea/core/tensor.hpp>
#include <fovea/plan/lower.hpp>
#include <fovea/score/additive.hpp>
#include <fovea/score/cosine.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/gat_score.hpp>
#include <fovea/score/gatv2_score.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// The numbers of parts of a lowered score.
struct counts {
    index_t products = 0, pairs = 0, rows = 0, keys = 0;
    friend constexpr bool operator==(counts const&, counts const&) = default;
};

template <class Lowered>
constexpr counts counts_of(Lowered const&) {
    using parts = decltype(Lowered::parts);
    return {plan::count_of<decltype(parts::products)>, plan::count_of<decltype(parts::pairs)>,
            plan::count_of<decltype(parts::rows)>, plan::count_of<decltype(parts::keys)>};
}

template <class Score>
using parts_of = decltype(plan::lower(std::declval<Score const&>().expression()).parts);
template <class Score>
using rest_of = decltype(plan::lower(std::declval<Score const&>().expression()).pointwise);
template <class Score>
inline constexpr counts parts_in = counts_of(decltype(plan::lower(std::declval<Score const&>().expression())){});

using table = view<float const, 1>;
using head_table = view<float const, 2>;

template <class... Stages>
using score_of = std::remove_cvref_t<decltype((std::declval<Stages>() | ...).score)>;

}  // namespace

TEST_CASE("an inner product is one matrix product and nothing else", "[plan]") {
    STATIC_REQUIRE(parts_in<dot_t> == counts{.products = 1});
    STATIC_REQUIRE(plan::is_bare_product<rest_of<dot_t>>);
    STATIC_REQUIRE(parts_in<scaled_dot_t> == counts{.products = 1});
    STATIC_REQUIRE(plan::is_bare_product<rest_of<scaled_dot_t>>);
}

TEST_CASE("weights of features and factors of a row go into the product", "[plan]") {
    using weighted = decltype(compare(-(sum(param(table()) * q * k) * param(table())[head]) / 3));
    STATIC_REQUIRE(parts_in<weighted> == counts{.products = 1});
    STATIC_REQUIRE(plan::is_bare_product<rest_of<weighted>>);
    using divided = decltype(compare(sum(q / k)));
    STATIC_REQUIRE(parts_in<divided> == counts{.products = 1});
}

TEST_CASE("sums of weighted squares of differences are a product and a term of each side", "[plan]") {
    constexpr auto in_dense = []<class E>(E const&) {
        return counts_of(decltype(plan::lower_for<false>(std::declval<E const&>())){});
    };
    constexpr counts apart{.products = 1, .rows = 1, .keys = 1}, as_written{.pairs = 1};
    STATIC_REQUIRE(in_dense(-sum(square(q - k))) == apart);
    STATIC_REQUIRE(in_dense(-sum(param(table()) * square(k - q))) == apart);
    STATIC_REQUIRE(in_dense(sum(-(square(q + 2 * k) / param(table()))) / 3 + kv_idx) == apart);
    STATIC_REQUIRE(in_dense(2 - 0.5 * sum(square(q - k) * param(head_table())[head])) == apart);
    STATIC_REQUIRE(in_dense(-sum(0.5 * square(q - k))) == apart);
    STATIC_REQUIRE(in_dense(tanh(sum(square(q - k)))) == as_written);
    STATIC_REQUIRE(in_dense(-sqrt(sum(square(q - k)))) == as_written);
    STATIC_REQUIRE(in_dense(-log(1 + sum(square(q - k)))) == as_written);
    STATIC_REQUIRE(in_dense(-sum((q - k) * (q - k))) == as_written);
    STATIC_REQUIRE(in_dense(-sum(q * square(q - k))) == as_written);
    STATIC_REQUIRE(in_dense(-sum(square(abs(q - k)))) == as_written);
    STATIC_REQUIRE(counts_of(plan::lower_for<true>(-sum(square(q - k)))) == as_written);  // listed keys
    STATIC_REQUIRE(counts_of(plan::lower_for<false>(-sum(tanh(q - k)))) == counts_of(plan::lower(-sum(tanh(q - k)))));
}

TEST_CASE("the cosine is a product and a norm of each key: that of the query is its factor", "[plan]") {
    STATIC_REQUIRE(parts_in<cosine_t> == counts{.products = 1, .keys = 1});
    STATIC_REQUIRE_FALSE(plan::is_bare_product<rest_of<cosine_t>>);
}

TEST_CASE("equal parts are computed once", "[plan]") {
    STATIC_REQUIRE(parts_in<decltype(compare(sum(q * k) * sum(q * k) + sum(q * k)))> == counts{.products = 1});
    STATIC_REQUIRE(parts_in<decltype(compare(sum(q * q) + sum(k * k) - 2 * sum(q * k) + sum(k * k)))>
                   == counts{.products = 1, .rows = 1, .keys = 1});
}

TEST_CASE("graph attention separates into a number per query and one per key", "[plan]") {
    using gat = decltype(gat_score(head_table(), head_table()));
    STATIC_REQUIRE(parts_in<gat> == counts{.rows = 1, .keys = 1});
    STATIC_REQUIRE(plan::any_uses_head<decltype(parts_of<gat>::keys)>);
    STATIC_REQUIRE_FALSE(plan::any_uses_head<decltype(parts_of<cosine_t>::keys)>);
}

TEST_CASE("what does not separate is summed for each pair, in factors of one side", "[plan]") {
    using bahdanau = decltype(additive(table()));
    STATIC_REQUIRE(parts_in<bahdanau> == counts{.pairs = 1, .rows = 1});  // what all keys share stands apart
    using gatv2 = decltype(gatv2_score(head_table()));
    STATIC_REQUIRE(parts_in<gatv2> == counts{.pairs = 1});
    using distance = decltype(compare(sum(abs(q - k))));
    STATIC_REQUIRE(parts_in<distance> == counts{.pairs = 1});

    STATIC_REQUIRE(plan::query_factors_of<decltype(parts_of<distance>::pairs)> == 1);
    STATIC_REQUIRE(plan::key_factors_of<decltype(parts_of<distance>::pairs)> == 1);
    STATIC_REQUIRE(plan::key_factors_of<decltype(parts_of<bahdanau>::pairs)> == 1);
    STATIC_REQUIRE(plan::query_factors_of<decltype(parts_of<bahdanau>::pairs)> == 2);
}

TEST_CASE("a scaled tanh of a sum is a number of the row and a quotient of factors", "[plan]") {
    using times_two = decltype(compare(sum(-(tanh(k + q) * param(table())) / param(table())[head])));
    STATIC_REQUIRE(parts_in<times_two> == counts{.pairs = 1, .rows = 1});
    using alone = decltype(compare(sum(tanh(q + k))));
    STATIC_REQUIRE(parts_in<alone> == counts{.pairs = 1, .rows = 1});
    using of_key = decltype(compare(sum(k * tanh(q + k))));
    STATIC_REQUIRE(parts_in<of_key> == counts{.pairs = 1});
    using squared = decltype(compare(sum(square(tanh(q + k)))));
    STATIC_REQUIRE(parts_in<squared> == counts{.pairs = 1});
}

TEST_CASE("tanh of a sum becomes exponentials of each side", "[plan]") {
    constexpr auto exponentials = []<class Body>(Body const&) {
        return decltype(plan::factor(std::declval<Body const&>()))::exponentials;
    };
    STATIC_REQUIRE(exponentials(tanh(q + k)));
    STATIC_REQUIRE(exponentials(tanh(k + q) * 2));
    STATIC_REQUIRE_FALSE(exponentials(tanh(q * k)));
    STATIC_REQUIRE_FALSE(exponentials(abs(q - k)));
}

TEST_CASE("rescorings are done on the tile, tables of rows once per row", "[plan]") {
    using softcapped = score_of<scaled_dot_t, decltype(rescore(50 * tanh(score / 50)))>;
    STATIC_REQUIRE(parts_in<softcapped> == counts{.products = 1});
    STATIC_REQUIRE_FALSE(plan::is_bare_product<rest_of<softcapped>>);
    using alibi = score_of<scaled_dot_t, decltype(rescore(score + param(table())[head] * (kv_idx - q_idx)))>;
    STATIC_REQUIRE(parts_in<alibi> == counts{.products = 1, .rows = 1});
    using relative = score_of<scaled_dot_t, decltype(rescore(score + param(table())[q_idx - kv_idx + 9]))>;
    STATIC_REQUIRE(parts_in<relative> == counts{.products = 1});
}

TEST_CASE("scores of indices have no parts", "[plan]") {
    STATIC_REQUIRE(parts_in<decltype(compare(0.5f * (kv_idx - q_idx)))> == counts{});
}
