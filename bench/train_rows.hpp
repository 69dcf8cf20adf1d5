// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/pair_rows.hpp"

#include <fovea/gradient.hpp>

namespace bench {

/// The gradients of a call, and that of its result.
template <class T>
struct gradients {
    fovea::tensor<T, 4> d_result, d_query, d_key, d_value;

    explicit gradients(yardstick::operands<T> const& o)
        : d_result(yardstick::random_tensor<T, 4>(o.result.extents, 11)),
          d_query(o.query.extents),
          d_key(o.key.extents),
          d_value(o.value.extents) {}
};

/// train/<family>: a forward call that saves its rows and its gradient, for queries, keys, values and what else is
/// asked for; `over_forward` is the time of both relative to the forward call alone.
template <class T, class Spec, class... Asked>
void measure_training(benchmark::State& state, work const& done, shape const& s, Spec const& spec,
                      Asked const&... asked) {
    auto o = operands_of<T>(s);
    gradients<T> d(o);
    fovea::workspace scratch, other_scratch;
    fovea::saved_rows<computed<T>> rows;
    auto const step = [&] {
        auto const workers = fovea::threads(s.threads);
        fovea::attend(workers, scratch, spec, o.query, o.key, o.value, o.result, fovea::save(rows));
        fovea::gradient(workers, scratch, spec, o.query, o.key, o.value, d.d_result, rows,
                        fovea::grad(o.query, d.d_query), fovea::grad(o.key, d.d_key), fovea::grad(o.value, d.d_value),
                        asked...);
    };
    measure<computed<T>>(state, done, step, versus{"over_forward", attend_call(o, other_scratch, spec, s.threads)});
}

/// The work of seven products for each visible pair.
inline work training_work(shape const& s, index_t pairs) {
    return {.flops = 14.0 * static_cast<double>(s.heads * pairs * s.size), .threads = s.threads};
}

template <class T, class Spec>
void add_train_row(std::string const& family, Spec const& spec, shape const& s, index_t pairs) {
    add<T>("train/" + family, s,
           [=](benchmark::State& state) { measure_training<T>(state, training_work(s, pairs), s, spec); });
}

}  // namespace bench
