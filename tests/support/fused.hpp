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

/// Fused loops against the definition: at every odd size, or thrice at one size, for specifications whose tables or
/// matrices allow no other.
template <class T, class Architectures = std::tuple<fovea::arch::best>, class Spec, class... Sizes>
void check_fused(Spec const& spec, Sizes const&... sizes) {
    fused_on<Architectures> engine;
    for (; engine.chosen < static_cast<int>(std::tuple_size_v<Architectures>); ++engine.chosen) {
        CAPTURE(engine.chosen);
        if constexpr (sizeof...(Sizes) == 0) CHECK_NOTHROW(fovea::testing::compare_with_reference<T>(engine, spec));
        else
            for (unsigned seed = 1; seed <= 3; ++seed)
                CHECK_NOTHROW(fovea::testing::compare_with_reference<T>(engine, spec, sizes..., seed));
    }
}

/// The same for vectors of every width.
template <class T, class Spec, class... Sizes>
void check_fused_at_all_widths(Spec const& spec, Sizes const&... sizes) {
    check_fused<T, lane_widths>(spec, sizes...);
}
