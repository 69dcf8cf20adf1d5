// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/spec/concepts.hpp>

namespace fovea::FOVEA_SET {

/// plain_row: the features of one head at one position, one after the other: a feature_row without vectors.
template <class Real>
struct plain_row {
    using value_type = Real;
    Real* features;
    index_t count;

    index_t size() const { return count; }
    Real& operator[](index_t i) const { return features[i]; }

    template <class F>
    Real sum(F const& f) const {
        Real total = 0;
        for (index_t c = 0; c < count; ++c) total += f(features[c]);
        return total;
    }
    template <class F>
    void map(F const& f) const {
        for (index_t c = 0; c < count; ++c) features[c] = f(features[c]);
    }
    template <class F, class Element>
    void map(F const& f, Element const* table) const {
        for (index_t c = 0; c < count; ++c) features[c] = f(features[c], static_cast<Real>(table[c]));
    }
    template <class F>
    void map_halves(index_t half, F const& f, Real const* a, Real const* b) const {
        for (index_t i = 0; i < half; ++i) map_pair(i, half + i, f, a[i], b[i]);
    }
    template <class F>
    void map_neighbors(index_t pairs, F const& f, Real const* a, Real const* b) const {
        for (index_t i = 0; i < pairs; ++i) map_pair(2 * i, 2 * i + 1, f, a[i], b[i]);
    }

private:
    template <class F>
    void map_pair(index_t i, index_t j, F const& f, Real a, Real b) const {
        auto const [x, y] = f(features[i], features[j], a, b);
        features[i] = x;
        features[j] = y;
    }
};

}  // namespace fovea::FOVEA_SET
