// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/attend.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/testing/against_reference.hpp>

/// One call whose further outputs are looked at: grouped heads, odd sizes, rows without keys.
struct output_case {
    fovea::testing::dice random{7};
    fovea::tensor<float, 4> query = fovea::testing::random_tensor<float, 4>(random, {2, 4, 19, 8}, 2);
    fovea::tensor<float, 4> key = fovea::testing::random_tensor<float, 4>(random, {2, 2, 33, 8}, 2);
    fovea::tensor<float, 4> value = fovea::testing::random_tensor<float, 4>(random, {2, 2, 33, 5});
    fovea::tensor<float, 4> result{{2, 4, 19, 5}};

    /// The output as the loops fill it, on one thread and on three, which must agree to the bit.
    template <class T, int Rank>
    fovea::tensor<T, Rank> fused(auto const& spec, fovea::extents_t<Rank> const& extents, auto const& output) {
        fovea::tensor<T, Rank> one(extents, T(77)), three(extents, T(78));
        fovea::attend(spec, query, key, value, result, output(one));
        fovea::attend(fovea::threads(3), spec, query, key, value, result, output(three));
        fovea::testing::law(one.elements == three.elements, "an output has the same bits for any number of threads",
                            [] { return std::string("three threads"); });
        return one;
    }
    /// The same by the definition.
    template <class T, int Rank>
    fovea::tensor<T, Rank> defined(auto const& spec, fovea::extents_t<Rank> const& extents, auto const& output) {
        fovea::tensor<T, Rank> target(extents, T(79));
        fovea::reference::attend(spec, query, key, value, result, output(target));
        return target;
    }
    /// Errors: law_broken where the two differ by more than rounding.
    template <class T, int Rank>
    void check(auto const& spec, fovea::extents_t<Rank> const& extents, auto const& output) {
        auto const expected = defined<T, Rank>(spec, extents, output);
        auto const got = fused<T, Rank>(spec, extents, output);
        fovea::testing::check_close<T, T>("output", expected.elements, got.elements, {4e-6, 1e-5});
    }
};
