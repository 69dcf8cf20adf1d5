// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/pair_rows.hpp"

#include <fovea/gradient.hpp>

namespace bench {

using peer::gradients;

/// A forward call that saves its rows, and its gradient for queries, keys, values and what else is asked for.
template <class T, class Spec, class... Asked>
auto training_call(yardstick::operands<T>& o, gradients<T>& d, fovea::workspace& scratch, int threads, Spec const& spec,
                   Asked const&... asked) {
    return [&o, &d, &scratch, threads, spec, rows = fovea::saved_rows<computed<T>>{}, asked...]() mutable {
        auto const workers = fovea::threads(threads);
        fovea::attend(workers, scratch, spec, o.query, o.key, o.value, o.result, fovea::save(rows));
        fovea::gradient(workers, scratch, spec, o.query, o.key, o.value, d.d_result, rows,
                        fovea::grad(o.query, d.d_query), fovea::grad(o.key, d.d_key), fovea::grad(o.value, d.d_value),
                        asked...);
    };
}

/// train/<family>: such a call; `over_forward` is its time relative to the forward call alone.
template <class T, class Spec, class... Asked>
void measure_training(benchmark::State& state, work const& done, shape const& s, Spec const& spec,
                      Asked const&... asked) {
    auto o = operands_of<T>(s);
    gradients<T> d(o);
    fovea::workspace scratch, other_scratch;
    auto step = training_call(o, d, scratch, s.threads, spec, asked...);
    measure<computed<T>>(
        state, done, [&step] { step(); }, versus{"over_forward", attend_call(o, other_scratch, spec, s.threads)});
}

/// <peer>/train/<family>: the same gradients by every library that is here and able, held against fovea's.
template <class T, class Spec>
void add_training_peers(std::string const& family, Spec const& spec, shape const& s, work const& done,
                        unfused::steps<computed<T>> const& steps) {
    if (s.threads > 1) return;
    for (auto const& library : peer::libraries<T>()) {
        if (!library.prepare_training) continue;
        add<T>(library.name + "/train/" + family, s, [=](benchmark::State& state) {
            auto o = operands_of<T>(s);
            gradients<T> d(o);
            fovea::workspace scratch;
            training_call(o, d, scratch, 1, spec)();
            auto const expected = d;
            auto const program = library.prepare_training({o, steps}, d);
            program.call();
            program.settle();
            check(library.name, d.d_query, expected.d_query);
            check(library.name, d.d_key, expected.d_key);
            check(library.name, d.d_value, expected.d_value);
            measure<computed<T>>(state, done, program.call);
        });
    }
}

/// The work of seven products for each visible pair.
inline work training_work(shape const& s, index_t pairs) {
    return {.flops = 14.0 * static_cast<double>(s.heads * pairs * s.size), .threads = s.threads};
}

template <class T, class Spec>
void add_train_row(std::string const& family, Spec const& spec, shape const& s, index_t pairs,
                   unfused::steps<computed<T>> const& steps = {}) {
    work const done = training_work(s, pairs);
    add<T>("train/" + family, s, [=](benchmark::State& state) { measure_training<T>(state, done, s, spec); });
    add_training_peers<T>(family, spec, s, done, steps);
}

}  // namespace bench
