// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
// A row of scores as normalizers see it, against a loop over its elements.
#include <fovea/kernel/row.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/guarded.hpp"

#include <algorithm>
#include <array>
#include <limits>

using namespace fovea;

namespace {

template <class T, class Arch>
void check_row(index_t packs) {
    using row = kernel::packed_row<T, Arch, unnormalized_t>;
    testing::dice random(static_cast<unsigned>(packs));
    guarded<T> scores(packs * row::width);
    for (auto& s : scores) s = random.chance(0.2) ? excluded<T> : static_cast<T>(random.between(-4, 4));
    row const all{scores.data(), packs, {100}};

    located<T> best;
    for (index_t i = 0; i < scores.size(); ++i)
        if (scores[i] > best.value) best = {scores[i], 100 + i};
    CHECK(all.size() == scores.size());
    CHECK(all.max() == best.value);
    CHECK(all.first_max().value == best.value);
    CHECK(all.first_max().key == best.key);
    CHECK(all.any_above(T{3}) == (best.value > 3));
    CHECK_FALSE(all.any_above(best.value));

    T total = 0, squares = 0, most = excluded<T>;
    for (T const s : scores) {
        if (s == excluded<T>) continue;
        total += s + 1;
        squares += s * s;
        most = std::max(most, -s);
    }
    CHECK(all.sum([](auto s) { return s + T{1}; }) == total);
    CHECK(all.max_of([](auto s) { return -s; }) == most);
    CHECK(all.sums([](auto s) { return std::array{s + T{1}, s * s}; }) == std::array{total, squares});

    row_scratch<T> room;
    auto const few = all.at_least(T{3}, room);
    auto kept = std::count_if(scores.begin(), scores.end(), [](T s) { return s >= T{3}; });
    CHECK(few.scores == room.scores);
    CHECK(few.size() < kept + row::width);
    for (index_t i = 0, from = 0; i < few.size(); ++i, --kept) {  // in their order, and nothing behind them
        while (kept > 0 && !(scores[from] >= T{3})) ++from;
        CHECK(few[i] == (kept > 0 ? scores[from++] : excluded<T>));
    }
    CHECK(kept <= 0);

    CHECK(all.reached_by(0) == excluded<T>);
    for (index_t k = 1; k <= kernel::chains * row::width + 1; ++k) {
        T const reached = all.reached_by(k);
        CHECK((reached == excluded<T>
               || std::count_if(scores.begin(), scores.end(), [&](T s) { return s >= reached; }) >= k));
        if (k == 1) CHECK(reached == all.max());
    }
    guarded<T> limited(scores.size());
    std::copy(scores.begin(), scores.end(), limited.begin());
    row{limited.data(), packs}.map_from(T{1}, [](auto s) { return s * T{2}; });
    for (index_t i = 0; i < scores.size(); ++i) CHECK(limited[i] == (scores[i] >= T{1} ? scores[i] * 2 : T{0}));

    T sum = 0;
    guarded<T> expected(scores.size());
    for (index_t i = 0; i < scores.size(); ++i)
        sum += expected[i] = scores[i] == excluded<T> ? T{0} : scores[i] * 2 + 1;
    CHECK(all.map_and_sum([](auto s) { return s * T{2} + T{1}; }) == sum);
    CHECK(std::equal(scores.begin(), scores.end(), expected.begin()));
    all.map([](auto s) { return s * s; });
    for (index_t i = 0; i < scores.size(); ++i) CHECK(scores[i] == expected[i] * expected[i]);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("rows of scores", "[kernel]", lane_widths) {
    for (index_t packs : {0, 1, 3, 4, 9}) {
        check_row<float, TestType>(packs);
        check_row<double, TestType>(packs);
    }
}

TEMPLATE_LIST_TEST_CASE("more scores than a room holds are the row itself", "[kernel]", lane_widths) {
    using row = kernel::packed_row<float, TestType, unnormalized_t>;
    row_scratch<float> room;
    index_t const packs = room.size / row::width + 1;
    guarded<float> scores(packs * row::width, 1.f);
    scores[0] = 7;
    row const all{scores.data(), packs};
    CHECK(all.at_least(1.f, room).scores == all.scores);
    CHECK(all.at_least(2.f, room).scores == room.scores);
    row const full{scores.data(), packs - 1};
    CHECK(full.at_least(1.f, room).scores == room.scores);
    CHECK(full.at_least(1.f, room).size() == room.size);
}

TEMPLATE_LIST_TEST_CASE("what is kept of a row knows its keys, and its weights go back", "[kernel]", lane_widths) {
    using row = kernel::packed_row<float, TestType, unnormalized_t>;
    for (index_t const packs : {0, 1, 5, 40, 600}) {
        testing::dice random(static_cast<unsigned>(packs));
        guarded<float> scores(packs * row::width), weights(packs * row::width);
        for (auto& s : scores) s = random.chance(0.2) ? excluded<float> : static_cast<float>(random.real(-4, 4));
        std::copy(scores.begin(), scores.end(), weights.begin());
        row const all{weights.data(), packs, {100}};
        kept_scratch<float> room, inner_room;
        auto const few = all.keep_from(2, room);
        auto const check_keys = [&](row const& some, float least) {
            for (index_t i = 0, from = 0; i < some.size(); ++i) {
                if (some[i] == excluded<float>) continue;
                while (!(scores[from] >= least)) ++from;
                CHECK(some[i] == scores[from]);
                CHECK(some.key(i) == 100 + from++);
            }
        };
        check_keys(few, 2);
        auto const fewer = few.keep_from(3, inner_room);
        check_keys(fewer, 3);
        auto const reach = [&](float least) {
            return std::count_if(scores.begin(), scores.end(), [&](float s) { return s >= least; });
        };
        CHECK((few.scores == room.scores) == (reach(2) <= room.size));
        CHECK((fewer.scores == few.scores) == (reach(3) > room.size));
        fewer.map([](auto s) { return s + s; });
        few.put_back(fewer, inner_room);
        all.put_back(few, room);
        for (index_t i = 0; i < scores.size(); ++i) CHECK(weights[i] == (scores[i] >= 3 ? 2 * scores[i] : 0));
    }
}

TEMPLATE_LIST_TEST_CASE("a row of excluded scores has no best key", "[kernel]", lane_widths) {
    using row = kernel::packed_row<float, TestType, softmax_t>;
    guarded<float> scores(row::width, excluded<float>);
    row const all{scores.data(), 1};
    CHECK(all.first_max().key == -1);
    CHECK_FALSE(all.any_above(excluded<float>));
    softmax_t::state<float> s;
    softmax.fold(s, all);
    CHECK(s.sum == 0);
    CHECK(std::all_of(scores.begin(), scores.end(), [](float w) { return w == 0; }));
}

TEMPLATE_LIST_TEST_CASE("of equal scores the lowest key wins wherever it is listed", "[kernel]", lane_widths) {
    using row = kernel::packed_row<float, TestType, softmax_t, kernel::listed_keys>;
    guarded<float> scores(2 * row::width, 1.f);
    guarded<std::int32_t> keys(2 * row::width, 50);
    keys[row::width + 1] = 7;
    CHECK(row{scores.data(), 2, {keys.data()}}.first_max().key == 7);
}

TEMPLATE_LIST_TEST_CASE("maxima pass over what is no number, what is kept does not", "[kernel]", lane_widths) {
    using row = kernel::packed_row<float, TestType, unnormalized_t>;
    float const nan = std::numeric_limits<float>::quiet_NaN();
    constexpr index_t packs = 9;
    for (index_t at = 0; at < packs * row::width; ++at)
        for (index_t const best : {index_t{0}, row::width, (packs - 1) * row::width}) {
            guarded<float> scores(packs * row::width, -1.f);
            scores[best] = 5;
            scores[at] = nan;
            row const all{scores.data(), packs};
            float const expected = at == best ? -1.f : 5.f;
            CHECK(all.max() == expected);
            CHECK(all.first_max().value == expected);
            CHECK(all.max_of([](auto s) { return -s; }) == 1);
            row_scratch<float> room;
            auto const few = all.at_least(5.f, room);
            index_t kept = 0;
            for (index_t i = 0; i < few.size(); ++i) kept += few[i] != excluded<float>;
            CHECK(kept == (at == best ? 1 : 2));
        }
}

TEMPLATE_LIST_TEST_CASE("what sums of long rows round off does not grow with their length", "[kernel]", lane_widths) {
    using row = kernel::packed_row<float, TestType, unnormalized_t>;
    constexpr index_t packs = 100000 / row::width;
    guarded<float> scores(packs * row::width, 0.1f);
    row const all{scores.data(), packs};
    auto const exact = Approx(static_cast<double>(scores.size()) * static_cast<double>(0.1f)).epsilon(2e-6).margin(0);
    CHECK(all.sum([](auto s) { return s; }) == exact);
    CHECK(all.sums([](auto s) { return std::array{s, s + s}; })[0] == exact);
    CHECK(all.map_and_sum([](auto s) { return s; }) == exact);
}
