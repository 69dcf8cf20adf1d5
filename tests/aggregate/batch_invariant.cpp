// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same bits for the same query over the same keys, whatever else is in the call: prefill, chunks, decoding, groups
// of heads, batches, sequences, pages and threads.
#include <fovea/core/paged.hpp>
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {
constexpr auto sums = softmax | weighted_sum | batch_invariant;
constexpr auto prefill = scaled_dot | causal | sums;
constexpr auto last = scaled_dot | causal_at_end | sums;

/// Some of the rows of an array.
template <class T>
view<T const, 4> rows_of(tensor<T, 4> const& x, index_t from, index_t to) {
    auto const all = x.view();
    return {all.place(index_t{0}, index_t{0}, from, index_t{0}),
            {all.extent(0), all.extent(1), to - from, all.extent(3)},
            all.strides};
}
/// One batch element and some heads of an array.
template <class T>
view<T const, 4> part_of(view<T const, 4> const& x, index_t batch, index_t head, index_t heads) {
    return {x.place(batch, head, index_t{0}, index_t{0}), {1, heads, x.extent(2), x.extent(3)}, x.strides};
}

/// Queries, keys and values of one length, and the result of a prefill.
template <class Arch, class T = float, class Stored = T>
struct sequence {
    index_t batches, heads, group, n, features, width;
    tensor<T, 4> query;
    tensor<Stored, 4> key, value;
    tensor<T, 4> all{query.extents};
    workspace scratch;

    sequence(testing::dice& random, index_t b, index_t h, index_t g, index_t length, index_t d, index_t c)
        : batches(b),
          heads(h),
          group(g),
          n(length),
          features(d),
          width(c),
          query(testing::random_tensor<T, 4>(random, {b, h * g, length, d}, 3)),
          key(testing::random_tensor<Stored, 4>(random, {b, h, length, d})),
          value(testing::random_tensor<Stored, 4>(random, {b, h, length, c})),
          all({b, h * g, length, c}) {}

    template <class Spec>
    void run(Spec const& spec) {
        attend_on<Arch>(serial, scratch, spec, query, key, value, all);
    }

    /// Whether a result has the bits of the rows from one on, of the heads of a batch element from one on.
    template <class Out>
    void compare(char const* what, Out const& result, index_t from, index_t batch = 0, index_t head = 0) const {
        view<T const, 4> const got(result), whole(all);
        index_t differ = 0;
        for (index_t b = 0; b < got.extent(0); ++b)
            for (index_t h = 0; h < got.extent(1); ++h)
                for (index_t i = 0; i < got.extent(2); ++i)
                    differ += std::memcmp(got.place(b, h, i, index_t{0}),
                                          whole.place(batch + b, head + h, from + i, index_t{0}),
                                          static_cast<std::size_t>(width) * sizeof(T))
                           != 0;
        INFO(Arch::name << ", " << what << ": " << batches << " x " << heads << " heads of " << group << " queries, "
                        << n << " positions, " << features << " and " << width << " features, rows from " << from
                        << " to " << from + got.extent(2));
        CHECK(differ == 0);
    }

    /// The rows [from, to) as the last ones of a call over the keys before `to`.
    template <class Spec, class Executor = serial_t>
    void check_chunk(char const* what, Spec const& spec, index_t from, index_t to, Executor const& executor = {}) {
        tensor<T, 4> got({batches, heads * group, to - from, width});
        attend_on<Arch>(executor, scratch, spec, rows_of(query, from, to), rows_of(key, 0, to), rows_of(value, 0, to),
                        got);
        compare(what, got, from);
    }
};

/// Chunks at random places, among them single rows and all.
template <class Sequence, class Spec>
void check_chunks(testing::dice& random, Sequence& s, char const* what, Spec const& spec) {
    s.check_chunk(what, spec, 0, s.n);
    s.check_chunk(what, spec, s.n - 1, s.n);
    for (index_t const most : {1, 2, 5, 9, 16, 40, 200}) {
        index_t const to = random.between(1, s.n), from = std::max<index_t>(to - random.between(1, most), 0);
        s.check_chunk(what, spec, from, to);
    }
}

/// Lengths about the ends of vectors, panels and blocks, and any others.
index_t drawn_length(testing::dice& random) {
    index_t const near = index_t{64} << random.between(0, 4);
    return random.chance(0.5) ? near + random.between(-3, 3) : random.between(1, 700);
}
}  // namespace

TEST_CASE("batch_invariant is part of the sum that it follows, whatever comes after it", "[aggregate]") {
    STATIC_REQUIRE(asks_for_fixed_order<sum_of_values<decltype(prefill)>>);
    STATIC_REQUIRE(asks_for_fixed_order<sum_of_values<decltype(prefill | concat_heads)>>);
    STATIC_REQUIRE(asks_for_fixed_order<
                   sum_of_values<decltype(scaled_dot | softmax | weighted_sum | concat_heads | batch_invariant)>>);
    STATIC_REQUIRE(!asks_for_fixed_order<sum_of_values<decltype(scaled_dot | softmax | weighted_sum)>>);
    STATIC_REQUIRE(linear_aggregator<decltype(prefill.aggregate)>);
    CHECK(text(prefill) == "scaled_dot | causal | softmax | weighted_sum | batch_invariant");
    CHECK(text(weighted_sum | batch_invariant) == "weighted_sum | batch_invariant");
}

TEST_CASE("prefill, chunks and decoding have the same bits, in any batch, group and number of threads", "[aggregate]") {
    auto const on = []<class Arch>(Arch) {
        testing::dice random(11);
        for (int round = 0; round < 8; ++round) {
            index_t const group = random.between(1, 5), n = drawn_length(random);
            sequence<Arch> s(random, random.between(1, 2), random.between(1, 2), group, n, random.between(1, 80),
                             random.between(1, 70));
            s.run(prefill);
            check_chunks(random, s, "chunk", last);
            index_t const to = random.between(1, n), from = random.between(0, to - 1);
            s.check_chunk("3 threads", last, from, to, threads(3));
            s.check_chunk("offset", scaled_dot | causal_from(from) | sums, from, to);

            tensor<float, 4> one({1, 1, to - from, s.width});  // a single head of a group and a batch
            index_t const batch = s.batches - 1, head = s.heads * group - 1;
            attend_on<Arch>(serial, s.scratch, last, part_of(rows_of(s.query, from, to), batch, head, 1),
                            part_of(rows_of(s.key, 0, to), batch, head / group, 1),
                            part_of(rows_of(s.value, 0, to), batch, head / group, 1), one);
            s.compare("one head", one, from, batch, head);

            tensor<float, 4> plain(s.all.extents);
            attend_on<Arch>(serial, s.scratch, scaled_dot | causal | softmax | weighted_sum, s.query, s.key, s.value,
                            plain);
            testing::check_close<float, float>("usual order", plain.elements, s.all.elements, {3e-6, 3e-6});
        }
    };
    std::apply([&](auto... arch) { (on(arch), ...); }, lane_widths{});
}

TEST_CASE("results of batch_invariant are those of the definition", "[aggregate]") {
    testing::dice random(12);
    sequence<arch::best> s(random, 1, 2, 2, 150, 24, 17);
    tensor<float, 4> expected(s.all.extents);
    //! [example]
    auto const spec = scaled_dot | causal_at_end | softmax | weighted_sum | batch_invariant;
    attend(spec, s.query, s.key, s.value, s.all);
    //! [example]
    reference::attend(spec, s.query, s.key, s.value, expected);
    testing::check_close<float, float>("result", expected.elements, s.all.elements, {2e-6, 2e-6});
    s.check_chunk("example", spec, 149, 150);
}

TEST_CASE("masks and scores of any kind keep their bits", "[aggregate]") {
    testing::dice random(13);
    auto const place = q_idx + (kv_len - q_len);
    auto const distance = place - kv_idx;
    auto const check = [&](char const* what, auto const& spec) {
        for (index_t const n : {70, 530}) {
            sequence<arch::best> s(random, 1, 1, 3, n, 19, 33);
            s.run(spec);
            check_chunks(random, s, what, spec);
        }
    };
    auto const window = where(distance >= 0 && distance < 75);
    check("window, bias and softcap", scaled_dot | rescore(score - 0.1 * distance) | softcap(3) | window | sums);
    check("holes", scaled_dot | where(distance >= 0 && (kv_idx / 40) % 3 != 1) | softmax_plus_one | weighted_sum
                       | batch_invariant);
    check("squared distance", compare(-0.3 * log(1 + squared_distance(q, k))) | causal_at_end | sums);
    check("tanh", compare(sum(tanh(q + k))) | causal_at_end | sums);
}

TEST_CASE("elements of other types keep their bits", "[aggregate]") {
    testing::dice random(14);
    auto const check = [&]<class T, class Stored>(char const* what, T, Stored) {
        for (index_t const n : {45, 600}) {
            sequence<arch::best, T, Stored> s(random, 1, 1, 4, n, 40, 32);
            s.run(prefill);
            check_chunks(random, s, what, last);
        }
    };
    check("double", double{}, double{});
    check("keys of bfloat16", float{}, bfloat16{});
    check("bfloat16", bfloat16{}, bfloat16{});

    sequence<arch::best> s(random, 1, 1, 2, 300, 64, 32);  // keys in blocks of integers
    std::vector<q8_0> blocks(2 * 300);
    view<q8_0, 4> const stored(blocks.data(), {1, 1, 300, 2});
    store(stored, rows_of(s.key, 0, 300), 0);
    auto const keys = [&](index_t to) { return quantized(view<q8_0 const, 4>(blocks.data(), {1, 1, to, 2})); };
    attend(prefill, s.query, keys(300), s.value, s.all);
    for (index_t const count : {1, 3, 40}) {
        tensor<float, 4> got({1, 2, count, 32});
        attend(last, rows_of(s.query, 290 - count, 290), keys(290), rows_of(s.value, 0, 290), got);
        s.compare("q8_0", got, 290 - count);
    }
}

TEST_CASE("pages and sequences that lie one after another keep their bits", "[aggregate]") {
    testing::dice random(15);
    constexpr index_t n = 590, width = 32;
    sequence<arch::best> s(random, 1, 2, 2, n, 40, width);
    s.run(prefill);
    for (index_t const slots : {7, 16, 64}) {
        index_t const pages = ceil_div(n, slots);
        auto const paged_copy = [&](tensor<float, 4> const& x) {
            tensor<float, 4> to({pages, 2, slots, x.extent(3)}, std::numeric_limits<float>::quiet_NaN());
            for (index_t h = 0; h < 2; ++h)
                for (index_t p = 0; p < n; ++p)
                    for (index_t c = 0; c < x.extent(3); ++c)
                        to((p / slots * 5) % pages, h, p % slots, c) = x(0, h, p, c);
            return to;
        };
        if (pages % 5 == 0) continue;  // not a permutation
        auto const keys = paged_copy(s.key), values = paged_copy(s.value);
        tensor<std::int32_t, 2> table({1, pages});
        for (index_t p = 0; p < pages; ++p) table(0, p) = static_cast<std::int32_t>(p * 5 % pages);
        for (index_t const count : {1, 3, 50}) {
            tensor<float, 4> got({1, 4, count, width});
            attend(scaled_dot | causal_from(n - count) | sums, rows_of(s.query, n - count, n), paged(keys, table),
                   paged(values, table), got);
            s.compare("pages", got, n - count);
        }
    }
    // Three sequences, each of which begins like the whole one.
    std::vector<index_t> const lengths{300, 1, 77}, counts{1, 1, 60};
    tensor<float, 4> query({1, 4, 62, 40}), key({1, 2, 378, 40}), value({1, 2, 378, width}), got({1, 4, 62, width});
    std::vector<index_t> q_offsets{0}, k_offsets{0};
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        auto const copy = [](tensor<float, 4> const& from, index_t first, index_t count, auto& to, index_t at) {
            for (index_t h = 0; h < to.extent(1); ++h)
                for (index_t p = 0; p < count; ++p)
                    for (index_t c = 0; c < to.extent(3); ++c) to(0, h, at + p, c) = from(0, h, first + p, c);
        };
        copy(s.query, lengths[i] - counts[i], counts[i], query, q_offsets.back());
        copy(s.key, 0, lengths[i], key, k_offsets.back());
        copy(s.value, 0, lengths[i], value, k_offsets.back());
        q_offsets.push_back(q_offsets.back() + counts[i]);
        k_offsets.push_back(k_offsets.back() + lengths[i]);
    }
    attend(ragged(q_offsets, k_offsets), last, query, key, value, got);
    for (std::size_t i = 0; i < lengths.size(); ++i)
        s.compare("sequence", rows_of(got, q_offsets[i], q_offsets[i + 1]), lengths[i] - counts[i]);
}

TEST_CASE("values that are not finite and not seen change no bit", "[aggregate]") {
    testing::dice random(16);
    sequence<arch::best> s(random, 1, 1, 2, 200, 24, 20);
    s.run(prefill);
    auto const before = s.all;
    s.value(0, 0, 120, 3) = std::numeric_limits<float>::infinity();
    s.run(prefill);
    for (index_t h = 0; h < 2; ++h)
        for (index_t i = 0; i < 120; ++i)
            for (index_t c = 0; c < s.width; ++c) CHECK(s.all(0, h, i, c) == before(0, h, i, c));
    for (index_t const to : {60, 120, 128, 200}) s.check_chunk("not finite", last, to - 3, to);
}

TEST_CASE("projections and finishes keep their bits", "[aggregate]") {
    testing::dice random(17);
    auto const w = testing::random_tensor<float, 2>(random, {32, 32});
    auto const w_out = testing::random_tensor<float, 2>(random, {32, 24});
    auto const x = testing::random_tensor<float, 3>(random, {1, 260, 32});
    auto const spec = project(w, w, w, heads<4, 4>) | last | concat_heads | output(w_out);
    tensor<float, 3> all({1, 260, 24});
    attend(spec, x, all);
    for (index_t const count : {1, 4, 20}) {
        tensor<float, 3> got({1, count, 24});
        attend(spec, queries(view<float const, 3>(&x(0, 260 - count, 0), {1, count, 32})), memory(x), got);
        CHECK(std::memcmp(&got(0, 0, 0), &all(0, 260 - count, 0), got.elements.size() * sizeof(float)) == 0);
    }
}

TEST_CASE("explain names what runs in a fixed order, and gradients are those of the usual order", "[aggregate]") {
    testing::dice random(18);
    sequence<arch::best> s(random, 1, 1, 1, 90, 16, 16);
    CHECK_THAT(explain(last, rows_of(s.query, 89, 90), s.key, s.value),
               ContainsSubstring("kernel/product/contract_columns.hpp"));
    tensor<float, 4> expected(s.query.extents), got(s.query.extents);
    auto const d_result = testing::random_tensor<float, 4>(random, {1, 1, 90, 16});
    gradient(scaled_dot | causal | softmax | weighted_sum, s.query, s.key, s.value, d_result, grad(s.query, expected));
    gradient(prefill, s.query, s.key, s.value, d_result, grad(s.query, got));
    testing::check_close<float, float>("query", expected.elements, got.elements, {1e-6, 1e-6});
}
