// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/calls/parameters.hpp"

#include <fovea/core/half.hpp>
#include <fovea/testing/random.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace calls {

/// The type that arithmetic is done in.
template <class Element>
using real = std::conditional_t<std::is_same_v<Element, double>, double, float>;

/// operands: the arrays of one call and its arguments, as a kernel of C gets them.
template <class Element>
struct operands {
    traits kind;
    sizes extents;
    parameters arguments;
    std::vector<Element> query, key, value, result;

    operands(std::string_view kernel, sizes const& n)
        : kind(traits_of(kernel)),
          extents(n),
          arguments(n),
          query(count(n.batches, n.heads, n.queries, n.features)),
          key(kind.one_operand ? 0 : rows_of_keys() * static_cast<std::size_t>(n.features)),
          value(kind.one_operand ? 0 : rows_of_keys() * static_cast<std::size_t>(n.value_features)),
          result(count(n.batches, n.heads, n.queries, n.value_features)) {
        fovea::testing::dice random(3);
        for (auto* const each : {&query, &key, &value})
            for (Element& x : *each) x = static_cast<Element>(static_cast<real<Element>>(random.real(-1.7, 1.7)));
    }

    /// Query, key, value and result.
    std::array<fovea_array, 4> arrays() {
        auto const& n = extents;
        auto& keys = kind.one_operand ? query : key;
        auto& values = kind.one_operand ? query : value;
        return {array(query, n.batches, n.heads, n.queries, n.features), key_array(keys, n.features),
                key_array(values, n.value_features), array(result, n.batches, n.heads, n.queries, n.value_features)};
    }

    /// The arguments behind the arrays in a call of a kernel.
    std::vector<fovea_value> values(fovea_kernel const& kernel) const {
        std::vector<fovea_value> all;
        for (std::size_t i = 0; i < kernel.argument_count; ++i)
            all.push_back(arguments.value(kernel.arguments[i].name));
        return all;
    }

private:
    template <class... Extent>
    static std::size_t count(Extent... extent) {
        return static_cast<std::size_t>((extent * ...));
    }
    std::size_t rows_of_keys() const {
        auto const& n = extents;
        return count(n.batches, n.key_heads, kind.paged ? n.pages() * n.slots : n.keys);
    }
    fovea_array array(std::vector<Element>& x, std::int64_t batches, std::int64_t heads, std::int64_t positions,
                      std::int64_t features) const {
        fovea_array a{x.data(), {batches, heads, positions, features}, {heads * positions * features, 0, 0, 1}};
        a.strides[1] = kind.over_edges ? features : positions * features;
        a.strides[2] = kind.over_edges ? heads * features : features;
        return a;
    }
    fovea_array key_array(std::vector<Element>& x, std::int64_t features) const {
        auto const& n = extents;
        if (kind.paged) return array(x, n.batches * n.pages(), n.key_heads, n.slots, features);
        return array(x, n.batches, n.key_heads, n.keys, features);
    }
};

/// Calls f.template operator()<Element>() for the elements that a kernel names, as "f32".
template <class F>
void for_element(std::string_view type, F const& f) {
    if (type == "f32") f.template operator()<float>();
    if (type == "f64") f.template operator()<double>();
    if (type == "bf16") f.template operator()<fovea::bfloat16>();
    if (type == "f16") f.template operator()<fovea::float16>();
}

}  // namespace calls
