// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/attend.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"
#include "support/guarded.hpp"

inline constexpr fovea::index_t nodes = 43;

/// One row for each node, all heads of it; nothing may be touched beside them.
template <class T>
struct side_by_side {
    guarded<T> stored;
    fovea::index_t heads, features;

    side_by_side(fovea::index_t h, fovea::index_t f, unsigned seed) : stored(nodes * h * f), heads(h), features(f) {
        fovea::testing::dice random(seed);
        for (T& x : stored) x = static_cast<T>(random.real(-1, 1));
    }
    fovea::view<T, 4> view_of_heads() const {
        return {stored.data(), {1, heads, nodes, features}, {stored.size(), features, heads * features, 1}};
    }
};

template <class T>
struct node_features {
    side_by_side<T> query, key, value, result;

    node_features(fovea::index_t heads, fovea::index_t features, fovea::index_t value_features)
        : query(heads, features, 1),
          key(heads, features, 2),
          value(heads, value_features, 3),
          result(heads, value_features, 4) {}

    template <class Arch, class Spec>
    void check(Spec const& spec) const {
        auto const q = query.view_of_heads(), k = key.view_of_heads(), v = value.view_of_heads(),
                   out = result.view_of_heads();
        CAPTURE(Arch::name, q.extent(1), q.extent(3), v.extent(3));
        fovea::tensor<double, 4> expected(out.extents);
        fovea::reference::attend(spec, q, k, v, expected);
        fovea::tensor<T, 4> got(out.extents), plain(out.extents);
        fovea::reference::attend_in<T>(spec, q, k, v, plain);
        fovea::workspace scratch;
        fovea::attend_on<Arch>(fovea::serial, scratch, spec, q, k, v, out);
        for (fovea::index_t h = 0; h < out.extent(1); ++h)
            for (fovea::index_t i = 0; i < nodes; ++i)
                for (fovea::index_t c = 0; c < out.extent(3); ++c) got(0, h, i, c) = out(0, h, i, c);
        auto const allowed = fovea::testing::tolerance_for<T, double>(expected.elements, plain.elements);
        CHECK_NOTHROW(fovea::testing::check_close<double, T>("result", expected.elements, got.elements, allowed));
    }
};
