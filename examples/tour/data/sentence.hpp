// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/tensor.hpp>

#include <string>
#include <vector>

/// sentence: ten tokens with embeddings made of meanings, and a projection that knows what each meaning looks for.
///
/// A meaning is a direction in the space of features; an embedding is a blend of a few of them plus a little noise.
/// The W_q that training would find, put there by hand: a pronoun and a state look for an animal, a posture looks
/// for an animal and a place, and so on. Deterministic.
namespace sentence {

inline constexpr fovea::index_t features = 64;

std::vector<std::string> const& tokens();

/// (batch 1, token, feature)
fovea::tensor<float, 3> embeddings();

/// W_q, (feature, feature): from what a token is to what it looks for.
fovea::tensor<float, 2> query_projection();

}  // namespace sentence
