// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectors whose lanes fall into groups of equal size, a power of two: kernel/arch/ holds what an architecture does
// better.
#pragma once

#include <fovea/kernel/positions.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

template <class T, class Arch>
struct generic_groups {
    using vector = pack<T, Arch>;
    using lanes = lanes_of<T, Arch>;
    static constexpr index_t count = vector::lanes;
    static constexpr auto size = static_cast<std::size_t>(count);

    /// The sums of groups of as many lanes as there are vectors: first the groups of the first vector, and so on.
    template <std::size_t Group>
    FOVEA_INLINE static vector sums(vector (&parts)[Group]) {
        if constexpr (Group == size) {
            lanes::transpose(parts);
            for (std::size_t step = size / 2; step > 0; step /= 2)
                for (std::size_t i = 0; i < step; ++i) parts[i] = parts[i] + parts[i + step];
            return parts[0];
        } else {
            alignas(64) std::array<T, Group * size> all;
            for (std::size_t i = 0; i < Group; ++i) parts[i].store(all.data() + i * size);
            for (std::size_t step = Group / 2; step > 0; step /= 2)
                for (std::size_t i = 0; i < size; ++i)
                    for (std::size_t j = 0; j < step; ++j) all[i * Group + j] += all[i * Group + j + step];
            for (std::size_t i = 0; i < size; ++i) all[i] = all[i * Group];
            return vector::load(all.data());
        }
    }

    /// Each lane takes the value of another, or of itself.
    FOVEA_INLINE static vector permuted(vector const& a, index_pack<T, Arch> const& from) {
        auto const elements = lanes::stored(a);
        auto const at = from.array();
        alignas(64) typename lanes::array picked;
        for (std::size_t i = 0; i < size; ++i) picked[i] = elements[static_cast<std::size_t>(at[i])];
        return vector::load(picked.data());
    }

    /// Lane l takes the value of lane (l + n) mod lanes; n is less than the number of lanes.
    FOVEA_INLINE static vector rotated(vector const& a, index_t n) {
        auto const elements = lanes::stored(a);
        alignas(64) typename lanes::array turned;
        for (std::size_t i = 0; i < size; ++i) turned[i] = elements[(i + static_cast<std::size_t>(n)) % size];
        return vector::load(turned.data());
    }

    /// n elements, n a power of two, over and over; as many as there are lanes where n is not less.
    FOVEA_INLINE static vector repeated(T const* from, index_t n) {
        if (n >= count) return vector::load(from);
        alignas(64) typename lanes::array all;
        for (index_t i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = from[i & (n - 1)];
        return vector::load(all.data());
    }

    /// n elements, n a power of two, of each of as many places as fill a vector: place(0), place(1), ...
    template <class Place>
    FOVEA_INLINE static vector gathered(Place const& place, index_t n) {
        if (n >= count) return vector::load(place(0));
        alignas(64) typename lanes::array all;
        for (index_t i = 0; i < count; i += n) {
            T const* const from = place(i / n);
            for (index_t j = 0; j < n; ++j) all[static_cast<std::size_t>(i + j)] = from[j];
        }
        return vector::load(all.data());
    }
};

template <class T, class Arch>
struct groups_of : generic_groups<T, Arch> {};

/// f(l, shift) of each lane l of one vector, from a table over all shifts.
template <class T, class Arch, class F>
FOVEA_INLINE index_pack<T, Arch> of_lanes(int shift, F) {
    using integers = index_pack<T, Arch>;
    constexpr int steps = std::countr_zero(static_cast<unsigned>(integers::lanes));
    alignas(64) static constexpr auto table = [] {
        std::array<typename integers::array_type, static_cast<std::size_t>(steps) + 1> all{};
        for (std::size_t s = 0; s < all.size(); ++s)
            for (std::size_t l = 0; l < all[s].size(); ++l)
                all[s][l] = static_cast<typename integers::whole>(F{}(l, s));
        return all;
    }();
    return integers::load(table[static_cast<std::size_t>(std::min(shift, steps))].data());
}

/// Lane l divided by 2^shift, for the lanes of one vector.
template <class T, class Arch>
FOVEA_INLINE index_pack<T, Arch> lanes_shifted(int shift) {
    return of_lanes<T, Arch>(shift, [](std::size_t lane, std::size_t s) { return lane >> s; });
}

/// Lane l modulo 2^shift.
template <class T, class Arch>
FOVEA_INLINE index_pack<T, Arch> lanes_masked(int shift) {
    return of_lanes<T, Arch>(shift, [](std::size_t lane, std::size_t s) { return lane & ((std::size_t{1} << s) - 1); });
}

}  // namespace fovea::FOVEA_SET::kernel

#include <fovea/kernel/arch/avx512_groups.hpp>
