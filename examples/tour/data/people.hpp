// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/tensor.hpp>

#include <string_view>
#include <vector>

/// people: names to look up, and how names that are spelt alike become vectors that point alike.
namespace people {

struct person {
    std::string_view name;
    float born;
};

std::vector<person> const& all();

inline constexpr fovea::index_t features = 512;

/// One row per name: how often each run of two and of three characters occurs in it, each run counted in the slot its
/// hash names. Case is ignored; the name's two ends count as characters. (1, 1, name, feature)
fovea::tensor<float, 4> character_runs(std::vector<std::string_view> const& names);

}  // namespace people
