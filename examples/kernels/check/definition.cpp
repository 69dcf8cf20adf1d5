// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/check/definition.hpp"

#include <fovea/reference/attend.hpp>

#include "specifications.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace check {
namespace {

using fovea::index_t, fovea::view;

template <class Element>
view<Element, 4> view_of(fovea_array const& a) {
    fovea::extents_t<4> extents{}, strides{};
    std::copy_n(a.extents, 4, extents.begin());
    std::copy_n(a.strides, 4, strides.begin());
    return {static_cast<Element*>(a.data), extents, strides};
}

template <class Number, class... Extent>
view<Number const, sizeof...(Extent)> table(std::vector<Number> const& x, Extent... extents) {
    return {x.data(), {extents...}};
}

/// Calls by(specification) with that of a kernel that is built for any type.
template <class By>
bool any_type(std::string_view kernel, calls::sizes const& n, calls::parameters const& p, By const& by) {
    using namespace specifications;
    if (kernel == "causal") by(causal_kernel());
    else if (kernel == "gqa_causal") by(gqa_causal_kernel());
    else if (kernel == "decode") by(decode_kernel().make(table(p.lengths, n.batches)));
    else return false;
    return true;
}

template <class By>
bool without_arguments(std::string_view kernel, By const& by) {
    using namespace specifications;
    if (kernel == "dot") by(dot_kernel());
    else if (kernel == "scaled") by(scaled_kernel());
    else if (kernel == "hard") by(hard_kernel());
    else if (kernel == "cosine") by(cosine_kernel());
    else if (kernel == "sparsemax") by(sparsemax_kernel());
    else if (kernel == "entmax15") by(entmax15_kernel());
    else if (kernel == "linear") by(linear_kernel());
    else return false;
    return true;
}

template <class By>
bool with_arguments(std::string_view kernel, calls::sizes const& n, calls::parameters const& p, By const& by) {
    using namespace specifications;
    if (kernel == "sliding_window") by(sliding_window_kernel().make(p.left, p.right));
    else if (kernel == "alibi") by(alibi_kernel().make(table(p.slopes, n.heads)));
    else if (kernel == "softcap") by(softcap_kernel().make(static_cast<float>(p.cap)));
    else if (kernel == "additive") by(additive_kernel().make(table(p.v, n.features)));
    else if (kernel == "relative_bias") by(relative_bias_kernel().make(table(p.table, n.heads, p.distances)));
    else if (kernel == "sigmoid") by(sigmoid_kernel().make(static_cast<float>(p.bias)));
    else if (kernel == "documents") by(documents_kernel().make(table(p.ids, n.keys)));
    else return false;
    return true;
}

template <class By>
bool over_edges(std::string_view kernel, calls::sizes const& n, calls::parameters const& p, By const& by) {
    using namespace specifications;
    fovea::graph_view const edges{p.offsets, p.neighbors};
    auto const numbers = [&](std::vector<float> const& x) { return table(x, n.heads, n.features); };
    if (kernel == "gat") by(gat_kernel().make(numbers(p.a_target), numbers(p.a_source), edges));
    else if (kernel == "gatv2") by(gatv2_kernel().make(numbers(p.a), edges));
    else return false;
    return true;
}

}  // namespace

template <class Real, class Element>
fovea::tensor<Real, 4> result_by_definition(std::string_view kernel, calls::operands<Element>& o) {
    auto const& n = o.extents;
    auto const& p = o.arguments;
    auto const arrays = o.arrays();
    auto const query = view_of<Element const>(arrays[0]), key = view_of<Element const>(arrays[1]),
               value = view_of<Element const>(arrays[2]);
    fovea::tensor<Real, 4> result({n.batches, n.heads, n.queries, n.value_features});
    auto const by = [&](auto const& specification) {
        if (!o.kind.paged)
            return fovea::reference::attend_in<Real>(specification, query, key, value, result.view());
        auto const pages = table(p.page_table, n.batches, p.pages);
        fovea::reference::attend_in<Real>(specification, query, fovea::paged(key, pages), fovea::paged(value, pages),
                                          result.view());
    };
    bool found = any_type(kernel, n, p, by);
    if constexpr (std::is_same_v<Element, float>)
        found = found || without_arguments(kernel, by) || with_arguments(kernel, n, p, by)
             || over_edges(kernel, n, p, by);
    if (!found) throw std::invalid_argument("'" + std::string(kernel) + "' has no definition here");
    return result;
}

#define EXAMPLE_DEFINITION(Real, Element) \
    template fovea::tensor<Real, 4> result_by_definition<Real, Element>(std::string_view, calls::operands<Element>&);
EXAMPLE_DEFINITION(double, float)
EXAMPLE_DEFINITION(float, float)
EXAMPLE_DEFINITION(double, fovea::bfloat16)
EXAMPLE_DEFINITION(float, fovea::bfloat16)
EXAMPLE_DEFINITION(double, fovea::float16)
EXAMPLE_DEFINITION(float, fovea::float16)
EXAMPLE_DEFINITION(long double, double)
EXAMPLE_DEFINITION(double, double)

}  // namespace check
