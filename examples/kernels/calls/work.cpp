// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/calls/work.hpp"

#include <algorithm>
#include <numeric>

namespace calls {
namespace {

/// Calls add(i) for each query of a sequence.
template <class Add>
std::int64_t sum_over_queries(sizes const& n, Add const& add) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n.queries; ++i) sum += add(i);
    return n.batches * sum;
}

/// The pairs of one head that take part, in all sequences.
std::int64_t pairs_of(std::string_view kernel, sizes const& n, parameters const& p) {
    if (traits_of(kernel).over_edges) return n.batches * p.offsets.back();
    if (kernel == "decode") return n.queries * std::accumulate(p.lengths.begin(), p.lengths.end(), std::int64_t{0});
    if (kernel == "causal" || kernel == "gqa_causal" || kernel == "alibi")
        return sum_over_queries(n, [](std::int64_t i) { return i + 1; });
    if (kernel == "sliding_window")
        return sum_over_queries(n, [&](std::int64_t i) {
            return std::min(i + p.right + 1, n.keys) - std::max<std::int64_t>(i - p.left, 0);
        });
    if (kernel == "documents")
        return sum_over_queries(n, [&](std::int64_t i) {
            return std::count(p.ids.begin(), p.ids.begin() + i + 1, p.ids[static_cast<std::size_t>(i)]);
        });
    return n.batches * n.queries * n.keys;
}

}  // namespace

double operations_of(std::string_view kernel, sizes const& n, parameters const& p) {
    if (kernel == "linear")
        return 4.0 * static_cast<double>(n.batches * n.heads * n.queries * n.features * n.value_features);
    std::int64_t const features = kernel == "gat" ? 0 : n.features,
                       value_features = kernel == "hard" ? 0 : n.value_features;
    return 2.0 * static_cast<double>(n.heads * pairs_of(kernel, n, p) * (features + value_features));
}

double bytes_of(std::string_view kernel, sizes const& n, parameters const& p, std::size_t bytes_of_element) {
    if (kernel != "decode") return 0;
    auto const rows = n.key_heads * std::accumulate(p.lengths.begin(), p.lengths.end(), std::int64_t{0});
    return static_cast<double>(bytes_of_element) * static_cast<double>(rows * (n.features + n.value_features));
}

}  // namespace calls
