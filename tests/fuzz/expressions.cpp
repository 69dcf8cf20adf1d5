// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expressions of the language, in numbers, in lanes and in intervals, against a second meaning in 128 bits and long
// double. Integers are exact: what needs more than 64 bits is left out and counted.
#include <fovea/expr/bound.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/kernel/environment.hpp>
#include <fovea/reference/environment.hpp>
#include <fovea/simd/architecture.hpp>

#include "expressions/exact.hpp"
#include "expressions/shapes.hpp"
#include "support/bytes.hpp"
#include "support/fuzz.hpp"

#include <string>
#include <utility>
#include <vector>

namespace {

using namespace fovea;
using fuzz::exact::evaluator;
using fuzz::exact::place;
using fuzz::exact::value;

fuzz::leaves leaves_of(fuzz::bytes& in) {
    fuzz::leaves l;
    l.a = in.integer(), l.b = in.integer(), l.c = in.integer();
    auto const real = [&] {
        auto const scale = in.below(8);
        return static_cast<double>(in.integer() % 4096) * (scale == 7 ? 64.0 : 1.0 / (1 << scale));
    };
    l.x = real(), l.y = real();
    for (std::size_t i = 0; i < fuzz::table_size; ++i) {
        l.ids[i] = in.integer();
        l.small[i] = static_cast<std::int32_t>(in.integer());
        l.words[i] = in.one_in(2) ? static_cast<std::uint32_t>(l.ids[i]) : in.word();
        l.bytes[i] = in.byte();
        l.singles[i] = static_cast<float>(l.small[i] % 256) / 16;
        l.doubles[i] = static_cast<double>(l.small[i] % 4096) / 64;
        l.marks[i] = l.bytes[i] % 2 == 1;
    }
    return l;
}

place place_of(fuzz::bytes& in) {
    auto const position = [&] { return in.one_in(4) ? in.integer() & ((index_t{1} << 40) - 1) : in.between(0, 40); };
    place at{in.between(0, 3), in.between(0, 3), position(), position(), 0, 0};
    at.q_len = at.q_idx + 1 + in.between(0, 40);
    at.kv_len = at.kv_idx + 64 + in.between(0, 40);
    return at;
}

std::string text(value const& v) {
    if (v.kind == value::condition) return v.holds ? "true" : "false";
    if (v.kind == value::whole) return std::to_string(static_cast<std::int64_t>(v.integer));
    return std::to_string(v.x) + " (within " + std::to_string(v.error) + ")";
}

/// Whether a number of any kind is the value, up to the error that its arithmetic may make.
template <class X>
bool is(value const& v, X const& x) {
    if constexpr (std::is_same_v<X, bool>) return v.kind == value::condition && v.holds == x;
    else if constexpr (std::is_integral_v<X>) return v.kind == value::whole && v.integer == x;
    else if (v.kind == value::whole) return std::abs(static_cast<long double>(v.integer) - x) <= 4 * v.error;
    else return v.kind == value::number && std::abs(v.x - static_cast<long double>(x)) <= 4 * v.error;
}

template <class E>
[[noreturn]] void differs(char const* who, E const& e, place const& at, value const& want, std::string const& got) {
    fuzz::finding(std::string(who) + ": " + print(e) + " is " + got + " and should be " + text(want) + "; q_idx "
                  + std::to_string(at.q_idx) + ", kv_idx " + std::to_string(at.kv_idx));
}

template <class E>
void check_number(E const& e, place const& at) {
    evaluator wanted(at, 0x1p-53L);
    auto const want = wanted(e);
    if (wanted.seen.overflows || wanted.seen.undefined || wanted.seen.unsure) {
        fuzz::count(wanted.seen.overflows   ? "numbers left out: 64 bits are too few"
                    : wanted.seen.undefined ? "numbers left out: undefined"
                                            : "numbers left out: rounding decides");
        return;
    }
    reference::index_environment<double> const names{{},       at.batch,  at.head, at.q_idx, at.kv_idx,
                                                     at.q_len, at.kv_len, 16,      0};
    auto const got = evaluate(e, names);
    if (!is(want, got)) differs("in numbers", e, at, want, std::to_string(got));
    fuzz::count("numbers compared");
}

/// The lanes of whatever the kernels compute with.
template <class T, class Arch, class X>
auto lanes_of_value(X const& x) {
    constexpr auto count = static_cast<std::size_t>(kernel::pack<T, Arch>::lanes);
    if constexpr (std::is_arithmetic_v<X>) {
        std::array<X, count> same;
        same.fill(x);
        return same;
    } else if constexpr (std::is_same_v<X, kernel::pack<T, Arch>>) {
        return kernel::lanes_of<T, Arch>::to_array(x);
    } else if constexpr (std::is_same_v<X, kernel::lane_mask<T, Arch>>) {
        using pack = kernel::pack<T, Arch>;
        auto const ones = kernel::lanes_of<T, Arch>::to_array(select(x, pack(T{1}), pack(T{0})));
        std::array<bool, count> set;
        for (std::size_t i = 0; i < count; ++i) set[i] = ones[i] == T{1};
        return set;
    } else if constexpr (requires { x.array(); }) {
        return x.array();
    } else {
        return x.to_integers().array();
    }
}

template <class T, class Arch, class E, class Got>
void compare_lanes(char const* who, E const& e, place at, std::vector<value> const& want, Got const& got) {
    auto const lanes = lanes_of_value<T, Arch>(got);
    for (std::size_t i = 0; i < want.size(); ++i) {
        auto here = at;
        here.kv_idx += static_cast<index_t>(i);
        using lane = std::remove_cvref_t<decltype(lanes[i])>;
        bool right;
        if constexpr (std::is_integral_v<lane> && !std::is_same_v<lane, bool>)
            right = want[i].kind == value::whole && want[i].integer == lanes[i];
        else right = is(want[i], lanes[i]);
        if (!right) differs(who, e, here, want[i], std::to_string(lanes[i]));
    }
    fuzz::count(who);
}

template <class T, class Arch, class E>
void check_lanes(char const* who, E const& e, place const& at) {
    std::vector<value> want;
    bool is_wide = false;
    for (index_t lane = 0; lane < kernel::pack<T, Arch>::lanes; ++lane) {
        auto here = at;
        here.kv_idx += lane;
        evaluator wanted(here, sizeof(T) == 4 ? 0x1p-24L : 0x1p-53L);
        want.push_back(wanted(e));
        if (wanted.seen.overflows || wanted.seen.undefined || wanted.seen.unsure) return;
        is_wide = is_wide || wanted.seen.is_wide;
    }
    kernel::row_coordinates row;
    row.batch = at.batch, row.head = at.head, row.q_idx = at.q_idx, row.q_len = at.q_len, row.kv_len = at.kv_len;
    row.dim = 16;
    using keys = kernel::positions<T, Arch>;
    using names_type = kernel::index_environment<T, Arch, keys>;
    names_type const names{row, keys{at.kv_idx}, 0};
    // Where the kernels have integers of 64 bits beside their own, those hold everything, and their own what fits.
    if constexpr (requires { evaluate_in_lanes<T, Arch, true>(e, names); }) {
        compare_lanes<T, Arch>(who, e, at, want, evaluate_in_lanes<T, Arch, true>(e, names));
        if (is_wide && sizeof(T) == 4) return;
    }
    compare_lanes<T, Arch>(who, e, at, want, evaluate_in_lanes<T, Arch, false>(e, names));
}

template <class E>
void check_bounds(E const& e, place const& at, fuzz::bytes& in) {
    auto const around = [&](index_t x, index_t last) {
        auto const below = in.one_in(4) ? std::abs(in.integer() / 2) : in.between(0, 20);
        auto const above = in.one_in(4) ? std::abs(in.integer() / 2) : in.between(0, 20);
        return interval<index_t>{std::max<index_t>(x - std::min(below, x), 0), x + std::min(above, last - x)};
    };
    box const where{around(at.batch, 7),
                    around(at.head, 7),
                    around(at.q_idx, at.q_len - 1),
                    around(at.kv_idx, at.kv_len - 1),
                    at.q_len,
                    at.kv_len,
                    16};
    evaluator wanted(at, 0x1p-53L);
    auto const want = wanted(e);
    if (wanted.seen.overflows || wanted.seen.undefined || wanted.seen.unsure) return;
    auto const said = bound(e, where);
    if constexpr (std::is_same_v<std::remove_const_t<decltype(said)>, truth>) {
        if (!(want.holds ? said.may_hold : said.may_fail)) differs("an interval", e, at, want, "impossible");
    } else {
        auto const value_of = want.kind == value::whole ? static_cast<long double>(want.integer) : want.x;
        auto const slack = want.kind == value::whole ? 0 : 4 * want.error;
        if (!(said.lo - slack <= value_of && value_of <= said.hi + slack))
            differs("an interval", e, at, want, "in " + std::to_string(said.lo) + " ... " + std::to_string(said.hi));
    }
    fuzz::count("values in intervals");
}

template <std::size_t... I>
void check_all(fuzz::leaves const& l, std::size_t number, place const& at, fuzz::bytes& in, std::index_sequence<I...>) {
    auto const all = fuzz::shapes(l);
    auto const check = [&](auto const& e) {
        check_number(e, at);
        check_lanes<float, arch::best>("vectors of floats compared", e, at);
        check_lanes<double, arch::best>("vectors of doubles compared", e, at);
        check_bounds(e, at, in);
    };
    (void)((I == number ? (check(std::get<I>(all)), true) : false) || ...);
}

}  // namespace

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::bytes in({data, size});
    constexpr auto count = std::tuple_size_v<decltype(fuzz::shapes(std::declval<fuzz::leaves const&>()))>;
    auto const number = in.byte() % count;
    auto const at = place_of(in);
    auto const l = leaves_of(in);
    check_all(l, number, at, in, std::make_index_sequence<count>{});
    return 0;
}
