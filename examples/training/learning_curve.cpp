// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The picture of learning curves.
#include "session.hpp"

#include "picture/svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace training {
namespace {

using picture::colour;
using picture::point;

constexpr double width = 880, height = 520, left = 90, right = 200, top = 118, bottom = 64;
constexpr std::array<colour, 5> colours{
    {{36, 70, 146}, {232, 120, 40}, {60, 150, 110}, {180, 60, 110}, {110, 110, 110}}};

/// Where a step and a loss are on paper: losses by their logarithm.
struct axes {
    double last_step = 1, lowest = 1e30, highest = 1e-30;

    explicit axes(std::vector<learning_curve> const& curves) {
        for (auto const& curve : curves) {
            last_step = std::max(last_step, curve.steps.back());
            for (double const loss : curve.losses) lowest = std::min(lowest, loss), highest = std::max(highest, loss);
        }
        lowest = std::max(lowest, 1e-5);
        highest = std::max(highest, 2 * lowest);
    }
    point at(double step, double loss) const {
        double const share = std::log(std::max(loss, lowest) / lowest) / std::log(highest / lowest);
        return {left + (width - left - right) * step / last_step, height - bottom - (height - top - bottom) * share};
    }
};

/// The next of 1, 2, 5, 10, 20, 50, ...
double round_part(double least) {
    double part = 1;
    for (int i = 0; part < least; ++i) part *= i % 3 == 1 ? 2.5 : 2;
    return part;
}

void draw_grid(picture::svg& drawing, axes const& on) {
    for (double decade = 1e-5; decade < on.highest; decade *= 10)
        for (double const part : {1.0, 2.0, 5.0}) {
            double const loss = decade * part;
            if (loss < on.lowest || loss > on.highest) continue;
            point const from = on.at(0, loss), to = on.at(on.last_step, loss);
            drawing.line({from, to}, part == 1.0 ? 1.2 : 0.6, {214, 217, 222});
            char text[16];
            std::snprintf(text, sizeof text, "%g", loss);
            drawing.text({from.x - 10, from.y + 4.5}, text, {.fill = picture::quiet, .anchor = "end"});
        }
    double const apart = round_part(on.last_step / 6);
    for (double step = 0; step <= on.last_step; step += apart)
        drawing.text({on.at(step, on.lowest).x, height - bottom + 24}, std::to_string(static_cast<long>(step)),
                     {.fill = picture::quiet, .anchor = "middle"});
    drawing.text({(left + width - right) / 2, height - 16}, "step", {.fill = picture::quiet, .anchor = "middle"});
    drawing.text({left - 10, top - 14}, "loss, nats", {.fill = picture::quiet, .anchor = "end"});
}

/// Means over a fiftieth of the curve: what is left shows where it goes.
std::vector<point> smoothed(learning_curve const& curve, axes const& on) {
    std::size_t const count = curve.losses.size(), span = std::max<std::size_t>(1, count / 50);
    std::vector<point> points;
    for (std::size_t first = 0; first < count; first += span) {
        std::size_t const end = std::min(count, first + span);
        double sum = 0;
        for (std::size_t i = first; i < end; ++i) sum += curve.losses[i];
        points.push_back(on.at(curve.steps[(first + end - 1) / 2], sum / static_cast<double>(end - first)));
    }
    return points;
}

}  // namespace

void save_curves(std::string const& path, std::string const& title, std::string const& caption,
                 std::vector<learning_curve> const& curves) {
    axes const on(curves);
    picture::svg drawing(width, height);
    drawing.text({32, 46}, title, {.size = 22, .bold = true});
    drawing.text({32, 70}, caption, {.size = 14, .fill = picture::quiet});
    draw_grid(drawing, on);
    for (std::size_t c = 0; c < curves.size(); ++c) {
        colour const& stroke = colours[c % colours.size()];
        std::vector<point> every;
        for (std::size_t i = 0; i < curves[c].losses.size(); ++i)
            every.push_back(on.at(curves[c].steps[i], curves[c].losses[i]));
        drawing.line(every, 0.8, mix(stroke, picture::paper, 0.72));
    }
    for (std::size_t c = 0; c < curves.size(); ++c) {
        colour const& stroke = colours[c % colours.size()];
        drawing.line(smoothed(curves[c], on), 2.4, stroke);
        double const y = top + 12 + 26 * static_cast<double>(c);
        drawing.line({{width - right + 24, y - 4}, {width - right + 50, y - 4}}, 3, stroke);
        drawing.text({width - right + 58, y}, curves[c].name);
    }
    drawing.save(path);
    std::printf("drawn in %s\n", path.c_str());
}

}  // namespace training
