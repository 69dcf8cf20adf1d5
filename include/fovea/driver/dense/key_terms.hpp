// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Terms of a score that depend on the key alone, computed for a block of keys.
#pragma once

#include <fovea/driver/all_finite.hpp>
#include <fovea/kernel/environment.hpp>
#include <fovea/plan/lower.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// A term that reads no features, for some keys: whole vectors, of which the last may pass the last key.
template <class T, class Arch, class Expression>
void compute_position_term(Expression const& term, kernel::row_facts const& row, row_range const& at, T* to) {
    using positions = kernel::positions<T, Arch>;
    constexpr index_t lanes = kernel::pack<T, Arch>::lanes;
    for (index_t k = 0; k < at.last - at.first; k += lanes) {
        kernel::index_environment<T, Arch, positions> const here{row, positions{at.first + k}};
        kernel::value_in_lanes<T, Arch>(term, here).store(to + k);
    }
}

/// The terms of a score that depend on the key alone, for some keys: (terms, stride). `row` holds the indices that
/// are the same for all keys, `loaded` is memory for rows that are loaded.
template <class T, class Arch, class Terms, class Keys>
void compute_key_terms(Terms const& terms, kernel::row_facts const& row, Keys const& keys, row_range const& at,
                       T* loaded, T* to, index_t stride) {
    plan::for_each_part(terms, [&](auto const& term) {
        if constexpr (uses<std::remove_cvref_t<decltype(term.expression)>, k_t>)
            for_runs(keys, at, loaded, [&](auto const& run, index_t offset, auto const&) {
                using element = std::remove_cvref_t<decltype(*run.first)>;
                for (index_t r = 0; r < run.count; ++r) {
                    element const* const features = run.first + r * run.stride;
                    kernel::single_environment<T, Arch, element, element> const here{
                        {row, at.first + offset + r}, features, features, keys.extent(3), keys.extent(3)};
                    to[offset + r] = static_cast<T>(evaluate(term.expression, here));
                }
            });
        else compute_position_term<T, Arch>(term.expression, row, at, to);
        to += stride;
    });
}

/// The index terms of some keys: (terms, stride), where keys after the last repeat it. `row` holds the indices
/// that are the same for all keys.
template <class T, class Arch, class Terms, class Integer>
void compute_index_terms(Terms const& terms, kernel::row_facts const& row, index_t first, index_t last, Integer* to,
                         index_t stride) {
    plan::for_each_part(terms, [&](auto const& term) {
        for (index_t k = 0; k < stride; ++k) {
            kernel::index_environment<T, Arch, index_t> const here{row, std::min(first + k, last - 1)};
            to[k] = static_cast<Integer>(evaluate(term, here));
        }
        to += stride;
    });
}

}  // namespace fovea::FOVEA_SET::driver
