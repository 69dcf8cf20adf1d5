// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/simd/architecture.hpp>

#include <tuple>
#include <type_traits>

/// The architectures of tests on every width: vectors of the machine, and of 4, 8 and 16 floats whatever it has; the
/// width that it has itself is not emulated as well. In a change these are rows of the catalogue, and other tests take
/// the machine's.
#if defined(FOVEA_TEST_EMULATED) && FOVEA_TEST_LEVEL > 1
template <class... Emulated>
using beside_the_machine = decltype(std::tuple_cat(
    std::tuple<fovea::arch::best>{}, std::conditional_t<Emulated::vector_bytes == fovea::arch::best::vector_bytes,
                                                        std::tuple<>, std::tuple<Emulated>>{}...));
using lane_widths = beside_the_machine<fovea::arch::portable, fovea::arch::emulated<32>, fovea::arch::emulated<64, 32>>;
#else
using lane_widths = std::tuple<fovea::arch::best>;
#endif

/// f(architecture) for vectors of another width, where these are tested.
template <class Emulated>
void on_emulated([[maybe_unused]] auto const& f) {
#if defined(FOVEA_TEST_EMULATED) && FOVEA_TEST_LEVEL > 0
    f(Emulated{});
#endif
}
