// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "picture/colour.hpp"
#include "picture/point.hpp"

#include <cmath>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace picture {

/// How a text stands on its point.
struct type_style {
    double size = 13;
    colour fill = ink;
    char const* anchor = "start";  // start, middle, end
    bool bold = false;
    double turn = 0;  // degrees, clockwise
};

/// svg: a picture under construction; shapes are painted in the order they are added.
class svg {
public:
    svg(double width, double height) : width_(width), height_(height) {
        body_ << std::fixed << std::setprecision(2);
        rectangle({0, 0}, width, height, paper);
    }

    void rectangle(point corner, double width, double height, colour const& fill, double radius = 0) {
        body_ << "<rect x='" << corner.x << "' y='" << corner.y << "' width='" << width << "' height='" << height
              << "' rx='" << radius << "' fill='" << fill.hex() << "'/>\n";
    }

    void circle(point centre, double radius, colour const& fill, colour const& rim = paper, double rim_width = 0) {
        body_ << "<circle cx='" << centre.x << "' cy='" << centre.y << "' r='" << radius << "' fill='" << fill.hex()
              << "' stroke='" << rim.hex() << "' stroke-width='" << rim_width << "'/>\n";
    }

    /// A line through all points.
    void line(std::vector<point> const& points, double width, colour const& stroke) {
        body_ << "<polyline fill='none' stroke-linejoin='round' stroke='" << stroke.hex() << "' stroke-width='" << width
              << "' points='";
        for (auto const& p : points) body_ << p.x << ',' << p.y << ' ';
        body_ << "'/>\n";
    }

    /// A band from one point to another whose width and colour change evenly along it.
    void band(point from, point to, double from_width, double to_width, colour const& from_fill,
              colour const& to_fill) {
        double const dx = to.x - from.x, dy = to.y - from.y, length = std::hypot(dx, dy);
        double const nx = -dy / length / 2, ny = dx / length / 2;
        ++gradients_;
        body_ << "<linearGradient id='g" << gradients_ << "' gradientUnits='userSpaceOnUse' x1='" << from.x << "' y1='"
              << from.y << "' x2='" << to.x << "' y2='" << to.y << "'><stop offset='0' stop-color='" << from_fill.hex()
              << "'/><stop offset='1' stop-color='" << to_fill.hex() << "'/></linearGradient><path d='M"
              << from.x + nx * from_width << ' ' << from.y + ny * from_width << 'L' << to.x + nx * to_width << ' '
              << to.y + ny * to_width << 'L' << to.x - nx * to_width << ' ' << to.y - ny * to_width << 'L'
              << from.x - nx * from_width << ' ' << from.y - ny * from_width << "Z' fill='url(#g" << gradients_
              << ")'/>\n";
    }

    void text(point at, std::string const& words, type_style const& style = {}) {
        body_ << "<text x='" << at.x << "' y='" << at.y << "' font-size='" << style.size << "' fill='"
              << style.fill.hex() << "' text-anchor='" << style.anchor << "'";
        if (style.bold) body_ << " font-weight='bold'";
        if (style.turn != 0) body_ << " transform='rotate(" << style.turn << ' ' << at.x << ' ' << at.y << ")'";
        body_ << '>' << escape(words) << "</text>\n";
    }

    void save(std::string const& path) const {
        std::ofstream file(path);
        file << "<svg xmlns='http://www.w3.org/2000/svg' width='" << width_ << "' height='" << height_
             << "' viewBox='0 0 " << width_ << ' ' << height_
             << "' font-family='DejaVu Sans, Verdana, Helvetica, Arial, sans-serif'>\n"
             << body_.str() << "</svg>\n";
        if (!file.flush()) throw std::runtime_error("cannot write " + path);
    }

private:
    static std::string escape(std::string const& words) {
        std::string safe;
        for (char const c : words) c == '&' ? safe += "&amp;" : c == '<' ? safe += "&lt;" : safe += c;
        return safe;
    }

    double width_, height_;
    int gradients_ = 0;
    std::ostringstream body_;
};

}  // namespace picture
