// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/diagnose.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// The parts of an attention, in the order in which data flows through them and in which they are written.
enum class role { projection, score, rescoring, mask, selection, normalizer, reweighting, aggregator, finish };

constexpr std::string_view name_of(role r) {
    constexpr std::string_view names[] = {"projection", "score function", "rescoring",  "mask",  "selection",
                                          "normalizer", "reweighting",    "aggregator", "finish"};
    return names[static_cast<int>(r)];
}

/// stage: the empty base of every word; it says which part of an attention the word is.
template <role Role>
struct stage {
    static constexpr role stage_role = Role;

    /// Words without arguments are values: softmax, not softmax().
    template <class... Numbers>
        requires(std::is_arithmetic_v<Numbers> && ...)
    constexpr ill_formed operator()(Numbers...) const {
        static_assert(never<Numbers...>, "fovea: this word takes no arguments: write it without parentheses");
        return {};
    }
};

template <class S>
concept attention_stage = requires {
    { S::stage_role } -> std::convertible_to<role>;
};

template <class S, role Role>
concept stage_of = attention_stage<S> && (S::stage_role == Role);

/// A word as the user writes it: its text() where it has run-time parts, its name otherwise.
template <attention_stage S>
std::string describe(S const& s) {
    if constexpr (requires { s.text(); }) return s.text();
    else return std::string(S::name);
}

}  // namespace fovea::FOVEA_SET
