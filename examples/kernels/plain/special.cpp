// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/plain/loops.hpp"
#include "kernels/plain/rows.hpp"

namespace plain {
namespace {

using f32 = calls::operands<float>;

/// An edge has a score from its two ends; the edges of a node become weights together.
/// score(head, query, key, q, k)
template <class Score>
void attend_over_edges(f32& o, Score score) {
    auto const& n = o.extents;
    auto const all = o.arrays();
    rows<float> const query{all[0]}, key{all[1]}, value{all[2]}, result{all[3]};
    std::vector<float> weights;
    for (std::int64_t b = 0; b < n.batches; ++b)
        for (std::int64_t i = 0; i < n.queries; ++i) {
            auto const first = o.arguments.offsets[static_cast<std::size_t>(i)],
                       last = o.arguments.offsets[static_cast<std::size_t>(i) + 1];
            std::int32_t const* const neighbors = o.arguments.neighbors.data() + first;
            for (std::int64_t h = 0; h < n.heads; ++h) {
                float* const out = result(b, h, i);
                std::fill_n(out, n.value_features, 0.0f);
                if (first == last) continue;
                weights.resize(static_cast<std::size_t>(last - first));
                for (std::size_t e = 0; e < weights.size(); ++e)
                    weights[e] = score(b, h, i, neighbors[e], query(b, h, i), key(b, h, neighbors[e]));
                softmax(weights.data(), last - first);
                for (std::size_t e = 0; e < weights.size(); ++e) {
                    float const* const v = value(b, h, neighbors[e]);
                    for (std::int64_t c = 0; c < n.value_features; ++c) out[c] += weights[e] * v[c];
                }
            }
        }
}

float leaky_relu(float x) { return x > 0 ? x : 0.2f * x; }

/// The product of each node with a vector of its head, before the loop over edges.
std::vector<float> products(f32& o, std::vector<float> const& by) {
    auto const& n = o.extents;
    rows<float> const nodes{o.arrays()[0]};
    std::vector<float> numbers;
    for (std::int64_t b = 0; b < n.batches; ++b)
        for (std::int64_t i = 0; i < n.queries; ++i)
            for (std::int64_t h = 0; h < n.heads; ++h)
                numbers.push_back(dot<float>(nodes(b, h, i), by.data() + h * n.features, n.features));
    return numbers;
}

void gat(f32& o) {
    auto const target = products(o, o.arguments.a_target), source = products(o, o.arguments.a_source);
    auto const place = [&](std::int64_t b, std::int64_t h, std::int64_t i) {
        return static_cast<std::size_t>((b * o.extents.queries + i) * o.extents.heads + h);
    };
    attend_over_edges(o, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, float const*,
                             float const*) { return leaky_relu(target[place(b, h, i)] + source[place(b, h, j)]); });
}

void gatv2(f32& o) {
    attend_over_edges(o, [&](std::int64_t, std::int64_t h, std::int64_t, std::int64_t, float const* q,
                             float const* k) {
        float const* const a = o.arguments.a.data() + h * o.extents.features;
        float sum = 0;
        for (std::int64_t c = 0; c < o.extents.features; ++c) sum += a[c] * leaky_relu(q[c] + k[c]);
        return sum;
    });
}

float elu_plus_one(float x) { return x > 0 ? x + 1 : std::exp(x); }

/// One head: a state of (feature, value feature), and the sum of the keys.
void attend_linearly(f32& o, rows<float> const* arrays, std::int64_t b, std::int64_t h) {
    auto const& n = o.extents;
    auto const size = static_cast<std::size_t>(n.features), columns = static_cast<std::size_t>(n.value_features);
    std::vector<float> state(size * columns), sum(size);
    for (std::int64_t i = 0; i < n.queries; ++i) {
        float const *const q = arrays[0](b, h, i), *const k = arrays[1](b, h, i), *const v = arrays[2](b, h, i);
        float* const out = arrays[3](b, h, i);
        std::fill_n(out, columns, 0.0f);
        float total = 0;
        for (std::size_t f = 0; f < size; ++f) {
            float const key = elu_plus_one(k[f]), query = elu_plus_one(q[f]);
            sum[f] += key;
            total += query * sum[f];
            for (std::size_t c = 0; c < columns; ++c) {
                state[f * columns + c] += key * v[c];
                out[c] += query * state[f * columns + c];
            }
        }
        for (std::size_t c = 0; c < columns; ++c) out[c] /= total;
    }
}

void linear(f32& o) {
    auto const all = o.arrays();
    rows<float> const arrays[] = {{all[0]}, {all[1]}, {all[2]}, {all[3]}};
    for (std::int64_t b = 0; b < o.extents.batches; ++b)
        for (std::int64_t h = 0; h < o.extents.heads; ++h) attend_linearly(o, arrays, b, h);
}

}  // namespace

loop<float> special_loop_of(std::string_view kernel) {
    if (kernel == "linear") return linear;
    if (kernel == "gat") return gat;
    if (kernel == "gatv2") return gatv2;
    return nullptr;
}

}  // namespace plain
