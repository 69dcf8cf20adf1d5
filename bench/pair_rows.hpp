// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/family.hpp"
#include "bench/operands.hpp"
#include "bench/yardstick/unfused.hpp"

#include <fovea/fovea.hpp>

namespace bench {

/// The plain form, which `over_plain` compares with.
inline constexpr auto plain = fovea::scaled_dot | fovea::softmax | fovea::weighted_sum;

/// What the rows of a family have in common beside their shape.
template <class T, class Spec, class Plain = std::remove_const_t<decltype(plain)>>
struct variant {
    std::string family;
    Spec spec;
    unfused::steps<computed<T>> steps{};  // the same between product and softmax, for Eigen
    bool against_plain = false;           // report over_plain
    bool reads = false;                   // report of_bandwidth: reading keys and values is the limit
    bool unfused = std::is_same_v<T, computed<T>>;  // whether there is a row step by step
    Plain other = plain;                  // what over_plain compares with
};

template <class T>
work pair_work(shape const& s, index_t pairs, bool reads) {
    double const rows = static_cast<double>(s.key_heads() * s.key_length() * s.size);
    return {.flops = 4.0 * static_cast<double>(s.heads * pairs * s.size),
            .bytes = reads ? 2 * rows * sizeof(T) : 0,
            .threads = s.threads};
}

/// Registers attend/<family> and, on one thread, unfused/<family> for one shape with so many visible pairs per head.
template <class T, class Spec, class Plain>
void add_pair_rows(variant<T, Spec, Plain> const& v, shape const& s, index_t pairs) {
    work const done = pair_work<T>(s, pairs, v.reads);
    add<T>("attend/" + v.family, s, [=](benchmark::State& state) {
        auto o = operands_of<T>(s);
        fovea::workspace scratch;
        auto const run = [&](auto const& spec) {
            return [&] { fovea::attend(fovea::threads(s.threads), scratch, spec, o.query, o.key, o.value, o.result); };
        };
        if (v.against_plain) measure<computed<T>>(state, done, run(v.spec), run(v.other));
        else measure<computed<T>>(state, done, run(v.spec));
    });
    if constexpr (std::is_same_v<T, computed<T>>) {
        if (s.threads > 1 || !v.unfused) return;
        add<T>("unfused/" + v.family, s, [=](benchmark::State& state) {
            auto o = operands_of<T>(s);
            measure<T>(state, done, [&] {
                unfused::attend<T>(o.query.view(), o.key.view(), o.value.view(), o.result.view(), v.steps);
            });
        });
    }
}

}  // namespace bench
