// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the derivative of an expression goes in the reference: to features, to a number, and to tables.
#pragma once

#include <fovea/expr/backpropagate.hpp>
#include <fovea/reference/environment.hpp>

#include <array>
#include <span>
#include <type_traits>

namespace fovea::FOVEA_SET::reference {

/// leaves: what `backpropagate` hands amounts to. A number stands for the score, the weight or the result.
template <class Real, class Sums>
struct cotangents {
    Sums& sums;
    std::span<Real> query{}, key{};  // their features
    Real* number = nullptr;

    template <class Environment, class Name>
    void name([[maybe_unused]] Environment const& at, Real amount, Name) const {
        if constexpr (std::is_same_v<Name, q_t>) query[at.first + at.feature] += amount;
        else if constexpr (std::is_same_v<Name, k_t>) key[at.first + at.feature] += amount;
        else *number += amount;
    }

    /// A table with one axis without an index is read at a feature.
    template <class Environment, class T, int Rank, class... Index>
    void table([[maybe_unused]] Environment const& at, Real amount, view<T const, Rank> const& read,
               Index... index) const {
        if constexpr (sizeof...(Index) == Rank) sums.add(read, {static_cast<index_t>(index)...}, amount);
        else sums.add(read, {static_cast<index_t>(index)..., static_cast<index_t>(at.feature)}, amount);
    }

    template <class Body, class Over>
    void sum(pair_environment<Real> const& at, Real amount, Body const& body, Over const& over) const {
        auto const [first, count] = over.of(std::ssize(at.query_features), std::ssize(at.key_features));
        feature_environment<Real> here{at, static_cast<std::size_t>(first)};
        for (; here.feature < static_cast<std::size_t>(count); ++here.feature) backpropagate(body, here, amount, *this);
    }
};

}  // namespace fovea::FOVEA_SET::reference
