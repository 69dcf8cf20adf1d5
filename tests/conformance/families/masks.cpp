// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "masks.hpp"

#include <optional>

namespace conformance {

verdicts verdicts_of_mask(test_case const& subject, fovea::extents_t<4> const& pairs) {
    std::optional<verdicts> answers;
    with_mask(subject, pairs, [&]<class Mask>(Mask const& mask) {
        if constexpr (std::is_same_v<Mask, no_mask>) answers.emplace(fovea::everything, pairs);
        else answers.emplace(mask, pairs);
    });
    return answers.value();
}

}  // namespace conformance
