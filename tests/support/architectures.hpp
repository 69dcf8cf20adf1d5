// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/simd/architecture.hpp>

#include <tuple>
#include <type_traits>

/// What is tested on every width: vectors of the machine, and of 4 and 16 floats whatever it has; the width that it
/// has itself is not emulated as well. Tests that are built for several instruction sets do the latter in one of them.
#ifdef FOVEA_TEST_EMULATED
template <class... Emulated>
using beside_the_machine = decltype(std::tuple_cat(
    std::tuple<fovea::arch::best>{}, std::conditional_t<Emulated::vector_bytes == fovea::arch::best::vector_bytes,
                                                        std::tuple<>, std::tuple<Emulated>>{}...));
// Vectors of 8 floats have the register tiles of vectors of 4: `./run test exhaustive` takes them too.
#ifdef FOVEA_TEST_EXHAUSTIVE
using lane_widths =
    beside_the_machine<fovea::arch::emulated<16>, fovea::arch::emulated<32>, fovea::arch::emulated<64, 32>>;
#else
using lane_widths = beside_the_machine<fovea::arch::emulated<16>, fovea::arch::emulated<64, 32>>;
#endif
#else
using lane_widths = std::tuple<fovea::arch::best>;
#endif

/// What differs from width to width no more than what is tested on each: the machine's own does, but for
/// `./run test exhaustive`.
#ifdef FOVEA_TEST_EXHAUSTIVE
using further_widths = lane_widths;
#else
using further_widths = std::tuple<fovea::arch::best>;
#endif

/// f(architecture) for vectors of another width, where these are tested.
template <class Emulated>
void on_emulated([[maybe_unused]] auto const& f) {
#ifdef FOVEA_TEST_EMULATED
    f(Emulated{});
#endif
}
