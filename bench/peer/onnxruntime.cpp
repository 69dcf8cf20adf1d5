// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ONNX Runtime: its operators MultiHeadAttention and, for grouped heads and a cache, GroupQueryAttention, each alone in
// a model that is built in memory.
#include "bench/peer/peer.hpp"

#include <onnx/onnx_pb.h>

#include <onnxruntime_cxx_api.h>
#include <iostream>
#include <memory>

namespace bench::peer {
namespace {

using dims = std::vector<std::int64_t>;

/// A model of one operator, all of whose inputs and outputs are those of the model.
class one_operator {
public:
    explicit one_operator(std::string const& type) {
        model_.set_ir_version(8);
        add_domain("", 17);
        add_domain("com.microsoft", 1);
        model_.mutable_graph()->set_name(type);
        node_ = model_.mutable_graph()->add_node();
        node_->set_op_type(type);
        node_->set_domain("com.microsoft");
    }

    void attribute(char const* name, std::int64_t value) {
        auto* const attribute = node_->add_attribute();
        attribute->set_name(name);
        attribute->set_type(onnx::AttributeProto::INT);
        attribute->set_i(value);
    }
    /// An empty name leaves out an input that is optional.
    void input(std::string const& name, onnx::TensorProto::DataType type = onnx::TensorProto::FLOAT, int rank = 3) {
        node_->add_input(name);
        if (!name.empty()) describe(*model_.mutable_graph()->add_input(), name, type, rank);
    }
    void output(std::string const& name, int rank = 3) {
        node_->add_output(name);
        describe(*model_.mutable_graph()->add_output(), name, onnx::TensorProto::FLOAT, rank);
    }
    std::string bytes() const { return model_.SerializeAsString(); }

private:
    void add_domain(char const* name, std::int64_t version) {
        auto* const domain = model_.add_opset_import();
        domain->set_domain(name);
        domain->set_version(version);
    }
    static void describe(onnx::ValueInfoProto& info, std::string const& name, onnx::TensorProto::DataType type,
                         int rank) {
        info.set_name(name);
        info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
        auto* const sizes = info.mutable_type()->mutable_tensor_type()->mutable_shape();
        for (int i = 0; i < rank; ++i) sizes->add_dim()->set_dim_param(name + std::to_string(i));
    }

    onnx::ModelProto model_;
    onnx::NodeProto* node_;
};

enum class kind { multi_head, grouped, cached };

/// A cache is read by one query at its end: more would see each other's keys.
kind kind_of(unfused::steps<float> const& steps, shape const& s) {
    if (!steps.causal && s.length == 1) return kind::cached;
    return steps.causal ? kind::grouped : kind::multi_head;
}

bool able(unfused::steps<float> const& steps, shape const& s) {
    if (steps.softcap != 0 || !steps.alibi_slopes.empty() || steps.window != 0) return false;
    return kind_of(steps, s) != kind::multi_head || s.heads == s.key_heads();
}

std::string model_of(kind which, shape const& s) {
    one_operator node(which == kind::multi_head ? "MultiHeadAttention" : "GroupQueryAttention");
    node.attribute("num_heads", s.heads);
    for (char const* const name : {"query", "key", "value"}) node.input(name);
    node.output("result");
    if (which == kind::multi_head) return node.bytes();
    node.attribute("kv_num_heads", s.key_heads());
    for (char const* const name : {"past_key", "past_value"}) node.input(name, onnx::TensorProto::FLOAT, 4);
    node.input("seqlens_k", onnx::TensorProto::INT32, 1);
    node.input("total_sequence_length", onnx::TensorProto::INT32, 1);
    for (char const* const name : {"present_key", "present_value"}) node.output(name, 4);
    return node.bytes();
}

/// Standard error is closed for std::cerr as long as it lives.
class silence {
public:
    silence() = default;
    silence(silence const&) = delete;
    silence& operator=(silence const&) = delete;
    ~silence() {
        std::cerr.rdbuf(shown_);
        std::cerr.clear();
    }

private:
    std::streambuf* shown_ = std::cerr.rdbuf(nullptr);
};

Ort::Env& environment() {
    static Ort::Env env(ORT_LOGGING_LEVEL_WARNING, "bench");
    return env;
}

/// The first session enters all operators of ONNX a second time in Debian's build, and ONNX complains of each. What is
/// wrong with a session is thrown.
Ort::Session session_of(std::string const& model) {
    Ort::SessionOptions options;
    options.SetIntraOpNumThreads(1);
    options.SetInterOpNumThreads(1);
    silence const of_known_complaints;
    return {environment(), model.data(), model.size(), options};
}

/// Positions first, as these operators take them: (1, position, head times feature).
void to_positions(fovea::tensor<float, 4> const& from, index_t first, index_t count, std::vector<float>& to) {
    index_t const heads = from.extent(1), size = from.extent(3);
    to.resize(static_cast<std::size_t>(count * heads * size));
    auto* at = to.data();
    for (index_t i = first; i < first + count; ++i)
        for (index_t h = 0; h < heads; ++h)
            for (index_t c = 0; c < size; ++c) *at++ = from(0, h, i, c);
}

/// A session with its memory.
class attention {
public:
    attention(yardstick::operands<float>& o, unfused::steps<float> const& steps)
        : o_(o),
          s_{.heads = o.query.extent(1),
             .kv_heads = o.key.extent(1),
             .length = o.query.extent(2),
             .keys = o.key.extent(2),
             .size = o.query.extent(3)},
          kind_(kind_of(steps, s_)),
          session_(session_of(model_of(kind_, s_))),
          binding_(session_) {
        index_t const first = kind_ == kind::cached ? s_.keys - 1 : 0, fresh = s_.keys - first;
        to_positions(o.query, 0, s_.length, query_);
        to_positions(o.key, first, fresh, key_);
        to_positions(o.value, first, fresh, value_);
        result_.resize(query_.size());
        bind("query", query_, {1, s_.length, s_.heads * s_.size});
        bind("key", key_, {1, fresh, s_.kv_heads * s_.size});
        bind("value", value_, {1, fresh, s_.kv_heads * s_.size});
        binding_.BindOutput("result", tensor(result_, {1, s_.length, s_.heads * s_.size}));
        if (kind_ != kind::multi_head) bind_cache();
    }

    void run() { session_.Run(Ort::RunOptions{nullptr}, binding_); }

    void settle() {
        auto const* at = result_.data();
        for (index_t i = 0; i < s_.length; ++i)
            for (index_t h = 0; h < s_.heads; ++h)
                for (index_t c = 0; c < s_.size; ++c) o_.result(0, h, i, c) = *at++;
    }

private:
    template <class T>
    Ort::Value tensor(std::vector<T>& memory, dims const& sizes) {
        return Ort::Value::CreateTensor<T>(cpu_, memory.data(), memory.size(), sizes.data(), sizes.size());
    }
    template <class T>
    void bind(char const* name, std::vector<T>& memory, dims const& sizes) {
        binding_.BindInput(name, tensor(memory, sizes));
    }

    /// Past and present share their memory, as in a program that decodes: a new key is written behind the others.
    void bind_cache() {
        dims const sizes{1, s_.kv_heads, s_.keys, s_.size};
        past_key_.assign(o_.key.data(), o_.key.data() + o_.key.size());
        past_value_.assign(o_.value.data(), o_.value.data() + o_.value.size());
        bind("past_key", past_key_, sizes);
        bind("past_value", past_value_, sizes);
        last_ = {static_cast<std::int32_t>(s_.keys - 1)};
        total_ = {static_cast<std::int32_t>(s_.keys)};
        bind("seqlens_k", last_, {1});
        bind("total_sequence_length", total_, {1});
        binding_.BindOutput("present_key", tensor(past_key_, sizes));
        binding_.BindOutput("present_value", tensor(past_value_, sizes));
    }

    yardstick::operands<float>& o_;
    shape s_;
    kind kind_;
    Ort::MemoryInfo cpu_ = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    Ort::Session session_;
    Ort::IoBinding binding_;
    std::vector<float> query_, key_, value_, result_, past_key_, past_value_;
    std::vector<std::int32_t> last_, total_;
};

entry<float> const singles({"onnxruntime", Ort::GetVersionString(), able, [](request<float> const& asked) {
                                auto const made = std::make_shared<attention>(asked.o, asked.steps);
                                return program{[made] { made->run(); }, [made] { made->settle(); }};
                            }});

}  // namespace
}  // namespace bench::peer
