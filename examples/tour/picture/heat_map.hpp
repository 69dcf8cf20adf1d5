// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/view.hpp>

#include <string>
#include <vector>

namespace picture {

/// heat_map: attention weights (queries, keys) with a name for every row and column.
struct heat_map {
    std::string title;
    std::vector<std::string> queries, keys;
    fovea::view<float const, 2> weights;  // (queries, keys)
};

/// Writes the maps side by side, with a common colour scale. A weight of exactly 0 (a masked pair) is left blank.
void save_heat_maps(std::string const& path, std::string const& title, std::string const& caption,
                    std::vector<heat_map> const& maps);

/// Prints the map: coloured cells where standard output is a terminal, shades of grey where it is not.
void print_heat_map(heat_map const& map);

/// A weight in three characters: ".42", "1.0", and " · " for exactly 0.
std::string short_number(float weight);

}  // namespace picture
