// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/calls/sizes.hpp"

#include <fovea/bindings/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace calls {

/// parameters: an argument for every name that a kernel of the set takes, for one size of calls.
struct parameters {
    std::int64_t left = 0, right = 0;           // of the window
    std::int64_t distances = 1;                 // of the table of biases
    double cap = 5, bias = 0;                   // of scores
    std::vector<float> slopes;                  // (heads)
    std::vector<float> v;                       // (features)
    std::vector<float> table;                   // (heads, distances)
    std::vector<float> a, a_target, a_source;   // (heads, features)
    std::vector<std::int32_t> ids;              // (keys)
    std::vector<std::int32_t> lengths;          // (batch)
    std::vector<std::int32_t> page_table;       // (batch, pages)
    std::int64_t pages = 0;
    std::vector<std::int64_t> offsets;          // (queries + 1)
    std::vector<std::int32_t> neighbors;        // (edges)

    explicit parameters(sizes const& n);
    parameters(parameters const&) = delete;
    parameters& operator=(parameters const&) = delete;

    /// The argument of a name. Errors: std::invalid_argument where there is none.
    fovea_value value(std::string_view name) const;

private:
    fovea_graph edges_{};
};

}  // namespace calls
