// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectors of distances in a score, with queries as Conformer has them and with keys as DeBERTa does, and their
// gradients, against a plain loop over pairs (hand/distances.cpp). What bounds them is arithmetic: three products for a
// pair forward, and nine back. The same beside values, as Shaw et al. (2018) have them: one product more than without.
#include "bench/check.hpp"
#include "bench/hand/kernels.hpp"
#include "bench/pair_rows.hpp"
#include "bench/yardstick/random.hpp"

#include <fovea/gradient.hpp>

#include <algorithm>

namespace {

using bench::index_t;
using namespace fovea::placeholders;

constexpr bench::shape sizes{.heads = 4, .length = 400, .size = bench::hand::distances::size};
constexpr index_t vectors = 2 * sizes.length - 1, rows_of_head = sizes.length * sizes.size;

/// A layer: operands, and what it has learned.
struct layer {
    yardstick::operands<float> of = bench::operands_of<float>(sizes);
    fovea::tensor<float, 2> u = yardstick::random_tensor<float, 2>({sizes.heads, sizes.size}, 7, 0.3),
                            w = yardstick::random_tensor<float, 2>({sizes.heads, sizes.size}, 8, 0.3);
    fovea::tensor<float, 3> r = yardstick::random_tensor<float, 3>({sizes.heads, vectors, sizes.size}, 9, 0.5);

    auto spec() const {
        using fovea::param;
        auto const row = param(r)(head, q_idx - kv_idx + (sizes.length - 1));
        return fovea::compare((sum((q + param(u)[head]) * k) + sum((q + param(w)[head]) * row)) / 8) | fovea::softmax
             | fovea::weighted_sum;
    }
    bench::hand::distances loop(index_t h) const {
        return {sizes.length,
                of.query.data() + h * rows_of_head,
                of.key.data() + h * rows_of_head,
                of.value.data() + h * rows_of_head,
                u.data() + h * sizes.size,
                w.data() + h * sizes.size,
                r.data() + h * vectors * sizes.size};
    }
};

bench::work work_of(double products) {
    return {.flops = 2 * products * static_cast<double>(sizes.heads * sizes.length * rows_of_head)};
}

/// The gradients of all operands and of what has been learned.
struct gradients {
    fovea::tensor<float, 4> query, key, value;
    fovea::tensor<float, 2> u, w;
    fovea::tensor<float, 3> r;
    explicit gradients(layer const& x)
        : query(x.of.query.extents),
          key(x.of.key.extents),
          value(x.of.value.extents),
          u(x.u.extents),
          w(x.w.extents),
          r(x.r.extents) {}
};

void backward(benchmark::State& state) {
    layer x;
    gradients d(x), by_hand(x);
    auto const d_result = yardstick::random_tensor<float, 4>(x.of.result.extents, 10);
    fovea::workspace scratch;
    auto const spec = x.spec();
    auto const call = [&] {
        fovea::gradient(scratch, spec, x.of.query, x.of.key, x.of.value, d_result, fovea::grad(x.of.query, d.query),
                        fovea::grad(x.of.key, d.key), fovea::grad(x.of.value, d.value), fovea::grad(x.u, d.u),
                        fovea::grad(x.w, d.w), fovea::grad(x.r, d.r));
    };
    auto const hand = [&] {
        for (auto* each : {&by_hand.query, &by_hand.key, &by_hand.value})
            std::fill(each->elements.begin(), each->elements.end(), 0.f);
        for (auto* each : {&by_hand.u, &by_hand.w}) std::fill(each->elements.begin(), each->elements.end(), 0.f);
        std::fill(by_hand.r.elements.begin(), by_hand.r.elements.end(), 0.f);
        for (index_t h = 0; h < sizes.heads; ++h)
            x.loop(h).gradient(d_result.data() + h * rows_of_head, by_hand.query.data() + h * rows_of_head,
                               by_hand.key.data() + h * rows_of_head, by_hand.value.data() + h * rows_of_head,
                               by_hand.u.data() + h * sizes.size, by_hand.w.data() + h * sizes.size,
                               by_hand.r.data() + h * vectors * sizes.size);
    };
    call();
    hand();
    bench::check("hand/distances.cpp", by_hand.query, d.query);
    bench::check("hand/distances.cpp", by_hand.r, d.r);
    bench::measure<float>(state, work_of(9), call, bench::over_hand(hand));
}

/// A layer whose vectors of distances are multiplied with keys.
struct key_layer {
    yardstick::operands<float> of = bench::operands_of<float>(sizes);
    fovea::tensor<float, 3> r = yardstick::random_tensor<float, 3>({sizes.heads, vectors, sizes.size}, 9, 0.5);

    auto spec() const {
        auto const row = fovea::param(r)(head, q_idx - kv_idx + (sizes.length - 1));
        return fovea::compare((sum(q * k) + sum(k * row)) / 8) | fovea::softmax | fovea::weighted_sum;
    }
    bench::hand::distances_of_keys loop(index_t h) const {
        return {sizes.length, of.query.data() + h * rows_of_head, of.key.data() + h * rows_of_head,
                of.value.data() + h * rows_of_head, r.data() + h * vectors * sizes.size};
    }
};

template <class Layer>
void forward(benchmark::State& state) {
    Layer x;
    fovea::workspace scratch;
    auto const call = bench::attend_call(x.of, scratch, x.spec());
    call();
    auto by_hand = x.of.result;
    auto const hand = [&] {
        for (index_t h = 0; h < sizes.heads; ++h) x.loop(h).attend(by_hand.data() + h * rows_of_head);
    };
    hand();
    bench::check("hand/distances.cpp", by_hand, x.of.result);
    bench::measure<float>(state, work_of(3), call, bench::over_hand(hand));
}

void backward_of_keys(benchmark::State& state) {
    key_layer x;
    struct {
        fovea::tensor<float, 4> query, key, value;
        fovea::tensor<float, 3> r;
    } d{x.of.query, x.of.key, x.of.value, x.r}, by_hand = d;
    auto const d_result = yardstick::random_tensor<float, 4>(x.of.result.extents, 10);
    fovea::workspace scratch;
    auto const spec = x.spec();
    auto const call = [&] {
        fovea::gradient(scratch, spec, x.of.query, x.of.key, x.of.value, d_result, fovea::grad(x.of.query, d.query),
                        fovea::grad(x.of.key, d.key), fovea::grad(x.of.value, d.value), fovea::grad(x.r, d.r));
    };
    auto const hand = [&] {
        for (auto* each : {&by_hand.query, &by_hand.key, &by_hand.value})
            std::fill(each->elements.begin(), each->elements.end(), 0.f);
        std::fill(by_hand.r.elements.begin(), by_hand.r.elements.end(), 0.f);
        for (index_t h = 0; h < sizes.heads; ++h)
            x.loop(h).gradient(d_result.data() + h * rows_of_head, by_hand.query.data() + h * rows_of_head,
                               by_hand.key.data() + h * rows_of_head, by_hand.value.data() + h * rows_of_head,
                               by_hand.r.data() + h * vectors * sizes.size);
    };
    call();
    hand();
    bench::check("hand/distances.cpp", by_hand.key, d.key);
    bench::check("hand/distances.cpp", by_hand.r, d.r);
    bench::measure<float>(state, work_of(9), call, bench::over_hand(hand));
}

/// The same call with values alone beside it.
void beside_values(benchmark::State& state) {
    auto const table = yardstick::random_tensor<float, 2>({vectors, sizes.size}, 11, 0.3);
    auto of = bench::operands_of<float>(sizes);
    fovea::workspace scratch, other_scratch;
    auto const spec = fovea::scaled_dot | fovea::softmax | fovea::relative_values(table);
    bench::measure<float>(state, work_of(3), bench::attend_call(of, scratch, spec),
                          bench::over_plain(bench::attend_call(of, other_scratch, bench::plain)));
}

bench::family const rows([] {
    bench::add<float>("attend/distances", sizes, forward<layer>);
    bench::add<float>("attend/distances_of_keys", sizes, forward<key_layer>);
    bench::add<float>("attend/relative_values", sizes, beside_values);
    bench::add<float>("train/distances", sizes, backward);
    bench::add<float>("train/distances_of_keys", sizes, backward_of_keys);
});

}  // namespace
