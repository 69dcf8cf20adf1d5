// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/plain/loops.hpp"
#include "kernels/plain/rows.hpp"

namespace plain {
namespace {

/// The keys that a query sees: from first to last - 1.
struct range {
    std::int64_t first, last;
};

template <class Element>
struct arrays {
    rows<Element> query, key, value, result;

    explicit arrays(calls::operands<Element>& o) {
        auto const all = o.arrays();
        query = {all[0]};
        key = {all[1]};
        value = {all[2]};
        result = {all[3]};
        if (!o.kind.paged) return;
        for (auto* const paged : {&key, &value}) {
            paged->page_table = o.arguments.page_table.data();
            paged->pages = o.arguments.pages;
        }
    }
};

/// The values of some keys, each times its weight.
template <class Element>
void sum_values(rows<Element> const& value, std::int64_t b, std::int64_t h, range keys, real<Element> const* weights,
                std::vector<real<Element>>& sum) {
    std::fill(sum.begin(), sum.end(), real<Element>(0));
    auto const count = static_cast<std::int64_t>(sum.size());
    for (std::int64_t j = keys.first; j < keys.last; ++j) {
        Element const* const v = value(b, h, j);
        for (std::int64_t c = 0; c < count; ++c)
            sum[static_cast<std::size_t>(c)] += weights[j] * real<Element>(v[c]);
    }
}

/// seen(batch, query) is a range of keys, score(head, query, key, q, k) a number, and weigh(scores, count) makes
/// weights of them.
template <class Element, class Seen, class Score, class Weigh>
void attend(calls::operands<Element>& o, Seen seen, Score score, Weigh weigh) {
    auto const& n = o.extents;
    arrays<Element> const all(o);
    std::vector<real<Element>> row(static_cast<std::size_t>(n.keys)), sum(static_cast<std::size_t>(n.value_features));
    std::int64_t const group = n.heads / n.key_heads;
    for (std::int64_t b = 0; b < n.batches; ++b)
        for (std::int64_t h = 0; h < n.heads; ++h)
            for (std::int64_t i = 0; i < n.queries; ++i) {
                range const keys = seen(b, i);
                Element const* const q = all.query(b, h, i);
                for (std::int64_t j = keys.first; j < keys.last; ++j)
                    row[static_cast<std::size_t>(j)] = score(h, i, j, q, all.key(b, h / group, j));
                weigh(row.data() + keys.first, keys.last - keys.first);
                sum_values(all.value, b, h / group, keys, row.data(), sum);
                Element* const out = all.result(b, h, i);
                for (std::int64_t c = 0; c < n.value_features; ++c)
                    out[c] = static_cast<Element>(sum[static_cast<std::size_t>(c)]);
            }
}

template <class Element>
auto all_keys(calls::operands<Element> const& o) {
    return [keys = o.extents.keys](std::int64_t, std::int64_t) { return range{0, keys}; };
}
constexpr auto causal = [](std::int64_t, std::int64_t i) { return range{0, i + 1}; };
template <class Element>
auto scaled(calls::operands<Element> const& o) {
    auto const features = o.extents.features;
    auto const scale = 1 / std::sqrt(static_cast<real<Element>>(features));
    return [features, scale](std::int64_t, std::int64_t, std::int64_t, Element const* q, Element const* k) {
        return dot(q, k, features) * scale;
    };
}
constexpr auto by_softmax = [](auto* scores, std::int64_t count) { softmax(scores, count); };

template <class Element>
void attend_softly(calls::operands<Element>& o) {
    attend(o, all_keys(o), scaled(o), by_softmax);
}
template <class Element>
void attend_causally(calls::operands<Element>& o) {
    attend(o, causal, scaled(o), by_softmax);
}
template <class Element>
void decode(calls::operands<Element>& o) {
    auto const seen = [&](std::int64_t b, std::int64_t) {
        return range{0, o.arguments.lengths[static_cast<std::size_t>(b)]};
    };
    attend(o, seen, scaled(o), by_softmax);
}

using f32 = calls::operands<float>;

void attend_by_dot(f32& o) {
    auto const score = [features = o.extents.features](std::int64_t, std::int64_t, std::int64_t, float const* q,
                                                       float const* k) { return dot(q, k, features); };
    attend(o, all_keys(o), score, by_softmax);
}

void sliding_window(f32& o) {
    auto const seen = [&](std::int64_t, std::int64_t i) {
        return range{std::max<std::int64_t>(i - o.arguments.left, 0),
                     std::min(i + o.arguments.right + 1, o.extents.keys)};
    };
    attend(o, seen, scaled(o), by_softmax);
}

/// rescore(score, head, query, key) changes the scaled product.
template <class Seen, class Rescore>
void attend_rescored(f32& o, Seen const& seen, Rescore rescore) {
    auto const score = [&, product = scaled(o)](std::int64_t h, std::int64_t i, std::int64_t j, float const* q,
                                                float const* k) { return rescore(product(h, i, j, q, k), h, i, j); };
    attend(o, seen, score, by_softmax);
}

void alibi(f32& o) {
    attend_rescored(o, causal, [&](float s, std::int64_t h, std::int64_t i, std::int64_t j) {
        return s + o.arguments.slopes[static_cast<std::size_t>(h)] * static_cast<float>(j - i);
    });
}

void softcap(f32& o) {
    auto const cap = static_cast<float>(o.arguments.cap);
    attend_rescored(o, all_keys(o), [cap](float s, std::int64_t, std::int64_t, std::int64_t) {
        return cap * std::tanh(s / cap);
    });
}

void documents(f32& o) {
    attend_rescored(o, causal, [&](float s, std::int64_t, std::int64_t i, std::int64_t j) {
        auto const& ids = o.arguments.ids;
        return ids[static_cast<std::size_t>(i)] == ids[static_cast<std::size_t>(j)]
                 ? s
                 : -std::numeric_limits<float>::infinity();
    });
}

void relative_bias(f32& o) {
    std::int64_t const distances = o.arguments.distances, reach = (distances - 1) / 2;
    attend_rescored(o, all_keys(o), [&, distances, reach](float s, std::int64_t h, std::int64_t i, std::int64_t j) {
        auto const distance = std::clamp(j - i, -reach, reach) + reach;
        return s + o.arguments.table[static_cast<std::size_t>(h * distances + distance)];
    });
}

void additive(f32& o) {
    auto const score = [&](std::int64_t, std::int64_t, std::int64_t, float const* q, float const* k) {
        float sum = 0;
        for (std::int64_t c = 0; c < o.extents.features; ++c)
            sum += o.arguments.v[static_cast<std::size_t>(c)] * std::tanh(q[c] + k[c]);
        return sum;
    };
    attend(o, all_keys(o), score, by_softmax);
}

void cosine(f32& o) {
    auto const score = [features = o.extents.features](std::int64_t, std::int64_t, std::int64_t, float const* q,
                                                       float const* k) {
        return dot(q, k, features) / std::sqrt(dot(q, q, features) * dot(k, k, features));
    };
    attend(o, all_keys(o), score, by_softmax);
}

void attend_sparsely(f32& o) {
    attend(o, all_keys(o), scaled(o), [](float* scores, std::int64_t count) { sparsemax(scores, count); });
}
void attend_by_entmax15(f32& o) {
    attend(o, all_keys(o), scaled(o), [](float* scores, std::int64_t count) { entmax15(scores, count); });
}
void attend_by_sigmoid(f32& o) {
    auto const bias = static_cast<float>(o.arguments.bias);
    attend(o, all_keys(o), scaled(o), [bias](float* scores, std::int64_t count) {
        for (std::int64_t j = 0; j < count; ++j) scores[j] = 1 / (1 + std::exp(-(scores[j] + bias)));
    });
}

/// Only the value of the best key is read.
void attend_hard(f32& o) {
    auto const& n = o.extents;
    arrays<float> const all(o);
    auto const score = scaled(o);
    for (std::int64_t b = 0; b < n.batches; ++b)
        for (std::int64_t h = 0; h < n.heads; ++h)
            for (std::int64_t i = 0; i < n.queries; ++i) {
                std::int64_t best = 0;
                float highest = -std::numeric_limits<float>::infinity();
                for (std::int64_t j = 0; j < n.keys; ++j)
                    if (float const s = score(h, i, j, all.query(b, h, i), all.key(b, h, j)); s > highest) {
                        highest = s;
                        best = j;
                    }
                std::copy_n(all.value(b, h, best), n.value_features, all.result(b, h, i));
            }
}

loop<float> float_loop_of(std::string_view kernel) {
    if (kernel == "dot") return attend_by_dot;
    if (kernel == "sliding_window") return sliding_window;
    if (kernel == "alibi") return alibi;
    if (kernel == "softcap") return softcap;
    if (kernel == "documents") return documents;
    if (kernel == "hard") return attend_hard;
    if (kernel == "additive") return additive;
    if (kernel == "cosine") return cosine;
    if (kernel == "relative_bias") return relative_bias;
    if (kernel == "sparsemax") return attend_sparsely;
    if (kernel == "entmax15") return attend_by_entmax15;
    if (kernel == "sigmoid") return attend_by_sigmoid;
    return special_loop_of(kernel);
}

}  // namespace

template <class Element>
loop<Element> loop_of(std::string_view kernel) {
    if (kernel == "scaled") return attend_softly<Element>;
    if (kernel == "causal" || kernel == "gqa_causal") return attend_causally<Element>;
    if (kernel == "decode") return decode<Element>;
    if constexpr (std::is_same_v<Element, float>) return float_loop_of(kernel);
    else return nullptr;
}

template loop<float> loop_of<float>(std::string_view);
template loop<double> loop_of<double>(std::string_view);
template loop<fovea::bfloat16> loop_of<fovea::bfloat16>(std::string_view);
template loop<fovea::float16> loop_of<fovea::float16>(std::string_view);

}  // namespace plain
