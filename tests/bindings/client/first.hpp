// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <fovea/fovea.hpp>

inline constexpr auto first = fovea::scaled_dot | fovea::causal | fovea::softmax | fovea::weighted_sum;
