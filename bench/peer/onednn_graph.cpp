// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The graph API of oneDNN 3: product, scale, sum with a mask, softmax and product, handed over as one graph. It must
// come back as one partition, which the library then computes as it thinks best.
#include "bench/peer/peer.hpp"

#include <omp.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <oneapi/dnnl/dnnl_graph.hpp>

namespace bench::peer {
namespace {

namespace dg = dnnl::graph;
using dg::logical_tensor;
using element = logical_tensor::data_type;
using dims = logical_tensor::dims;

template <class T>
constexpr element stored = element::f32;
template <>
constexpr element stored<fovea::bfloat16> = element::bf16;
template <>
constexpr element stored<fovea::float16> = element::f16;

/// The tensors that enter and leave a graph; what lies between has the numbers after them.
enum port : std::size_t { query, key, value, scale, mask, result, inside };

/// The graph of one shape. `between` is the type of the scores.
class graph_of {
public:
    graph_of(element type, element between, bool masked, shape const& s) : masked_(masked) {
        // Query heads that share a key head are a dimension of their own, along which keys and values have size one.
        auto const sizes = [&](dims::value_type shared, dims::value_type rows, dims::value_type columns) {
            if (s.heads == s.key_heads()) return dims{1, s.heads, rows, columns};
            return dims{1, s.key_heads(), shared, rows, columns};
        };
        auto const group = s.heads / s.key_heads(), n = s.length, m = s.key_length();
        auto const add = [](std::size_t id, element of, dims const& size) {
            return logical_tensor(id, of, size, logical_tensor::layout_type::strided);
        };
        inputs_ = {add(query, type, sizes(group, n, s.size)), add(key, type, sizes(1, m, s.size)),
                   add(scale, between, {1}), add(value, type, sizes(1, m, s.size))};
        result_ = add(result, type, sizes(group, n, s.size));
        auto const pairs = sizes(group, n, m);
        auto const products = add(inside, between, pairs), scaled = add(inside + 1, between, pairs),
                   sums = add(inside + 2, between, pairs), weights = add(inside + 3, type, pairs);

        dg::op first(0, dg::op::kind::MatMul, {inputs_[0], inputs_[1]}, {products}, "first");
        first.set_attr<bool>(dg::op::attr::transpose_b, true);
        dg::op const scaling(1, dg::op::kind::Multiply, {products, inputs_[2]}, {scaled}, "scale");
        dg::op softmax(3, dg::op::kind::SoftMax, {masked ? sums : scaled}, {weights}, "softmax");
        softmax.set_attr<std::int64_t>(dg::op::attr::axis, -1);
        dg::op const last(4, dg::op::kind::MatMul, {weights, inputs_[3]}, {result_}, "last");

        dg::graph graph(dnnl::engine::kind::cpu);
        bool accepted = true;  // not all combinations of types are
        auto const accept = [&accepted](dg::status said) { accepted = accepted && said == dg::status::success; };
        accept(graph.add_op(first, false));
        accept(graph.add_op(scaling, false));
        if (masked) {
            inputs_.push_back(add(mask, between, {1, 1, n, m}));
            accept(graph.add_op(dg::op(2, dg::op::kind::Add, {scaled, inputs_.back()}, {sums}, "mask"), false));
        }
        accept(graph.add_op(softmax, false));
        accept(graph.add_op(last, false));
        if (!accepted) return;
        graph.finalize();
        partitions_ = graph.get_partitions();
    }

    bool is_one() const { return partitions_.size() == 1 && partitions_[0].is_supported(); }
    bool masked() const { return masked_; }
    std::vector<logical_tensor> const& inputs() const { return inputs_; }
    logical_tensor const& output() const { return result_; }
    std::vector<logical_tensor> ports() const { return partitions_[0].get_input_ports(); }
    dg::compiled_partition compiled(dnnl::engine const& engine) const {
        return partitions_[0].compile(ports(), {result_}, engine);
    }

private:
    bool masked_;
    std::vector<logical_tensor> inputs_;
    logical_tensor result_;
    std::vector<dg::partition> partitions_;
};

bool is_masked(unfused::steps<float> const& steps) { return steps.causal || !steps.alibi_slopes.empty(); }

template <class T>
std::shared_ptr<graph_of> best_graph(bool masked, shape const& s) {
    for (element const between : {element::f32, stored<T>}) {
        auto const graph = std::make_shared<graph_of>(stored<T>, between, masked, s);
        if (graph->is_one()) return graph;
    }
    return nullptr;
}

template <class T>
bool able(unfused::steps<float> const& steps, shape const& s) {
    if (steps.softcap != 0 || !steps.alibi_slopes.empty()) return false;
    return best_graph<T>(is_masked(steps), s) != nullptr;
}

/// 0 for pairs that see each other, minus infinity for the others.
float mask_at(unfused::steps<float> const& steps, index_t i, index_t j) {
    bool const visible = (!steps.causal || j <= i) && (steps.window == 0 || i - j < steps.window);
    return visible ? 0 : -std::numeric_limits<float>::infinity();
}

/// A compiled graph with its memory.
template <class T>
class compiled_graph {
public:
    compiled_graph(yardstick::operands<T>& o, unfused::steps<float> const& steps) {
        shape const s{.heads = o.query.extent(1),
                      .kv_heads = o.key.extent(1),
                      .length = o.query.extent(2),
                      .keys = o.key.extent(2),
                      .size = o.query.extent(3)};
        auto const graph = best_graph<T>(is_masked(steps), s);
        program_ = graph->compiled(engine_);
        fill(1 / std::sqrt(static_cast<float>(s.size)), scale_in_float_, scale_);
        if (graph->masked()) {
            mask_in_float_ = fovea::tensor<float, 2>({s.length, s.keys});
            mask_ = fovea::tensor<T, 2>({s.length, s.keys});
            for (index_t i = 0; i < s.length; ++i)
                for (index_t j = 0; j < s.keys; ++j) fill(mask_at(steps, i, j), mask_in_float_(i, j), mask_(i, j));
        }
        for (logical_tensor const& port : graph->ports()) {
            bool const in_float = port.get_data_type() == element::f32;
            void* const memory[] = {o.query.data(), o.key.data(), o.value.data(),
                                    in_float ? static_cast<void*>(&scale_in_float_) : &scale_,
                                    in_float ? static_cast<void*>(mask_in_float_.data()) : mask_.data()};
            inputs_.emplace_back(port, engine_, memory[port.get_id()]);
        }
        outputs_.emplace_back(graph->output(), engine_, o.result.data());
    }

    void run() {
        program_.execute(stream_, inputs_, outputs_);
        stream_.wait();
    }

private:
    static void fill(float x, float& in_float, T& stored) {
        in_float = x;
        stored = static_cast<T>(x);
    }

    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    dg::compiled_partition program_;
    float scale_in_float_ = 0;
    T scale_{};
    fovea::tensor<float, 2> mask_in_float_{{0, 0}};
    fovea::tensor<T, 2> mask_{{0, 0}};
    std::vector<dg::tensor> inputs_, outputs_;
};

template <class T>
library<T> onednn() {
    auto const* const version = dnnl_version();
    return {
        "onednn",
        std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch),
        able<T>, [](request<T> const& asked) {
            omp_set_num_threads(1);
            auto const graph = std::make_shared<compiled_graph<T>>(asked.o, asked.steps);
            return program{[graph] { graph->run(); }};
        }};
}

entry<float> const singles(onednn<float>());
entry<fovea::bfloat16> const pairs_of_bytes(onednn<fovea::bfloat16>());
entry<fovea::float16> const halves(onednn<fovea::float16>());

}  // namespace
}  // namespace bench::peer
