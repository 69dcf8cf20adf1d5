// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/attend.hpp>
#include <fovea/testing/against_reference.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"

/// The fused loops as the comparison with the reference calls an engine, on one of some architectures: chosen at run
/// time, so that the reference is compiled once for all of them.
template <class Architectures>
struct fused_on;
template <class... Arch>
struct fused_on<std::tuple<Arch...>> {
    int chosen = 0;

    template <class... Arguments>
    void operator()(Arguments const&... arguments) const {
        int i = 0;
        (run<Arch>(i++ == chosen, arguments...), ...);
    }

private:
    template <class One, class... Arguments>
    static void run(bool is_chosen, Arguments const&... arguments) {
        fovea::workspace scratch;
        if (is_chosen) fovea::attend_on<One>(fovea::serial, scratch, arguments...);
    }
};

/// The result of one random call, with lse where there is one, against the definition; at night the weights as well,
/// which are a loop of their own to compile.
template <class T, class Engine, class Spec>
void compare_result(Engine const& engine, Spec const& spec, fovea::testing::call_sizes const& n, unsigned seed) {
#if FOVEA_TEST_LEVEL > 1
    fovea::testing::compare_with_reference<T>(engine, spec, n, seed);
#else
    namespace testing = fovea::testing;
    using exact = testing::detail::wider<T>;
    testing::dice from(seed);
    testing::detail::random_call<T, Spec> const call(spec, n, from);
    constexpr bool has_log_sum = fovea::log_sum_normalizer<decltype(normalizer_of(spec.normalize))>;
    fovea::extents_t<3> const rows{call.operands.batches(), call.operands.heads(), call.operands.queries()};
    fovea::tensor<exact, 4> expected(call.result);
    fovea::tensor<T, 4> plain(call.result);
    testing::scattered<T> got(from, call.result);
    auto const run = [&](auto const&... extra) {
        engine(spec, fovea::view<T const, 4>(call.q.elements), fovea::view<T const, 4>(call.k.elements),
               fovea::view<T const, 4>(call.v.elements), got.elements, extra...);
    };
    if constexpr (has_log_sum) {
        fovea::tensor<exact, 3> sums_expected(rows);
        fovea::tensor<T, 3> sums_plain(rows), sums(rows, testing::scattered<T>::gap());
        call.attend_plainly(exact{}, expected.view(), fovea::lse(sums_expected));
        call.attend_plainly(T{}, plain.view(), fovea::lse(sums_plain));
        run(fovea::lse(sums));
        testing::detail::check_result<T, 3>("lse", n, sums_expected, sums_plain, sums);
    } else {
        call.attend_plainly(exact{}, expected.view());
        call.attend_plainly(T{}, plain.view());
        run();
    }
    got.check_gaps();
    testing::detail::check_result<T>("result", n, expected.elements, plain.elements, got.collected());
#endif
}

/// Fused loops against the definition: at every odd size, twice each, or thrice at one size, for specifications whose
/// tables or matrices allow no other.
template <class T, class Architectures = std::tuple<fovea::arch::best>, class Spec, class... Sizes>
void check_fused(Spec const& spec, Sizes const&... sizes) {
    fused_on<Architectures> engine;
    for (; engine.chosen < static_cast<int>(std::tuple_size_v<Architectures>); ++engine.chosen) {
        CAPTURE(engine.chosen);
        unsigned seed = 1;
        if constexpr (sizeof...(Sizes) == 0) {
            for (auto const& n : fovea::testing::odd_sizes())
                for (int trial = 0; trial < 2; ++trial) CHECK_NOTHROW(compare_result<T>(engine, spec, n, seed++));
        } else {
            for (; seed <= 3; ++seed) CHECK_NOTHROW(compare_result<T>(engine, spec, sizes..., seed));
        }
    }
}

/// The same for vectors of every width.
template <class T, class Spec, class... Sizes>
void check_fused_at_all_widths(Spec const& spec, Sizes const&... sizes) {
    check_fused<T, lane_widths>(spec, sizes...);
}
