// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// A law: each position of a prefill sees what the decoding call of that position sees, though a plan may compute for
// one query, for a few, and for many, with queries in lanes or with keys.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include "catch.hpp"
#include "support/drawn.hpp"
#include "support/seeds.hpp"

#include <array>
#include <type_traits>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

constexpr index_t keys = 150, features = 20;

/// Values whose sums over visible keys are exact, and tell which keys these are: 1, the key, and its square modulo 512.
tensor<float, 4> telling_values() {
    tensor<float, 4> values({1, 1, keys, 3});
    for (index_t j = 0; j < keys; ++j) {
        values(0, 0, j, 0) = 1;
        values(0, 0, j, 1) = static_cast<float>(j);
        values(0, 0, j, 2) = static_cast<float>(j * j % 512);
    }
    return values;
}

tensor<float, 4> drawn_rows(testing::dice& random) {
    return testing::random_tensor<float>(random, extents_t<4>{1, 1, keys, features});
}

/// Tables of positions whose sums and products round.
struct tables {
    std::vector<float> x, y;  // for each position
    std::vector<double> wide;
    std::vector<float> limit{2.5f, 1e-3f};  // for each head

    explicit tables(testing::dice& random) {
        for (index_t i = 0; i < keys; ++i) {
            x.push_back(0.1f * static_cast<float>(random.between(0, 20)));
            y.push_back(0.1f * static_cast<float>(random.between(0, 20)));
            wide.push_back(0.1 * static_cast<double>(random.between(0, 20)));
        }
    }
};

/// The result of some queries from a position on, with the specification that `spec` makes of that position.
template <class Spec>
tensor<float, 4> rows_from(index_t first, index_t count, Spec const& spec, tensor<float, 4> const& query,
                           tensor<float, 4> const& key, tensor<float, 4> const& value) {
    std::vector<index_t> const start{first};
    tensor<float, 4> result({1, query.extent(1), count, value.extent(3)});
    view<float const, 4> some = query;
    some.data += first * some.stride(2);
    some.extents[2] = count;
    attend(spec(q_idx + param(start)[batch]), some, key, value, result);
    return result;
}

/// A random real expression of a position, of the key, and of tables.
template <unsigned Seed, int Depth>
auto real_of(auto const& i, tables const& t) {
    using drawn::next, drawn::pick;
    if constexpr (Depth == 0) {
        constexpr unsigned which = pick(Seed, 7);
        if constexpr (which == 0) return 0.3f * i;
        else if constexpr (which == 1) return 0.1 * kv_idx;
        else if constexpr (which == 2) return param(t.x)[i] - param(t.y)[kv_idx];
        else if constexpr (which == 3) return real(i - kv_idx) / 7;
        else if constexpr (which == 4) return param(t.wide)[kv_idx] * param(t.x)[i];
        else if constexpr (which == 5) return param(t.limit)[head] + 0.7;
        else return select(kv_idx % 3 == i % 2, index_t{1} << 33, 7) * 1e-9f;
    } else {
        auto const a = real_of<next(Seed, 2), Depth - 1>(i, t);
        auto const b = real_of<next(Seed, 3), Depth - 1>(i, t);
        constexpr unsigned which = pick(Seed, 8);
        if constexpr (which < 2) return a * 0.37f + b;
        else if constexpr (which == 2) return a - b * a;
        else if constexpr (which == 3) return square(a) + square(b);
        else if constexpr (which == 4) return a / (1.5f + abs(b));
        else if constexpr (which == 5) return silu(a) + max(b, 0.1f);
        else if constexpr (which == 6) return exp(-0.1f * abs(a)) * b + 0.1;
        else return select(a < b, a * 0.3f, sqrt(abs(b)));
    }
}

/// The keys that each position of a prefill sees, against calls of 1, 5 and 33 queries.
template <class Condition>
void check(Condition const& condition) {
    auto random = seeds::dice_for("decoding");
    auto const query = testing::random_tensor<float>(random, std::array<index_t, 4>{1, 2, keys, features});
    auto const key = drawn_rows(random);
    auto const value = telling_values();
    auto const seen = [&](auto const& position) {
        return compare(0 * sum(q * k) + 1) | where(condition(position)) | unnormalized | weighted_sum;
    };
    auto const prefill = rows_from(0, keys, seen, query, key, value);
    index_t visible = 0;
    for (index_t const count : {index_t{1}, index_t{5}, index_t{33}}) {
        for (index_t first = 0; first + count <= keys; first += count == 1 ? 7 : count) {
            auto const some = rows_from(first, count, seen, query, key, value);
            for (index_t h = 0; h < 2; ++h)
                for (index_t i = 0; i < count; ++i)
                    for (index_t c = 0; c < 3; ++c)
                        if (some(0, h, i, c) != prefill(0, h, first + i, c)) {
                            INFO(count << " queries, position " << first + i << ", head " << h);
                            CHECK(some(0, h, i, c) == prefill(0, h, first + i, c));
                        }
        }
    }
    for (index_t i = 0; i < keys; ++i) visible += static_cast<index_t>(prefill(0, 0, i, 0));
    CHECK(visible > 0);
    CHECK(visible < keys * keys);
}

/// Results with scores that depend on positions, against calls of 1 and 5 queries.
template <class Score>
void check_scores(Score const& of_position) {
    auto random = seeds::dice_for("decoding scores");
    auto const query = testing::random_tensor<float>(random, std::array<index_t, 4>{1, 2, keys, features});
    auto const key = drawn_rows(random);
    auto const value = testing::random_tensor<float>(random, std::array<index_t, 4>{1, 1, keys, 5});
    auto const spec = [&](auto const& position) {
        return scaled_dot | rescore(score + of_position(position)) | where(kv_idx <= position) | softmax | weighted_sum;
    };
    auto const prefill = rows_from(0, keys, spec, query, key, value);
    for (index_t const count : {index_t{1}, index_t{5}})
        for (index_t first = 0; first + count <= keys; first += 13) {
            auto const some = rows_from(first, count, spec, query, key, value);
            for (index_t h = 0; h < 2; ++h)
                for (index_t i = 0; i < count; ++i)
                    for (index_t c = 0; c < 5; ++c)
                        CHECK(std::abs(some(0, h, i, c) - prefill(0, h, first + i, c)) < 2e-6f);
        }
}

}  // namespace

TEST_CASE("a position sees the same keys in a prefill and alone: reals of indices", "[driver]") {
    check([](auto const& i) { return real(kv_idx) * 0.1f < 4.80000019f + 0 * i; });
    check([](auto const& i) { return real(i) * 0.1f + real(kv_idx) * 0.3f <= 20.7000008f; });
    check([](auto const& i) { return (i + 1) * 0.7 >= (kv_idx + 1) * 0.7000000001; });
}

TEST_CASE("a position sees the same keys in a prefill and alone: functions", "[driver]") {
    check([](auto const& i) { return exp(-0.1f * abs(i - kv_idx)) >= exp(-0.1f * real(abs(i - kv_idx) / 3 * 3)); });
    check([](auto const& i) { return tanh(0.01f * i) + log(1 + real(kv_idx)) < sqrt(real(i)); });
}

TEST_CASE("a position sees the same keys in a prefill and alone: functions that end in a product", "[driver]") {
    check([](auto const& i) { return silu(0.1f * kv_idx) + 0.1f * i <= silu(0.1f * (kv_idx + i)); });
    check([](auto const& i) { return gelu(0.07f * i) - 0.3f >= gelu(0.05f * kv_idx) + 0.01f * i; });
}

TEST_CASE("a position sees the same keys in a prefill and alone: tables", "[driver]") {
    auto random = seeds::dice_for("decoding tables");
    tables const t(random);
    auto const x = param(t.x), y = param(t.y), limit = param(t.limit);
    auto const wide = param(t.wide);
    check([&](auto const& i) { return square(x[i] - x[kv_idx]) + square(y[i] - y[kv_idx]) <= limit[head]; });
    check([&](auto const& i) { return x[i] * y[kv_idx] + y[i] * x[kv_idx] > wide[i] * wide[kv_idx] + limit[head]; });
}

TEST_CASE("a position sees the same keys in a prefill and alone: drawn masks", "[driver]") {
    auto random = seeds::dice_for("decoding drawn masks");
    tables const t(random);
    auto const drawn_mask = [&]<unsigned Seed>(std::integral_constant<unsigned, Seed>) {
        check([&](auto const& i) {
            auto const a = real_of<drawn::next(Seed, 5), 2>(i, t);
            auto const b = real_of<drawn::next(Seed, 6), 2>(i, t);
            return (a <= b && kv_idx != 7) || kv_idx % 50 == 3;  // some pair is visible, and some is not
        });
    };
    drawn_mask(std::integral_constant<unsigned, 11>{});
    drawn_mask(std::integral_constant<unsigned, 38>{});
    drawn_mask(std::integral_constant<unsigned, 41>{});
}

TEST_CASE("what is visible is what the definition in the arithmetic of the call says", "[driver]") {
    auto random = seeds::dice_for("decoding definition");
    tables const t(random);
    auto const x = param(t.x), y = param(t.y);
    auto const query = drawn_rows(random);
    auto const key = drawn_rows(random);
    auto const value = telling_values();
    auto const spec = compare(0 * sum(q * k) + 1)
                    | where(square(x[q_idx] - x[kv_idx]) + square(y[q_idx] - y[kv_idx]) <= 2.56f)
                    | where(real(kv_idx) * 0.1f + 0.3f * q_idx != 4.8000002f) | unnormalized | weighted_sum;
    tensor<float, 4> mine({1, 1, keys, 3}), defined({1, 1, keys, 3});
    attend(spec, query, key, value, mine);
    reference::attend_in<float>(spec, query, key, value, defined);
    for (index_t i = 0; i < keys; ++i)
        for (index_t c = 0; c < 3; ++c) CHECK(mine(0, 0, i, c) == defined(0, 0, i, c));
}

TEST_CASE("scores of positions are the same in a prefill and alone", "[driver]") {
    std::vector<float> const slopes{0.5f, 0.03f};
    auto const slope = param(slopes);
    check_scores([&](auto const& i) { return slope[head] * (kv_idx - i); });
    check_scores([&](auto const& i) { return tanh(0.1f * (kv_idx - i)) * sin(real(i)); });
}

TEST_CASE("positions far from 0 are rounded once", "[driver]") {
    index_t const far = (index_t{1} << 24) + 1;
    check([=](auto const& i) { return real(kv_idx + far) - real(i + far) <= 0; });
    check([=](auto const& i) { return real(kv_idx) + static_cast<float>(far) >= real(i + far); });
}
