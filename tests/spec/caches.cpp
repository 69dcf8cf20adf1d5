// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
// Caches of every format, in one array or in pages, in random calls: results are those of plain loops in double over
// the numbers that their bits stand for, and nothing behind their last element is read.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/decoded.hpp"
#include "support/guarded.hpp"
#include "support/seeds.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Elements of rows, in one array or in pages, in any order of axes and with gaps; the last one ends where the program
/// may read no further. What no row has are bits of NaN.
template <class T, bool in_pages>
class memory {
public:
    memory(testing::dice& random, extents_t<4> const& of)
        : entries_(drawn_entries(random, of[2])), table_({of[0], entries_}) {
        index_t const slots = in_pages ? entries_ > 0 ? of[2] / entries_ : 3 : of[2];
        for (index_t i = 0; i < table_.size(); ++i) table_.data()[i] = static_cast<std::int32_t>(i + 1);
        for (index_t i = 1; i < table_.size(); ++i) std::swap(table_.data()[i], table_.data()[random.between(0, i)]);
        index_t const row = of[3] + (random.chance(0.5) ? random.between(1, 3) : 0);
        bool const heads_inside = random.chance(0.5);
        all_ = {nullptr,
                {in_pages ? table_.size() + 2 : of[0], of[1], slots, of[3]},
                {of[1] * slots * row, heads_inside ? row : slots * row, heads_inside ? of[1] * row : row, 1}};
        index_t reached = all_.size() > 0 ? 1 : 0;
        for (int axis = 0; axis < 4 && reached > 0; ++axis) reached += (all_.extent(axis) - 1) * all_.stride(axis);
        elements_ = std::make_unique<guarded<T>>(reached);
        all_.data = elements_->data();
        std::memset(static_cast<void*>(all_.data), 0xff, static_cast<std::size_t>(reached) * sizeof(T));
        for (std::size_t axis = 0; axis < 3 && reached > 0; ++axis)
            if (random.chance(0.2)) {  // from the last one on
                all_.data += (all_.extents[axis] - 1) * all_.strides[axis];
                all_.strides[axis] *= -1;
            }
    }
    auto rows() const {
        if constexpr (in_pages) return paged(view<T const, 4>(all_), view<std::int32_t const, 2>(table_));
        else return view<T const, 4>(all_);
    }
    T* row(index_t b, index_t h, index_t n) const { return const_cast<T*>(rows().place(b, h, n, index_t{0})); }
    /// Pages without one of the first positions are not there.
    void end(index_t b, index_t positions) {
        for (index_t n = 0; in_pages && n < entries_; ++n)
            if (n * all_.extent(2) >= positions) table_(b, n) = -1;
    }

private:
    /// A number of pages that the positions of a sequence fill.
    static index_t drawn_entries(testing::dice& random, index_t positions) {
        index_t entries = std::min<index_t>(positions, random.between(1, 30));
        while (entries > 0 && positions % entries != 0) --entries;
        return entries;
    }

    index_t entries_;
    tensor<std::int32_t, 2> table_;
    view<T, 4> all_;
    std::unique_ptr<guarded<T>> elements_;
};

/// Keys or values of a format, and the numbers that they stand for; integers of 8 bits have a scale for some features.
template <class T, bool in_pages>
class cache {
    static constexpr bool scaled = std::is_same_v<T, std::int8_t>, blocks = block_format<T>;
    static constexpr index_t size = detail::features_of_element<T>;

public:
    extents_t<4> extents;
    tensor<double, 4> numbers;

    cache(testing::dice& random, extents_t<4> const& of)
        : extents(of),
          numbers(of),
          block_(drawn_block(random, of[3])),
          elements_(random, {of[0], of[1], of[2], of[3] / size}),
          scales_(random, {of[0], of[1], of[2], of[3] / block_}) {
        std::vector<float> drawn(static_cast<std::size_t>(of[3]));
        for_each_row([&](index_t b, index_t h, index_t n) {
            for (auto& x : drawn) x = static_cast<float>(random.real(-1, 1));
            T* const to = elements_.row(b, h, n);
            for (index_t c = 0; c < of[3]; c += size) {
                float const* const from = drawn.data() + c;
                if constexpr (blocks) to[c / size] = T::rounded(from);
                else if constexpr (scaled) to[c] = static_cast<T>(*from * 127);
                else to[c] = static_cast<T>(*from);
            }
            for (index_t s = 0; scaled && s < of[3] / block_; ++s)
                scales_.row(b, h, n)[s] = static_cast<float>(random.real(-0.01, 0.01));
            for (index_t c = 0; c < of[3]; ++c) {
                numbers(b, h, n, c) = decoded(to[c / size], c % size);
                if (scaled) numbers(b, h, n, c) *= decoded(scales_.row(b, h, n)[c / block_], 0);
            }
        });
    }
    auto rows() const {
        if constexpr (blocks) return quantized(elements_.rows());
        else if constexpr (scaled) return block_scaled(elements_.rows(), scales_.rows());
        else return elements_.rows();
    }
    /// One element, and so some numbers, are NaN.
    void spoil(index_t b, index_t h, index_t n, index_t feature) {
        index_t const together = scaled ? block_ : size, first = feature / together * together;
        if (scaled) std::memset(scales_.row(b, h, n) + feature / block_, 0xff, sizeof(float));
        else std::memset(static_cast<void*>(elements_.row(b, h, n) + feature / size), 0xff, sizeof(T));
        for (index_t c = first; c < first + together; ++c) numbers(b, h, n, c) = nan;
    }
    void end(index_t b, index_t positions) {
        elements_.end(b, positions);
        scales_.end(b, positions);
    }
    static index_t drawn_features(testing::dice& random) {
        return blocks             ? size * random.between(1, 3)
             : random.chance(0.5) ? random.between(1, 20)
                                  : random.between(1, 100);
    }

private:
    static index_t drawn_block(testing::dice& random, index_t features) {
        index_t block = random.between(1, features);
        while (features % block != 0) --block;
        return block;
    }
    void for_each_row(auto const& f) const {
        for (index_t b = 0; b < extents[0]; ++b)
            for (index_t h = 0; h < extents[1]; ++h)
                for (index_t n = 0; n < extents[2]; ++n) f(b, h, n);
    }

    index_t block_;
    memory<T, in_pages> elements_;
    memory<float, in_pages> scales_;
};

/// A random call over two caches, and what plain loops say of it.
template <class Key, class Value>
struct drawn_call {
    testing::dice& random;
    index_t batches, heads, group, queries, keys;
    Key key;
    Value value;
    guarded<float> query, d_result;
    tensor<float, 4> result;
    tensor<float, 3> sums;
    tensor<double, 4> expected, size, d_query;
    tensor<double, 3> expected_sums;
    std::vector<float> sinks;
    double scale;

    explicit drawn_call(testing::dice& dice, index_t most_batches = 3)
        : random(dice),
          batches(random.between(1, most_batches)),
          heads(random.between(1, 2)),
          group(random.chance(0.5) ? 1 : random.between(2, 8)),
          queries(random.chance(0.4) ? 1 : random.between(1, random.chance(0.5) ? 8 : 50)),
          keys(random.between(0, random.chance(0.7)                  ? 40
                                 : queries > 8 || random.chance(0.7) ? 150
                                                                     : 700)),
          key(random, {batches, heads, keys, Key::drawn_features(random)}),
          value(random, {batches, heads, keys, Value::drawn_features(random)}),
          query(batches * heads * group * queries * key.extents[3]),
          d_result(batches * heads * group * queries * value.extents[3]),
          result({batches, heads * group, queries, value.extents[3]}),
          sums({batches, heads * group, queries}),
          expected(result.extents),
          size(result.extents),
          d_query({batches, heads * group, queries, key.extents[3]}),
          expected_sums(sums.extents),
          sinks(static_cast<std::size_t>(heads * group)),
          scale(1 / std::sqrt(static_cast<double>(key.extents[3]))) {
        for (auto* const all : {&query, &d_result})
            for (auto& x : *all) x = static_cast<float>(random.real(-1, 1));
        for (auto& x : sinks) x = static_cast<float>(random.real(-3, 3));
    }
    view<float const, 4> query_rows() const { return {query.data(), d_query.extents}; }

    /// Positions that no query of these heads sees hold NaN, and sometimes one that is seen.
    void spoil(auto const& seen, bool also_seen) {
        for (index_t b = 0; b < batches; ++b)
            for (index_t h = 0; h < heads; ++h)
                for (index_t j = 0; j < keys; ++j) {
                    bool hidden = true;
                    for (index_t i = 0; hidden && i < queries; ++i)
                        for (index_t g = 0; g < group; ++g) hidden = hidden && !seen(b, h * group + g, i, j);
                    if (!(hidden ? random.chance(0.7) : also_seen && random.chance(0.01))) continue;
                    if (random.chance(0.5)) key.spoil(b, h, j, random.between(0, key.extents[3] - 1));
                    else value.spoil(b, h, j, random.between(0, value.extents[3] - 1));
                }
    }
    /// One row: queries and keys of a sequence are those from given positions on.
    void expect_row(index_t b, index_t h, index_t i, index_t first, index_t count, auto const& seen, auto const& added,
                    double sink) {
        index_t const kv = h / group, of_key = key.extents[3], of_value = value.extents[3];
        float const* const q = query_rows().place(b, h, i, index_t{0});
        std::vector<double> weight(static_cast<std::size_t>(count));
        double total = 0, most = sink;
        std::vector<index_t> visible;
        for (index_t j = 0; j < count; ++j) {
            if (!seen(j)) continue;
            visible.push_back(j);
            double& s = weight[static_cast<std::size_t>(j)];
            for (index_t c = 0; c < of_key; ++c) s += q[c] * key.numbers(b, kv, first + j, c);
            s = s * scale + added(j);
            most = std::isnan(s) || s > most ? s : most;
        }
        for (index_t const j : visible) {
            double& w = weight[static_cast<std::size_t>(j)];
            w = std::exp(w - most);
            total += w;
        }
        bool const none = visible.empty();
        if (!none) total += std::exp(sink - most);
        expected_sums(b, h, i) = none ? -std::numeric_limits<double>::infinity() : most + std::log(total);
        auto const out = [&](index_t c) -> double& { return expected(b, h, i, c); };
        for (index_t c = 0; c < of_value; ++c)
            for (index_t const j : visible)
                out(c) += weight[static_cast<std::size_t>(j)] / total * value.numbers(b, kv, first + j, c);
        float const* const d = d_result.data() + (expected.view().place(b, h, i, index_t{0}) - expected.data());
        for (index_t const j : visible) {
            double d_score = 0;
            for (index_t c = 0; c < of_value; ++c) d_score += d[c] * (value.numbers(b, kv, first + j, c) - out(c));
            for (index_t c = 0; c < of_key; ++c)
                d_query(b, h, i, c) +=
                    weight[static_cast<std::size_t>(j)] / total * d_score * scale * key.numbers(b, kv, first + j, c);
        }
    }
    void expect(auto const& seen, auto const& added, bool has_sink) {
        for (index_t b = 0; b < batches; ++b)
            for (index_t h = 0; h < heads * group; ++h)
                for (index_t i = 0; i < queries; ++i)
                    expect_row(
                        b, h, i, 0, keys, [&](index_t j) { return seen(b, h, i, j); },
                        [&](index_t j) { return added(b, h, i, j); },
                        has_sink ? sinks[static_cast<std::size_t>(h)] : -std::numeric_limits<double>::infinity());
    }
    /// Calls of each width.
    void run(auto const& call) {
        index_t const workers = random.between(1, 2);
        std::apply([&](auto... arch) { (run_one(arch, call, threads(static_cast<int>(workers))), ...); },
                   lane_widths{});
    }

private:
    void run_one(auto arch, auto const& call, auto const& executor) {
        INFO(arch.name << ": " << batches << " x " << heads << " x " << group << " heads, " << queries << " queries of "
                       << key.extents[3] << ", " << keys << " keys, values of " << value.extents[3]);
        workspace scratch;
        call.template operator()<decltype(arch)>(executor, scratch);
    }
};

void check_close(char const* what, auto const& expected, auto const& got, double size) {
    auto const same = [&](double want, double have) {
        if (std::isnan(want)) return std::isnan(have);
        return want == have || std::abs(have - want) <= 1e-5 * size;
    };
    index_t i = 0;
    while (i < expected.size() && same(expected.data()[i], static_cast<double>(got.data()[i]))) ++i;
    INFO(what << "[" << i << "] is not " << (i < expected.size() ? expected.data()[i] : 0));
    REQUIRE(i == expected.size());
}

/// Calls of one specification, which is made from a call, and the pairs that are visible.
template <class Spec>
void check(auto& call, Spec const& spec) {
    call.run([&]<class Arch>(auto const& executor, workspace& scratch) {
        std::fill(call.result.begin(), call.result.end(), 7.0f);
        attend_on<Arch>(executor, scratch, spec, call.query_rows(), call.key.rows(), call.value.rows(), call.result,
                        lse(call.sums));
        check_close("result", call.expected, call.result, 1);
        check_close("lse", call.expected_sums, call.sums, 1);
    });
}

constexpr auto everything_seen = [](index_t, index_t, index_t, index_t) { return true; };
constexpr auto nothing_added = [](index_t, index_t, index_t, index_t) { return 0.0; };
constexpr int trials = FOVEA_TEST_LEVEL > 1 ? 60 : 20;

template <class Key, class Value>
void check_plain(testing::dice random) {
    for (int trial = 0; trial < trials; ++trial) {
        drawn_call<Key, Value> call(random);
        call.spoil(everything_seen, random.chance(0.5));
        call.expect(everything_seen, nothing_added, false);
        check(call, scaled_dot | softmax | weighted_sum);
    }
}

/// The last positions, with a sink, and the gradient of the queries.
template <class Key, class Value, bool has_gradient>
void check_recent(testing::dice random) {
    for (int trial = 0; trial < trials; ++trial) {
        drawn_call<Key, Value> call(random);
        index_t const window = random.between(1, call.keys + 10);
        auto const seen = [&](index_t, index_t, index_t i, index_t j) {
            index_t const distance = i + call.keys - call.queries - j;
            return distance >= 0 && distance < window;
        };
        call.spoil(seen, !has_gradient && random.chance(0.3));
        call.expect(seen, nothing_added, true);
        auto const spec = scaled_dot | causal_at_end | where(q_idx + (kv_len - q_len) - kv_idx < window)
                        | softmax_with_sink(call.sinks) | weighted_sum;
        if constexpr (has_gradient)
            call.run([&]<class Arch>(auto const& executor, workspace& scratch) {
                tensor<float, 4> d_query(call.d_query.extents, 7);
                gradient_on<Arch>(executor, scratch, spec, call.query_rows(), call.key.rows(), call.value.rows(),
                                  view<float const, 4>(call.d_result.data(), call.result.extents),
                                  grad(call.query_rows(), d_query));
                check_close("gradient", call.d_query, d_query, 4);
            });
        else check(call, spec);
    }
}

/// Key lengths, an additive mask of which most is -inf, and drafts that continue a prefix.
template <class Key, class Value>
void check_masked(testing::dice random) {
    for (int trial = 0; trial < trials; ++trial) {
        drawn_call<Key, Value> call(random);
        std::vector<index_t> lengths;
        for (index_t b = 0; b < call.batches; ++b) lengths.push_back(random.between(-1, call.keys + 1));
        tensor<float, 3> numbers({call.heads * call.group, call.queries, call.keys});
        double const hidden = random.chance(0.3) ? 0 : random.real(0.5, 1);
        index_t const together = random.between(1, 40);  // in which a query sees all or none
        for (auto& x : numbers) x = static_cast<float>(random.real(-1, 1));
        for (index_t h = 0; h < numbers.extent(0); ++h)
            for (index_t i = 0; i < call.queries; ++i)
                for (index_t j = 0; j < call.keys; j += together)
                    if (random.chance(hidden))
                        std::fill_n(&numbers(h, i, j), std::min(together, call.keys - j),
                                    -std::numeric_limits<float>::infinity());
        tensor<std::uint8_t, 2> drafts({call.queries, call.keys}, 1);
        bool const branches = random.chance(0.5);
        for (index_t i = 0; branches && i < call.queries; ++i) {
            index_t const prefix = std::max<index_t>(call.keys - call.queries, 0), parent = random.between(-1, i - 1);
            for (index_t j = prefix; j < call.keys; ++j)
                drafts(i, j) = j == prefix + i || (parent >= 0 && drafts(parent, j));
        }
        auto const added = [&](index_t, index_t h, index_t i, index_t j) -> double { return numbers(h, i, j); };
        auto const seen = [&](index_t b, index_t h, index_t i, index_t j) {
            return j < lengths[static_cast<std::size_t>(b)] && drafts(i, j) && std::isfinite(numbers(h, i, j));
        };
        call.spoil(seen, random.chance(0.3));
        for (index_t b = 0; b < call.batches; ++b) {
            call.key.end(b, lengths[static_cast<std::size_t>(b)]);
            call.value.end(b, lengths[static_cast<std::size_t>(b)]);
        }
        call.expect(seen, added, false);
        check(call, scaled_dot | bias(numbers) | key_lengths(lengths) | mask_tensor(drafts) | softmax | weighted_sum);
    }
}

/// Sequences one after another.
template <class Key, class Value>
void check_ragged(testing::dice random) {
    for (int trial = 0; trial < trials; ++trial) {
        drawn_call<Key, Value> call(random, 1);
        std::vector<index_t> of_queries{0}, of_keys{0};
        for (index_t n = random.between(0, 4); n > 0; --n) {
            of_queries.push_back(random.between(of_queries.back(), call.queries));
            of_keys.push_back(random.between(of_keys.back(), call.keys));
        }
        of_queries.push_back(call.queries);
        of_keys.push_back(call.keys);
        for (std::size_t s = 0; s + 1 < of_queries.size(); ++s) {
            index_t const queries = of_queries[s + 1] - of_queries[s], keys = of_keys[s + 1] - of_keys[s];
            for (index_t h = 0; h < call.heads * call.group; ++h)
                for (index_t i = 0; i < queries; ++i)
                    call.expect_row(
                        0, h, of_queries[s] + i, of_keys[s], keys, [&](index_t j) { return j <= i + keys - queries; },
                        [](index_t) { return 0.0; }, call.sinks[static_cast<std::size_t>(h)]);
        }
        auto const spec = scaled_dot | causal_at_end | softmax_with_sink(call.sinks) | weighted_sum;
        call.run([&]<class Arch>(auto const&, workspace& scratch) {
            attend_on<Arch>(serial, scratch, ragged(of_queries, of_keys), spec, call.query_rows(), call.key.rows(),
                            call.value.rows(), call.result, lse(call.sums));
            check_close("result", call.expected, call.result, 1);
            check_close("lse", call.expected_sums, call.sums, 1);
        });
    }
}

/// A state that goes on over two halves of a cache.
template <class Key, class Value>
void check_state(testing::dice random) {
    for (int trial = 0; trial < trials; ++trial) {
        drawn_call<Key, Value> call(random);
        index_t const of_key = call.key.extents[3], of_value = call.value.extents[3];
        auto const before = testing::random_tensor<float, 4>(random, {call.batches, call.heads, of_key, of_value});
        tensor<double, 4> state(before.extents), after(before.extents);
        std::copy(before.begin(), before.end(), state.begin());
        double size = 1;
        for (index_t b = 0; b < call.batches; ++b)
            for (index_t h = 0; h < call.heads; ++h)
                for (index_t c = 0; c < of_key; ++c)
                    for (index_t f = 0; f < of_value; ++f)
                        for (index_t j = 0; j < call.keys; ++j)
                            state(b, h, c, f) += call.key.numbers(b, h, j, c) * call.value.numbers(b, h, j, f);
        for (double const x : state) size = std::max(size, std::abs(x));
        for (index_t b = 0; b < call.batches; ++b)
            for (index_t h = 0; h < call.heads * call.group; ++h)
                for (index_t i = 0; i < call.queries; ++i)
                    for (index_t f = 0; f < of_value; ++f)
                        for (index_t c = 0; c < of_key; ++c)
                            call.expected(b, h, i, f) += call.query_rows()(b, h, i, c) * state(b, h / call.group, c, f);
        call.run([&]<class Arch>(auto const& executor, workspace& scratch) {
            tensor<float, 4> after_call(before.extents, 7);
            attend_on<Arch>(executor, scratch, dot | unnormalized | running_state, call.query_rows(), call.key.rows(),
                            call.value.rows(), call.result, past_state(before), present_state(after_call));
            check_close("state", state, after_call, size);
            check_close("result", call.expected, call.result, size * std::sqrt(static_cast<double>(of_key)));
        });
    }
}

constexpr bool array = false, pages = true;

}  // namespace

TEST_CASE("random calls over caches are plain loops over their numbers: all positions", "[spec]") {
    check_plain<cache<q8_0, pages>, cache<q4_1, array>>(seeds::dice_for("caches 1"));
    check_plain<cache<float16, array>, cache<std::int8_t, pages>>(seeds::dice_for("caches 2"));
}

TEST_CASE("random calls over caches are plain loops over their numbers: the last positions", "[spec]") {
    check_recent<cache<q4_0, array>, cache<fp8_e5m2, pages>, false>(seeds::dice_for("caches 3"));
    check_recent<cache<std::int8_t, pages>, cache<bfloat16, array>, true>(seeds::dice_for("caches 4"));
}

TEST_CASE("random calls over caches are plain loops over their numbers: masks", "[spec]") {
    check_masked<cache<fp8_e4m3, pages>, cache<q8_0, pages>>(seeds::dice_for("caches 5"));
    check_masked<cache<q4_1, array>, cache<float16, pages>>(seeds::dice_for("caches 6"));
}

TEST_CASE("random calls over caches are plain loops over their numbers: sequences one after another", "[spec]") {
    check_ragged<cache<bfloat16, array>, cache<q4_0, array>>(seeds::dice_for("caches 7"));
}

TEST_CASE("random calls over caches are plain loops over their numbers: running states", "[spec]") {
    check_state<cache<fp8_e5m2, pages>, cache<fp8_e4m3, array>>(seeds::dice_for("caches 8"));
}
