// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/sentence.hpp"

#include "bench/yardstick/random.hpp"

#include <cmath>
#include <numbers>

namespace sentence {
namespace {

using fovea::index_t;

enum meaning { article, animal, thing, place, posture, state, reason, pronoun };

struct token {
    char const* word;
    std::vector<std::pair<meaning, float>> blend;
};

std::vector<token> const lexicon{
    {"The", {{article, 3.2f}}},
    {"cat", {{animal, 3.6f}}},
    {"sat", {{posture, 3.4f}, {animal, 0.5f}}},
    {"on", {{place, 2.2f}, {posture, 1.0f}}},
    {"the", {{article, 3.2f}, {thing, 0.4f}}},
    {"mat", {{thing, 2.8f}, {place, 2.2f}}},
    {"because", {{reason, 3.4f}}},
    {"it", {{pronoun, 3.2f}, {animal, 1.6f}}},
    {"was", {{state, 1.8f}, {reason, 0.8f}}},
    {"tired", {{state, 3.2f}, {animal, 0.7f}}},
};

struct wish {
    meaning from, to;
    float strength;
};

std::vector<wish> const wishes{
    {article, animal, 1.5f}, {article, thing, 1.7f}, {article, article, 0.9f}, {animal, animal, 1.6f},
    {animal, posture, 1.3f}, {thing, place, 1.5f},   {thing, thing, 0.9f},     {place, thing, 1.6f},
    {place, posture, 1.2f},  {posture, place, 1.3f}, {posture, animal, 1.8f},  {state, animal, 1.9f},
    {state, state, 1.7f},    {reason, state, 1.9f},  {reason, posture, 1.3f},  {pronoun, animal, 2.6f},
};

/// Component c of a meaning's direction: a row of the cosine transform, so that meanings are orthonormal.
float direction(meaning m, index_t c) {
    auto const size = static_cast<double>(features);
    return static_cast<float>(std::sqrt(2 / size) *
                              std::cos(std::numbers::pi * (m + 1) * (static_cast<double>(c) + 0.5) / size));
}

}  // namespace

std::vector<std::string> const& tokens() {
    static std::vector<std::string> const words = [] {
        std::vector<std::string> result;
        for (auto const& entry : lexicon) result.emplace_back(entry.word);
        return result;
    }();
    return words;
}

fovea::tensor<float, 3> embeddings() {
    auto const count = static_cast<index_t>(lexicon.size());
    auto result = yardstick::random_tensor<float, 3>({1, count, features}, 11, 0.12);
    for (index_t i = 0; i < count; ++i)
        for (auto const& [meaning, amount] : lexicon[static_cast<std::size_t>(i)].blend)
            for (index_t c = 0; c < features; ++c) result(0, i, c) += amount * direction(meaning, c);
    return result;
}

fovea::tensor<float, 2> query_projection() {
    fovea::tensor<float, 2> result({features, features});
    for (auto const& [from, to, strength] : wishes)
        for (index_t r = 0; r < features; ++r)
            for (index_t c = 0; c < features; ++c) result(r, c) += strength * direction(from, r) * direction(to, c);
    return result;
}

}  // namespace sentence
