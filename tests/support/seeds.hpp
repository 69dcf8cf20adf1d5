// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Seeds of random tests: new ones in every run, printed, and given back through the environment.
#pragma once

#include <fovea/testing/random.hpp>

#include "catch.hpp"

#ifdef __linux__
#include <unistd.h>
#endif

#include <array>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace seeds {

/// A number from the environment, where it is set.
inline std::optional<unsigned> given(char const* variable) {
    char const* const text = std::getenv(variable);
    if (text == nullptr || *text == '\0') return std::nullopt;
    return static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

/// The seed of this run: FOVEA_SEED, or a new one; printed where it is first asked for.
inline unsigned of_run() {
    static unsigned const seed = [] {
        auto const chosen = given("FOVEA_SEED");
        unsigned const s = chosen ? *chosen : std::random_device{}();
        std::cout << "random tests: seed " << s << (chosen ? " (given by FOVEA_SEED)" : "") << std::endl;
        return s;
    }();
    return seed;
}

/// Dice for one part of a run, named by a text: parts do not depend on what else runs, or in which order.
inline fovea::testing::dice dice_for(std::string_view part, unsigned number = 0) {
    std::uint64_t hash = 14695981039346656037U;  // FNV-1a
    auto const mix = [&hash](std::uint64_t byte) { hash = (hash ^ byte) * 1099511628211U; };
    for (char const c : part) mix(static_cast<unsigned char>(c));
    for (int shift = 0; shift < 32; shift += 8) mix(of_run() >> shift & 0xff), mix(number >> shift & 0xff);
    return fovea::testing::dice(static_cast<unsigned>(hash ^ hash >> 32));
}

/// The command that runs the current test case with the seed of this run again; `more` stands before the program.
inline std::string how_to_repeat(std::string const& more = "") {
    std::array<char, 4096> program{'P', 'R', 'O', 'G', 'R', 'A', 'M'};
#ifdef __linux__
    if (auto const size = readlink("/proc/self/exe", program.data(), program.size() - 1); size > 0)
        program[static_cast<std::size_t>(size)] = '\0';
#endif
    return "repeat: FOVEA_SEED=" + std::to_string(of_run()) + " " + more + program.data() + " '"
         + Catch::getResultCapture().getCurrentTestName() + "'";
}

}  // namespace seeds
