// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "picture/heat_map.hpp"

#include "picture/svg.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace picture {
namespace {

constexpr double cell = 46, label_width = 96, label_height = 86, gap = 36, margin = 32, heading = 78, scale_height = 92;

double width_of(heat_map const& map) { return label_width + cell * static_cast<double>(map.keys.size()); }
double height_of(heat_map const& map) { return 30 + label_height + cell * static_cast<double>(map.queries.size()); }

void draw_cell(svg& drawing, point corner, float weight, double top) {
    bool const blank = weight == 0;
    colour const fill = blank ? faint : ramp(weight / top);
    drawing.rectangle({corner.x + 1, corner.y + 1}, cell - 2, cell - 2, fill, 4);
    if (!blank)
        drawing.text({corner.x + cell / 2, corner.y + cell / 2 + 4.5}, short_number(weight),
                     {.size = 13, .fill = text_on(fill), .anchor = "middle"});
}

void draw_map(svg& drawing, point corner, heat_map const& map, double top) {
    point const grid{corner.x + label_width, corner.y + 30 + label_height};
    drawing.text({grid.x, corner.y + 16}, map.title, {.size = 16, .bold = true});
    for (std::size_t j = 0; j < map.keys.size(); ++j) {
        point const above{grid.x + cell * (static_cast<double>(j) + 0.5), grid.y - 10};
        if (map.keys[j].size() <= 2) drawing.text(above, map.keys[j], {.size = 14, .anchor = "middle"});
        else drawing.text({above.x + 4, above.y}, map.keys[j], {.size = 14, .turn = -50});
    }
    for (std::size_t i = 0; i < map.queries.size(); ++i) {
        double const y = grid.y + cell * static_cast<double>(i);
        drawing.text({grid.x - 12, y + cell / 2 + 5}, map.queries[i], {.size = 14, .anchor = "end"});
        for (std::size_t j = 0; j < map.keys.size(); ++j)
            draw_cell(drawing, {grid.x + cell * static_cast<double>(j), y}, map.weights(i, j), top);
    }
}

void draw_scale(svg& drawing, point corner, double top) {
    constexpr int steps = 80;
    constexpr double length = 320, height = 14;
    for (int i = 0; i < steps; ++i)
        drawing.rectangle({corner.x + length * i / steps, corner.y}, length / steps + 0.5, height,
                          ramp((i + 0.5) / steps));
    for (int i = 0; i <= 4; ++i)
        drawing.text({corner.x + length * i / 4, corner.y + height + 17}, short_number(static_cast<float>(top * i / 4)),
                     {.size = 12, .fill = quiet, .anchor = "middle"});
    drawing.text({corner.x + length + 24, corner.y + 12}, "weight", {.fill = quiet});
    drawing.rectangle({corner.x + length + 100, corner.y - 1}, 16, 16, faint, 3);
    drawing.text({corner.x + length + 124, corner.y + 12}, "exactly 0: not visible, or without weight", {.fill = quiet});
}

}  // namespace

std::string short_number(float weight) {
    if (weight == 0) return "0";
    char text[16];
    std::snprintf(text, sizeof text, "%.2f", static_cast<double>(weight));
    return text[0] == '0' ? text + 1 : std::string(text, 3);
}

void save_heat_maps(std::string const& path, std::string const& title, std::string const& caption,
                    std::vector<heat_map> const& maps) {
    double width = 2 * margin - gap, height = 0, top = 0;
    for (auto const& map : maps) {
        width += width_of(map) + gap;
        height = std::max(height, height_of(map));
        for (std::size_t i = 0; i < map.queries.size(); ++i)
            for (std::size_t j = 0; j < map.keys.size(); ++j)
                top = std::max(top, static_cast<double>(map.weights(i, j)));
    }
    top = std::ceil(top * 10) / 10;

    svg drawing(width + 40, heading + height + scale_height + margin);
    drawing.text({margin, margin + 14}, title, {.size = 22, .bold = true});
    drawing.text({margin, margin + 38}, caption, {.size = 14, .fill = quiet});
    double x = margin;
    for (auto const& map : maps) {
        draw_map(drawing, {x, margin + heading - 14}, map, top);
        x += width_of(map) + gap;
    }
    draw_scale(drawing, {margin + label_width, margin + heading + height + 24}, top);
    drawing.save(path);
}

}  // namespace picture
