// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: std::vector<bool> has bits and no elements that a view could show: use std::vector<std::uint8_t>
// or tensor<bool, 1>
#include <fovea/mask/mask_tensor.hpp>

#include <cstdint>
#include <vector>

using namespace fovea;

auto mask_of(std::vector<bool> const& bits, std::vector<std::uint8_t> const& bytes) {
#ifdef FOVEA_BROKEN
    static_cast<void>(bytes);
    return mask_tensor(bits);
#else
    static_cast<void>(bits);
    return mask_tensor(bytes);
#endif
}
