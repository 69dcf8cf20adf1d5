// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Laws and the random numbers they draw: a law that does not hold throws, so that it works in any test framework.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/tensor.hpp>

#include <array>
#include <cstdint>
#include <random>
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
    if (!holds) raise_error(law_broken(std::string(sentence) + ": " + seen()));
}

/// Numbers for tests: the same on every platform for the same seed.
class dice {
public:
    explicit dice(unsigned seed) : engine_(seed) {}

    /// An integer from `low` to `high`, ends included.
    index_t between(index_t low, index_t high) {
        return low + static_cast<index_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
    }
    /// A real from `low` to `high`.
    double real(double low, double high) {
        return low + (high - low) * (static_cast<double>(engine_() >> 11) * 0x1p-53);
    }
    bool chance(double probability) { return real(0, 1) < probability; }

private:
    std::mt19937_64 engine_;
};

/// random_tensor: elements between -size and size.
template <class T, std::size_t Rank>
tensor<T, static_cast<int>(Rank)> random_tensor(dice& from, std::array<index_t, Rank> extents, double size = 1) {
    tensor<T, static_cast<int>(Rank)> result(extents);
    for (auto& x : result) x = static_cast<T>(from.real(-size, size));
    return result;
}

}  // namespace fovea::FOVEA_SET::testing
