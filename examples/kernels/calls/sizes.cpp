// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/calls/sizes.hpp"

namespace calls {
namespace {

/// Makes sizes fit what the operands of a kernel look like.
sizes fitted(sizes n, traits const& kernel) {
    if (!kernel.grouped) n.key_heads = n.heads;
    if (kernel.paged) n.queries = 1;
    if (kernel.one_operand) n.value_features = n.features;
    return n;
}

}  // namespace

traits traits_of(std::string_view kernel) {
    traits t;
    t.paged = kernel == "decode";
    t.grouped = t.paged || kernel == "gqa_causal";
    t.one_operand = kernel == "gat";
    t.over_edges = t.one_operand || kernel == "gatv2";
    return t;
}

std::vector<sizes> checked_sizes(std::string_view kernel) {
    std::vector<sizes> all{
        {.batches = 2, .heads = 4, .key_heads = 2, .queries = 37, .keys = 37, .features = 20, .value_features = 20,
         .slots = 5, .degree = 3},
        {.batches = 2, .heads = 3, .key_heads = 1, .queries = 130, .keys = 130, .features = 33, .value_features = 35,
         .slots = 16, .degree = 9},
        {.batches = 1, .heads = 8, .key_heads = 2, .queries = 67, .keys = 67, .features = 8, .value_features = 8,
         .slots = 8, .degree = 5},
        {}};
    for (auto& n : all) n = fitted(n, traits_of(kernel));
    return all;
}

sizes timed_sizes(std::string_view kernel) {
    auto const t = traits_of(kernel);
    sizes n{.heads = 8, .key_heads = 2, .queries = 512, .keys = 512, .features = 64, .value_features = 64};
    if (t.paged)
        n = {.heads = 32, .key_heads = 8, .keys = 4096, .features = 128, .value_features = 128, .slots = 16};
    if (t.over_edges)
        n = {.heads = 8, .queries = 20000, .keys = 20000, .features = 8, .value_features = 8, .degree = 8};
    return fitted(n, t);
}

}  // namespace calls
