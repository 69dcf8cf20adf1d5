// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/check.hpp"
#include "bench/family.hpp"
#include "bench/operands.hpp"
#include "bench/peer/peer.hpp"

#include <fovea/fovea.hpp>

namespace bench {

/// The plain form, which `over_plain` compares with.
inline constexpr auto plain = fovea::scaled_dot | fovea::softmax | fovea::weighted_sum;

/// The common part of the rows of a family beside their shape.
template <class T, class Spec, class Plain = std::remove_const_t<decltype(plain)>>
struct variant {
    std::string family;
    Spec spec;
    unfused::steps<computed<T>> steps{};  // the same between product and softmax, for peers
    bool against_plain = false;           // report over_plain
    bool reads = false;                   // report of_bandwidth: reading keys and values is the limit
    bool peers = true;                    // whether peers can do it at all
    Plain other = plain;                  // what over_plain compares with
};

template <class T>
work pair_work(shape const& s, index_t pairs, bool reads) {
    double const rows = static_cast<double>(s.key_heads() * s.key_length() * s.size);
    return {.flops = 4.0 * static_cast<double>(s.heads * pairs * s.size),
            .bytes = reads ? 2 * rows * sizeof(T) : 0,
            .threads = s.threads};
}

/// A call on so many threads, with scratch that is kept.
template <class T, class Spec>
auto attend_call(yardstick::operands<T>& o, fovea::workspace& scratch, Spec const& spec, int threads = 1) {
    return [&o, &scratch, spec, threads] {
        if (threads == 1) fovea::attend(scratch, spec, o.query, o.key, o.value, o.result);
        else fovea::attend(fovea::threads(threads), scratch, spec, o.query, o.key, o.value, o.result);
    };
}

/// attend/<family> for one shape with so many visible pairs per head. A row on several threads is compared with one
/// thread, one of narrow storage with the same in float32.
template <class T, class Spec, class Plain>
void add_attend_row(variant<T, Spec, Plain> const& v, shape const& s, index_t pairs) {
    work const done = pair_work<T>(s, pairs, v.reads);
    add<T>("attend/" + v.family, s, [=](benchmark::State& state) {
        using real = computed<T>;
        auto o = operands_of<T>(s);
        fovea::workspace scratch, other_scratch;
        auto const row = attend_call(o, scratch, v.spec, s.threads);
        if (s.threads > 1) {
            measure<real>(state, done, row, of_one_thread(attend_call(o, other_scratch, v.spec)));
        } else if constexpr (!std::is_same_v<T, real>) {
            auto in_float32 = operands_of<real>(s);
            measure<real>(state, done, row, over_plain(attend_call(in_float32, other_scratch, v.spec)));
        } else if (v.against_plain) {
            measure<real>(state, done, row, over_plain(attend_call(o, other_scratch, v.other)));
        } else {
            measure<real>(state, done, row);
        }
    });
}

/// <peer>/<family> for the same, of every library that is here and able.
template <class T, class Spec, class Plain>
void add_peer_rows(variant<T, Spec, Plain> const& v, shape const& s, index_t pairs) {
    constexpr index_t quickly_checked = 256;
    if (s.threads > 1 || !v.peers) return;
    work const done = pair_work<T>(s, pairs, v.reads);
    for (auto const& library : peer::libraries<T>()) {
        if (s.length > library.longest || !library.able(v.steps, s)) continue;
        add<T>(library.name + "/" + v.family, s, [=](benchmark::State& state) {
            auto o = operands_of<T>(s);
            auto const program = library.prepare({o, v.steps});
            if (s.length <= quickly_checked) {
                fovea::attend(v.spec, o.query, o.key, o.value, o.result);
                auto const expected = o.result;
                program.call();
                program.settle();
                check(library.name, o.result, expected);
            }
            measure<computed<T>>(state, done, program.call);
        });
    }
}

template <class T, class Spec, class Plain>
void add_pair_rows(variant<T, Spec, Plain> const& v, shape const& s, index_t pairs) {
    add_attend_row(v, s, pairs);
    add_peer_rows(v, s, pairs);
}

}  // namespace bench
