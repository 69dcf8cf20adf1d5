// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace picture {

struct colour {
    double red, green, blue;  // 0 ... 255

    /// Perceived lightness, 0 (black) to 1 (white): decides whether text on it is dark or light.
    double lightness() const { return (0.299 * red + 0.587 * green + 0.114 * blue) / 255; }

    /// "#rrggbb".
    std::string hex() const {
        char text[8];
        std::snprintf(text, sizeof text, "#%02x%02x%02x", channel(red), channel(green), channel(blue));
        return text;
    }

    static unsigned channel(double value) { return static_cast<unsigned>(std::clamp(value, 0.0, 255.0) + 0.5); }
};

inline colour mix(colour const& a, colour const& b, double share_of_b) {
    auto const between = [share_of_b](double x, double y) { return x + (y - x) * share_of_b; };
    return {between(a.red, b.red), between(a.green, b.green), between(a.blue, b.blue)};
}

/// ramp: 0 ... 1 as pale yellow, green, blue to near black; its lightness falls steadily, so it survives grey printing.
inline colour ramp(double value) {
    static constexpr std::array<colour, 7> stops{{{253, 253, 232},
                                                  {219, 241, 186},
                                                  {139, 208, 187},
                                                  {65, 174, 196},
                                                  {33, 120, 180},
                                                  {36, 70, 146},
                                                  {10, 28, 84}}};
    double const at = std::clamp(value, 0.0, 1.0) * (stops.size() - 1);
    auto const below = std::min(static_cast<std::size_t>(at), stops.size() - 2);
    return mix(stops[below], stops[below + 1], at - static_cast<double>(below));
}

inline constexpr colour ink{38, 42, 51}, quiet{112, 118, 130}, paper{255, 255, 255}, faint{241, 242, 244};

/// The colour of text that stays readable on this ground.
inline colour text_on(colour const& ground) { return ground.lightness() < 0.5 ? paper : ink; }

}  // namespace picture
