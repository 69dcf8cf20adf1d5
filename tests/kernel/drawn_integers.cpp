// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: alone
// Integers in lanes against plain ones of 64 bits, on expressions that the compiler draws: whatever is the same in all
// lanes and whatever differs from lane to lane, and however wide the numbers are.
#include <fovea/expr/bound.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/pairs.hpp>
#include <fovea/reference/environment.hpp>
#include <fovea/spec/call/wide_integers.hpp>

#include "catch.hpp"
#include "support/drawn.hpp"
#include "support/seeds.hpp"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

using drawn::next;
using drawn::pick;

/// The leaves of expressions beside names.
struct leaves {
    index_t a = 0, b = 0;
    std::vector<std::int64_t> times;     // for each position
    std::vector<std::int64_t> starts;    // for each element of the batch
    std::vector<std::int32_t> small;     // for each position
    std::vector<std::uint32_t> numbers;  // for each head
};

template <unsigned Seed, int Depth>
auto condition(leaves const& l);

template <unsigned Seed, int Depth>
auto integer(leaves const& l) {
    if constexpr (Depth <= 0) {
        constexpr unsigned which = pick(Seed, 11);
        if constexpr (which == 0) return q_idx;
        else if constexpr (which == 1) return kv_idx;
        else if constexpr (which == 2) return head;
        else if constexpr (which == 3) return param(l.times)[q_idx];
        else if constexpr (which == 4) return param(l.times)[kv_idx];
        else if constexpr (which == 5) return param(l.starts)[batch];
        else if constexpr (which == 6) return param(l.small)[kv_idx];
        else if constexpr (which == 7) return param(l.numbers)[head];
        else if constexpr (which == 8) return kv_idx - q_idx;
        else return literal<index_t>{which == 9 ? l.a : l.b};
    } else {
        auto const x = integer<next(Seed, 2), Depth - 1>(l);
        auto const y = integer<next(Seed, 3), Depth - 1>(l);
        constexpr unsigned which = pick(Seed, 14);
        if constexpr (which == 0) return x + y;
        else if constexpr (which == 1) return x - y;
        else if constexpr (which == 2) return x * y;
        else if constexpr (which == 3) return x / y;
        else if constexpr (which == 4) return x % y;
        else if constexpr (which == 5) return min(x, y);
        else if constexpr (which == 6) return max(-x, y);
        else if constexpr (which == 7) return abs(x) - square(y);
        else if constexpr (which == 8) return relu(x) + floor_div(y, 3);
        else return select(condition<next(Seed, 5), Depth - 1>(l), x, y);
    }
}

template <unsigned Seed, int Depth>
auto condition(leaves const& l) {
    auto const x = integer<next(Seed, 7), Depth>(l);
    auto const y = integer<next(Seed, 8), Depth - 1>(l);
    constexpr unsigned which = pick(Seed, 7);
    if constexpr (which == 0) return x < y;
    else if constexpr (which == 1) return x <= y;
    else if constexpr (which == 2) return x == y;
    else if constexpr (which == 3) return x != y;
    else if constexpr (which == 4) return x > y;
    else if constexpr (which == 5) return x >= y && kv_idx != 3;
    else return !(x < y) || head == 1;
}

constexpr index_t heads = 3, positions_of_call = 96;

/// Numbers of any width: few bits, about 32, about 63.
leaves drawn_cotangents(testing::dice& random) {
    auto const number = [&] {
        constexpr int bits[] = {4, 7, 31, 32, 33, 61};
        index_t const most = index_t{1} << bits[random.between(0, 5)];
        return random.between(-most, most);
    };
    leaves l{number(), number(), {}, {}, {}, {}};
    for (index_t i = 0; i < positions_of_call; ++i) {
        l.times.push_back(number());
        l.small.push_back(static_cast<std::int32_t>(number()));
    }
    for (int i = 0; i < 2; ++i) l.starts.push_back(number());
    for (index_t i = 0; i < heads; ++i) l.numbers.push_back(static_cast<std::uint32_t>(number()));
    return l;
}

struct place {
    index_t batch, head, query, key;
};

auto plain(auto const& e, place const& at) {
    return evaluate(e, reference::index_environment<double>{
                           {}, at.batch, at.head, at.query, at.key, positions_of_call, positions_of_call, 8, 0});
}

/// The ranges of one pair: whether 32 bits suffice for it.
struct one_pair {
    using arithmetic = fovea::detail::interval_arithmetic<float>;
    place at;
    interval<index_t> operator()(auto name) const { return plain(name, at); }
    template <class T, int Rank>
    auto lookup(view<T const, Rank> const& table, interval<index_t> index) const {
        return interval<index_t>(static_cast<index_t>(table(index.lo)));
    }
};

/// Each lane of integers, or of a mask, of whatever kind.
template <class T, class Arch, class X>
auto lanes_of_value(X const& x) {
    if constexpr (std::is_same_v<X, bool> || std::is_same_v<X, kernel::lane_mask<T, Arch>>) {
        using pack = kernel::pack<T, Arch>;
        auto const mask = kernel::lane_mask<T, Arch>::all() && x;
        return kernel::lanes_of<T, Arch>::to_array(select(mask, pack(T{1}), pack(T{0})));
    } else {
        return kernel::wide_pack<T, Arch>(x).lane;
    }
}

int compared = 0, narrow = 0;

/// The value of an expression in lanes where integers are narrow, and where they are exact, against that of each pair.
template <class T, class Arch, class E, class Names>
void check(E const& e, Names const& names, auto const& place_of) {
    constexpr index_t lanes = kernel::pack<T, Arch>::lanes;
    bool fits = true;
    for (index_t i = 0; i < lanes; ++i) fits = fits && fits_32_bits(e, one_pair{place_of(i)});
    auto const compare = [&](auto const& value) {
        auto const got = lanes_of_value<T, Arch>(value);
        for (index_t i = 0; i < lanes; ++i) {
            auto const at = place_of(i);
            auto const want = plain(e, at);
            if (static_cast<index_t>(got[static_cast<std::size_t>(i)]) != static_cast<index_t>(want)) {
                INFO(print(e) << " at query " << at.query << ", key " << at.key << ", head " << at.head);
                CHECK(static_cast<index_t>(got[static_cast<std::size_t>(i)]) == static_cast<index_t>(want));
            }
        }
        ++compared;
    };
    compare(kernel::evaluate_in_lanes<T, Arch, true>(e, names));
    if (fits || sizeof(T) == 8) {
        compare(kernel::evaluate_in_lanes<T, Arch, false>(e, names));
        ++narrow;
    }
    if constexpr (is_whole_number<E>) {  // and as reals, each rounded once
        auto const reals = kernel::lanes_of<T, Arch>::to_array(
            kernel::as_pack<T, Arch>(kernel::evaluate_in_lanes<T, Arch, true>(e, names)));
        for (index_t i = 0; i < lanes; ++i)
            if (reals[static_cast<std::size_t>(i)] != static_cast<T>(plain(e, place_of(i)))) {
                INFO(print(e));
                CHECK(reals[static_cast<std::size_t>(i)] == static_cast<T>(plain(e, place_of(i))));
            }
    }
}

/// Keys in lanes, queries in lanes, queries of several heads in lanes, and listed keys with their heads in lanes.
template <class T, class Arch, class E>
void check_lanes(E const& e, testing::dice& random) {
    constexpr index_t lanes = kernel::pack<T, Arch>::lanes;
    using integer_type = kernel::integer_like<T>;
    place const at{random.between(0, 1), random.between(0, 2), random.between(0, 63), random.between(0, 63)};
    kernel::row_coordinates row;
    row.batch = at.batch, row.head = at.head, row.q_idx = at.query, row.dim = 8;
    row.q_len = row.kv_len = positions_of_call;

    using keys = kernel::positions<T, Arch>;
    check<T, Arch>(e, kernel::index_environment<T, Arch, keys>{row, keys{at.key}, 0},
                   [&](index_t lane) { return place{at.batch, at.head, at.query, at.key + lane}; });
    using neighbours = kernel::neighbouring_queries<T, Arch>;
    check<T, Arch>(e, kernel::score_environment<T, Arch, index_t, neighbours>{{row, at.key}, {}},
                   [&](index_t lane) { return place{at.batch, at.head, at.query + lane, at.key}; });
    integer_type queries[static_cast<std::size_t>(lanes)], head_of[static_cast<std::size_t>(lanes)];
    for (index_t i = 0; i < lanes; ++i)
        queries[i] = static_cast<integer_type>(random.between(0, 63)),
        head_of[i] = static_cast<integer_type>(random.between(0, 2));
    using of_heads = kernel::queries_of_heads<T, Arch>;
    check<T, Arch>(
        e, kernel::score_environment<T, Arch, index_t, of_heads>{{row, at.key}, {queries, head_of}}, [&](index_t lane) {
            return place{at.batch, static_cast<index_t>(head_of[lane]), static_cast<index_t>(queries[lane]), at.key};
        });
    kernel::head_lanes const layout(heads - 1);
    std::array<std::int32_t, 16> list;
    for (auto& key : list) key = static_cast<std::int32_t>(random.between(0, 63));
    kernel::pack<T, Arch> const parts[1]{};
    check<T, Arch>(e, kernel::pair_environment<T, Arch, 1>{{row}, list.data(), 16, layout, 0, parts, 0, 0, nullptr, 0},
                   [&](index_t lane) {
                       return place{at.batch, layout.head(lane), at.query,
                                    list[static_cast<std::size_t>(layout.key(lane))]};
                   });
}

/// How many integers, and as many conditions, the compiler draws: each costs it two seconds.
#if FOVEA_TEST_LEVEL > 1
constexpr unsigned expressions = 20;
#else
constexpr unsigned expressions = 5;
#endif

template <unsigned Seed>
void check_drawn(testing::dice& random) {
    for (int trial = 0; trial < 12; ++trial) {
        auto const l = drawn_cotangents(random);
        auto const every = [&](auto const& e) {
            check_lanes<float, arch::best>(e, random);
            check_lanes<double, arch::best>(e, random);
        };
        every(integer<next(Seed, 77), 2>(l));
        every(condition<next(Seed, 78), 1>(l));
    }
}

}  // namespace

TEST_CASE("integers in lanes are those of 64 bits, whatever is the same in all lanes", "[kernel]") {
    INFO(seeds::how_to_repeat());
    auto random = seeds::dice_for("integers in lanes");
    [&]<unsigned... Seed>(std::integer_sequence<unsigned, Seed...>) {
        (check_drawn<Seed>(random), ...);
    }(std::make_integer_sequence<unsigned, expressions>{});
    CHECK(compared > 1000);
    CHECK(narrow > 100);
}

TEST_CASE("a choice between two numbers keeps their 64 bits wherever it stands", "[kernel]") {
    std::vector<std::int64_t> const starts{5'000'000'000, -7};
    auto const choice = select(kv_idx > q_idx, index_t{1} << 33, 7);
    auto const table_or_number = select(kv_idx % 2 == 0, param(starts)[batch] - 5'000'000, param(starts)[batch]);
    testing::dice random(1);
    for (int trial = 0; trial < 20; ++trial) {
        auto const every = [&](auto const&... e) {
            (check_lanes<float, arch::best>(e, random), ...);
            (check_lanes<float, arch::portable>(e, random), ...);
        };
        every(choice, choice + choice, -choice, abs(choice), square(choice), choice * kv_idx, choice / 3, choice % 1000,
              min(choice, 100), choice <= 100, choice == index_t{1} << 33, table_or_number, table_or_number + choice,
              select(head == 1, choice, table_or_number), relu(choice) - kv_idx);
    }
}
