// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Primitives of oneDNN, one after the other: product, sum with the mask, softmax, product. Every score is stored.
#include "bench/peer/peer.hpp"

#include <omp.h>
#include <cmath>
#include <limits>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <utility>

namespace bench::peer {
namespace {

using fovea::index_t;
using memory = dnnl::memory;
using tag = memory::format_tag;

/// One call of one primitive with its memory.
struct step {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
};

memory::desc described(memory::dims const& sizes, tag order) { return {sizes, memory::data_type::f32, order}; }

dnnl::matmul product(dnnl::engine const& engine, memory::desc const& a, memory::desc const& b, memory::desc const& c) {
    return {{{a, b, c}, engine}};
}
dnnl::binary sum(dnnl::engine const& engine, memory::desc const& a, memory::desc const& b) {
    return {{{dnnl::algorithm::binary_add, a, b, a}, engine}};
}
dnnl::softmax_forward softmax(dnnl::engine const& engine, memory::desc const& scores) {
    return {{{dnnl::prop_kind::forward_inference, scores, 2}, engine}};
}

/// 0 for pairs that see each other, minus infinity for the others.
fovea::tensor<float, 2> mask_of(unfused::steps<float> const& steps, index_t queries, index_t keys) {
    fovea::tensor<float, 2> mask({queries, keys}, -std::numeric_limits<float>::infinity());
    for (index_t i = 0; i < queries; ++i)
        for (index_t j = 0; j < keys; ++j)
            if ((!steps.causal || j <= i) && (steps.window == 0 || i - j < steps.window)) mask(i, j) = 0;
    return mask;
}

/// The buffers and the steps of one shape.
class steps_of {
public:
    steps_of(yardstick::operands<float>& o, unfused::steps<float> const& steps)
        : query_(o.query),
          scores_({1, o.query.extent(1), o.query.extent(2), o.key.extent(2)}),
          mask_(mask_of(steps, o.query.extent(2), o.key.extent(2))) {
        for (float& x : query_) x /= std::sqrt(static_cast<float>(o.query.extent(3)));
        memory::dim const heads = o.query.extent(1), queries = o.query.extent(2), keys = o.key.extent(2),
                          size = o.query.extent(3);
        auto const q = described({heads, queries, size}, tag::abc), k = described({heads, size, keys}, tag::acb),
                   v = described({heads, keys, size}, tag::abc), s = described({heads, queries, keys}, tag::abc),
                   m = described({1, queries, keys}, tag::abc);
        memory const scores(s, engine_, scores_.data());
        add(product(engine_, q, k, s), {{DNNL_ARG_SRC, {q, engine_, query_.data()}},
                                        {DNNL_ARG_WEIGHTS, {k, engine_, o.key.data()}},
                                        {DNNL_ARG_DST, scores}});
        if (steps.causal)
            add(sum(engine_, s, m),
                {{DNNL_ARG_SRC_0, scores}, {DNNL_ARG_SRC_1, {m, engine_, mask_.data()}}, {DNNL_ARG_DST, scores}});
        add(softmax(engine_, s), {{DNNL_ARG_SRC, scores}, {DNNL_ARG_DST, scores}});
        add(product(engine_, s, v, q), {{DNNL_ARG_SRC, scores},
                                        {DNNL_ARG_WEIGHTS, {v, engine_, o.value.data()}},
                                        {DNNL_ARG_DST, {q, engine_, o.result.data()}}});
    }

    void run() {
        for (auto const& [primitive, arguments] : steps_) primitive.execute(stream_, arguments);
        stream_.wait();
    }

private:
    void add(dnnl::primitive primitive, std::unordered_map<int, memory> arguments) {
        steps_.push_back({std::move(primitive), std::move(arguments)});
    }

    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    fovea::tensor<float, 4> query_, scores_;  // scaled queries, as a layer's weights would leave them
    fovea::tensor<float, 2> mask_;
    std::vector<step> steps_;
};

bool able(unfused::steps<float> const& steps, shape const& s) {
    return steps.alibi_slopes.empty() && steps.softcap == 0 && s.heads == s.key_heads();
}

std::string version() {
    return std::to_string(DNNL_VERSION_MAJOR) + "." + std::to_string(DNNL_VERSION_MINOR) + "."
         + std::to_string(DNNL_VERSION_PATCH);
}

entry<float> const singles({"onednn", version(), able, [](request<float> const& asked) {
                                omp_set_num_threads(1);
                                auto const steps = std::make_shared<steps_of>(asked.o, asked.steps);
                                return program{[steps] { steps->run(); }};
                            }});

}  // namespace
}  // namespace bench::peer
