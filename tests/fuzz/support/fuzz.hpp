// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

/// The function that libFuzzer calls with each input, and support/main.cpp where there is no libFuzzer.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

namespace fuzz {

/// An input has shown that a property does not hold. Nobody catches it but support/main.cpp, so that it ends the
/// program.
struct found : std::logic_error {
    using std::logic_error::logic_error;
};

/// Throws `found` with a sentence.
[[noreturn]] void finding(std::string const& what);

/// Whether the views of each call are printed before it: --show of support/main.cpp.
inline bool shows = false;

/// Counts what the inputs led to, by name; printed at the end, so that a target that tests nothing is seen.
void count(char const* name);

}  // namespace fuzz
