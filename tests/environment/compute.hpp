// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>

#include "calls.hpp"

#include <cstring>

// Each unit has its own: what is shared by name would be compiled for one instruction set alone.
namespace {

using namespace fovea;
using namespace fovea::placeholders;

struct sizes {
    index_t batches, heads, key_heads, queries, keys, features, value_features;
};

/// Operands whose elements are `unit` times a random number.
template <class T>
tensor<T, 4> operand(testing::dice& random, extents_t<4> extents, double unit) {
    tensor<T, 4> x(extents);
    for (T& e : x) e = static_cast<T>(unit * random.real(-1, 1));
    return x;
}

/// One specification on random operands: the engine on one thread and on three, the definition, and plain loops.
template <class Stored = float, class Spec>
void compute(surroundings const& around, char const* name, Spec const& spec, sizes const& n, double unit = 2,
             double value_unit = 1) {
    testing::dice random(31);
    auto const q = operand<Stored>(random, {n.batches, n.heads, n.queries, n.features}, unit);
    auto const k = operand<Stored>(random, {n.batches, n.key_heads, n.keys, n.features}, unit);
    auto const v = operand<Stored>(random, {n.batches, n.key_heads, n.keys, n.value_features}, value_unit);
    extents_t<4> const extents{n.batches, n.heads, n.queries, n.value_features};
    tensor<double, 4> expected(extents);
    tensor<float, 4> got(extents), threaded(extents), plain(extents);
    reference::attend(spec, q, k, v, expected);
    around.begin();
    attend(spec, q, k, v, got);
    attend(threads(3), spec, q, k, v, threaded);
    reference::attend_in<float>(spec, q, k, v, plain);
    around.end();
    bool const same = std::memcmp(got.data(), threaded.data(), got.elements.size() * sizeof(float)) == 0;
    around.take({name, got.data(), expected.data(), plain.data(), got.elements.size(), same});
}

}  // namespace
