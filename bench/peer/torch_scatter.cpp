// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graph attention as layers on top of PyTorch write it: gather by edge, softmax by scatter, messages, scatter. Its
// maximum is the operator of torch_scatter's package for Python, which registers itself when it is loaded; its sum is
// PyTorch's scatter_add_, as in that package.
#include "bench/peer/graph.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <memory>
#include <stdexcept>
#include <tuple>

namespace bench::peer {
namespace {

using at::Tensor;
using max_t = std::tuple<Tensor, Tensor>(Tensor, Tensor, std::int64_t, std::optional<Tensor>,
                                         std::optional<std::int64_t>);

/// Python's library is only named by it: no interpreter runs.
template <class Signature>
auto loaded(char const* name) {
    for (char const* const library : {FOVEA_PYTHON, FOVEA_TORCH_SCATTER})
        if (!dlopen(library, RTLD_NOW | RTLD_GLOBAL)) throw std::runtime_error(dlerror());
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

class layer {
public:
    explicit layer(graph_request const& asked)
        : heads_(asked.target.extent(0)),
          size_(asked.target.extent(1)),
          nodes_(asked.features.extent(0)),
          features_(at::from_blob(asked.features.data(), {nodes_, heads_, size_})),
          target_(at::from_blob(asked.target.data(), {1, heads_, size_})),
          source_(at::from_blob(asked.source.data(), {1, heads_, size_})),
          result_(at::from_blob(asked.result.data(), {nodes_, heads_, size_})),
          reads_(at::empty({static_cast<std::int64_t>(asked.graph.keys.size())}, at::kLong)),
          is_read_(at::empty_like(reads_)) {
        at::set_num_threads(1);
        auto* const reads = reads_.data_ptr<std::int64_t>();
        auto* const is_read = is_read_.data_ptr<std::int64_t>();
        for (index_t i = 0; i < asked.graph.queries(); ++i) {
            auto const end = static_cast<index_t>(asked.graph.offsets[static_cast<std::size_t>(i) + 1]);
            for (auto e = static_cast<index_t>(asked.graph.offsets[static_cast<std::size_t>(i)]); e < end; ++e) {
                reads[e] = i;
                is_read[e] = asked.graph.keys[static_cast<std::size_t>(e)];
            }
        }
    }

    void run() {
        c10::InferenceMode const no_gradients;
        auto const own = (features_ * target_).sum(-1), other = (features_ * source_).sum(-1);
        auto const scores = at::leaky_relu(own.index_select(0, reads_) + other.index_select(0, is_read_), 0.2);
        auto const by_head = reads_.view({-1, 1}).expand_as(scores);
        auto const greatest = std::get<0>(max_.call(scores, by_head, 0, {}, nodes_));
        auto const weights = (scores - greatest.index_select(0, reads_)).exp_();
        auto const totals = at::zeros({nodes_, heads_}).scatter_add_(0, by_head, weights);
        auto const shares = weights.div_(totals.index_select(0, reads_)).unsqueeze(-1);
        auto const messages = features_.index_select(0, is_read_).mul_(shares);
        computed_ = at::zeros({nodes_, heads_, size_});
        computed_.scatter_add_(0, reads_.view({-1, 1, 1}).expand_as(messages), messages);
    }
    void settle() { result_.copy_(computed_); }

private:
    std::int64_t heads_, size_, nodes_;
    Tensor features_, target_, source_, result_, computed_;
    Tensor reads_, is_read_;  // of each edge: the node that reads, and the one that is read
    c10::TypedOperatorHandle<max_t> max_ = loaded<max_t>("torch_scatter::scatter_max");
};

bool const entered = [] {
    graph_libraries().push_back({"torch_scatter", FOVEA_TORCH_SCATTER_VERSION, [](graph_request const& asked) {
                                     auto const made = std::make_shared<layer>(asked);
                                     return program{[made] { made->run(); }, [made] { made->settle(); }};
                                 }});
    return true;
}();

}  // namespace
}  // namespace bench::peer
