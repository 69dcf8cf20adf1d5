// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The features of one row as the functions of a row map see them.
#pragma once

#include <fovea/kernel/lookup.hpp>
#include <fovea/spec/feature_row.hpp>

namespace fovea::FOVEA_SET::kernel {

/// The features of one head at one position, a pack at a time.
template <class T, class Arch>
struct feature_row {
    using value_type = T;
    using vector = pack<T, Arch>;
    using lane_operations = lanes_of<T, Arch>;

    T* features;
    index_t count;

    index_t size() const { return count; }
    T& operator[](index_t i) const { return features[i]; }

    template <class F>
    T sum(F f) const {
        vector total(T{0});
        index_t c = 0;
        for (; c + vector::lanes <= count; c += vector::lanes) total = total + f(vector::load(features + c));
        if (c < count)
            total = total
                  + select(vector::iota() < vector(count - c),
                           vector(f(lane_operations::load(features + c, count - c))), vector(T{0}));
        return lane_operations::sum(total);
    }

    template <class F>
    void map(F f) const {
        for_packs(count, [&](index_t c, index_t n) {
            lane_operations::store(f(lane_operations::load(features + c, n)), features + c, n);
        });
    }
    template <class F, class Element>
    void map(F f, Element const* table) const {
        for_packs(count, [&](index_t c, index_t n) {
            lane_operations::store(f(lane_operations::load(features + c, n), load_as<T, Arch>(table + c, n)),
                                   features + c, n);
        });
    }

    template <class F>
    void map_halves(index_t half, F f, T const* a, T const* b) const {
        for_packs(half, [&](index_t c, index_t n) {
            T* const first = features + c;
            auto const [x, y] = f(lane_operations::load(first, n), lane_operations::load(first + half, n),
                                  lane_operations::load(a + c, n), lane_operations::load(b + c, n));
            lane_operations::store(x, first, n);
            lane_operations::store(y, first + half, n);
        });
    }
    template <class F>
    void map_neighbors(index_t pairs, F f, T const* a, T const* b) const {
        for_packs(pairs, [&](index_t c, index_t n) {
            typename lane_operations::array even{}, odd{};
            T* const from = features + 2 * c;
            for (index_t i = 0; i < n; ++i) {
                even[static_cast<std::size_t>(i)] = from[2 * i];
                odd[static_cast<std::size_t>(i)] = from[2 * i + 1];
            }
            auto const [x, y] = f(vector::load(even.data()), vector::load(odd.data()), lane_operations::load(a + c, n),
                                  lane_operations::load(b + c, n));
            x.store(even.data());
            y.store(odd.data());
            for (index_t i = 0; i < n; ++i) {
                from[2 * i] = even[static_cast<std::size_t>(i)];
                from[2 * i + 1] = odd[static_cast<std::size_t>(i)];
            }
        });
    }

private:
    /// Calls f(offset, size) for each run of at most one pack.
    template <class F>
    static void for_packs(index_t n, F f) {
        index_t c = 0;
        for (; c + vector::lanes <= n; c += vector::lanes) f(c, vector::lanes);
        if (c < n) f(c, n - c);
    }
};

}  // namespace fovea::FOVEA_SET::kernel
