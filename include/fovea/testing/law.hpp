// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the laws report: they throw, so that they work in any test framework and in none.
#pragma once

#include <fovea/core/config.hpp>

#include <stdexcept>
#include <string>

namespace fovea::FOVEA_SET::testing {

/// A law does not hold; the message says which one, and where.
struct law_broken : std::logic_error {
    using std::logic_error::logic_error;
};

/// law: goes on where `holds`, and says what was expected and seen elsewhere. `seen()` makes the text.
template <class Seen>
void law(bool holds, char const* sentence, Seen const& seen) {
    if (!holds) throw law_broken(std::string(sentence) + ": " + seen());
}

}  // namespace fovea::FOVEA_SET::testing
