// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native
// Attention over keys in parts, joined, is attention over all of them.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <cmath>
#include <limits>

using namespace fovea;
using Catch::Matchers::ContainsSubstring;
using namespace fovea::placeholders;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

template <class T>
struct partial {
    tensor<T, 4> out{{2, 4, 9, 21}, std::numeric_limits<T>::quiet_NaN()};
    tensor<T, 3> lse{{2, 4, 9}, std::numeric_limits<T>::quiet_NaN()};
};

template <class T>
struct call {
    testing::dice random{17};
    tensor<T, 4> q = testing::random_tensor<T>(random, extents_t<4>{2, 4, 9, 6}, 3);
    tensor<T, 4> k = testing::random_tensor<T>(random, extents_t<4>{2, 2, 50, 6}, 3);
    tensor<T, 4> v = testing::random_tensor<T>(random, extents_t<4>{2, 2, 50, 21});

    /// Attention over the keys from first up to last; the queries are the last of fifty positions.
    partial<T> over(index_t first, index_t last) const {
        auto const some = [&](tensor<T, 4> const& all) {
            return view<T const, 4>(&all(0, 0, first, 0), {2, 2, last - first, all.extent(3)}, all.view().strides);
        };
        partial<T> p;
        auto const seen = where(kv_idx + first <= q_idx * 5);
        attend(scaled_dot | seen | softmax | weighted_sum, q, some(k), some(v), p.out, lse(p.lse));
        return p;
    }
};

template <class T>
void check_equal(partial<T> const& got, partial<T> const& expected) {
    for (std::size_t i = 0; i < got.out.elements.size(); ++i)
        CHECK(got.out.elements[i] == Approx(expected.out.elements[i]).margin(1e-6));
    for (std::size_t i = 0; i < got.lse.elements.size(); ++i) {
        if (std::isinf(expected.lse.elements[i])) CHECK(got.lse.elements[i] == expected.lse.elements[i]);
        else CHECK(got.lse.elements[i] == Approx(expected.lse.elements[i]).margin(1e-6));
    }
}

}  // namespace

TEST_CASE("two parts and three parts are the whole", "[driver]") {
    call<float> const c;
    auto const whole = c.over(0, 50);
    auto const first = c.over(0, 20), second = c.over(20, 41), third = c.over(41, 50), rest = c.over(20, 50);
    partial<float> two, three, threaded;
    merge(first.out, first.lse, rest.out, rest.lse, two.out, two.lse);
    merge(first.out, first.lse, second.out, second.lse, third.out, third.lse, three.out, three.lse);
    merge(threads(3), first.out, first.lse, second.out, second.lse, third.out, third.lse, threaded.out);
    check_equal(two, whole);
    check_equal(three, whole);
    CHECK(threaded.out.elements == three.out.elements);
}

TEST_CASE("parts may be merged one after the other, in place", "[driver]") {
    call<double> const c;
    auto const whole = c.over(0, 50);

    //! [example]
    auto all = c.over(0, 20);  // a result and its lse, over the first keys
    for (index_t key : {20, 30, 40}) {
        auto const more = c.over(key, key + 10);
        merge(all.out, all.lse, more.out, more.lse, all.out, all.lse);
    }
    //! [example]

    check_equal(all, whole);
}

TEST_CASE("a part without keys counts for nothing, whatever its row holds", "[driver]") {
    tensor<float, 2> const a({2, 3}, 5), unseen({2, 3}, std::numeric_limits<float>::quiet_NaN());
    tensor<float, 1> const seen({2}, 0.5f), none({2}, static_cast<float>(-inf));
    tensor<float, 2> merged({2, 3});
    tensor<float, 1> sums({2});
    merge(a, seen, unseen, none, merged, sums);
    CHECK(merged.elements == a.elements);
    CHECK(sums.elements == seen.elements);
    merge(unseen, none, unseen, none, merged, sums);
    for (float x : merged) CHECK(x == 0);
    for (float x : sums) CHECK(x == static_cast<float>(-inf));
}

TEST_CASE("log-sum-exps far apart and far from zero merge without overflow", "[driver]") {
    tensor<float, 2> a({1, 1}, 2), b({1, 1}, 4), merged({1, 1});
    tensor<float, 1> la({1}, 1000), lb({1}, 1000), sums({1});
    merge(a, la, b, lb, merged, sums);
    CHECK(merged(0, 0) == 3);
    CHECK(sums(0) == Approx(1000 + std::log(2.)));
    lb(0) = -1000;
    merge(a, la, b, lb, merged, sums);
    CHECK(merged(0, 0) == 2);
    CHECK(sums(0) == 1000);
    lb(0) = std::numeric_limits<float>::quiet_NaN();
    merge(b, lb, a, la, merged, sums);
    CHECK(std::isnan(merged(0, 0)));
    CHECK(std::isnan(sums(0)));
}

TEST_CASE("parts that do not fit are named, and nothing is written", "[driver]") {
    tensor<float, 2> const a({2, 3}, 1), wide({2, 4}, 1);
    tensor<float, 1> const la({2}), long_lse({3});
    tensor<float, 2> merged({2, 3}, 7);
    tensor<float, 1> sums({2}, 7);
    CHECK_THROWS_WITH(merge(a, la, wide, la, merged, sums), "part 2 is (1, 1, 2, 4), the result is (1, 1, 2, 3)");
    CHECK_THROWS_WITH(merge(a, long_lse, a, la, merged, sums), ContainsSubstring("lse of part 1 is (3)"));
    CHECK_THROWS_WITH(merge(a, la, a, la, merged, view<float, 1>(sums.data(), {1})), ContainsSubstring("lse is (1)"));
    tensor<float, 2> shared({3, 3}, 7);
    view<float, 2> const upper(shared.data(), {2, 3}), lower(shared.data() + 3, {2, 3});
    CHECK_THROWS_WITH(merge(upper, la, a, la, lower), ContainsSubstring("result overlaps part 1"));
    for (float x : merged) CHECK(x == 7);
    for (float x : shared) CHECK(x == 7);
    for (float x : sums) CHECK(x == 7);
}
