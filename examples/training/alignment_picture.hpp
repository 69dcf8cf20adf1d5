// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The alignment of two strings, one to be reversed and one to be sorted.
#pragma once

#include "picture/heat_map.hpp"
#include "session.hpp"
#include "string_tasks.hpp"

namespace training {

/// The weights of the first string with this task that has seven letters or more.
inline picture::heat_map alignment_map(string_batch const& batch, fovea::tensor<float, 3> const& shares, int task) {
    int s = 0;
    auto const source = [&] { return string_batch::text(batch.source, s); };
    while (batch.source[static_cast<std::size_t>(s * string_batch::positions)] != task || source().size() < 8) ++s;
    picture::heat_map map{task == symbol::reverse ? "reverse" : "sort", {}, {}, {}};
    for (char const symbol : string_batch::text(batch.target, s) + '.') map.queries.emplace_back(1, symbol);
    for (char const symbol : source()) map.keys.emplace_back(1, symbol);
    map.keys.front() = map.title;  // the task
    map.weights = {&shares(s, 0, 0), {string_batch::positions, string_batch::positions}};
    return map;
}

inline void draw_alignment(session const& run, std::string const& name, std::string const& caption,
                           string_batch const& batch, fovea::tensor<float, 3> const& shares) {
    auto const path = run.picture("alignment_" + name);
    picture::save_heat_maps(
        path, "Alignment by " + name, caption,
        {alignment_map(batch, shares, symbol::reverse), alignment_map(batch, shares, symbol::sort)});
    std::printf("drawn in %s\n", path.c_str());
}

}  // namespace training
