// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "picture/colour.hpp"
#include "picture/heat_map.hpp"

#include <cstdio>

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace picture {
namespace {

constexpr int label = 10, cell = 6;

/// Prints a word in a column, cut short with an ellipsis where it is too long.
void print_word(std::string const& word, int column) {
    auto const room = static_cast<std::size_t>(column - 1);
    bool const cut = word.size() > room;
    std::printf("%s%s%*s", word.substr(0, cut ? room - 1 : room).c_str(), cut ? "\u2026" : "",
                column - static_cast<int>(cut ? room : word.size()), "");
}

/// A cell as colour behind the number.
void print_coloured(float weight) {
    if (weight == 0) return void(std::printf("%*s", cell, ""));
    colour const ground = ramp(weight), text = text_on(ground);
    std::printf("\x1b[48;2;%u;%u;%um\x1b[38;2;%u;%u;%um %-*s\x1b[0m", colour::channel(ground.red),
                colour::channel(ground.green), colour::channel(ground.blue), colour::channel(text.red),
                colour::channel(text.green), colour::channel(text.blue), cell - 1, short_number(weight).c_str());
}

/// A cell as a shade before the number; a masked pair is a dot.
void print_shaded(float weight) {
    static constexpr char const* shades[] = {"  ", "\u2591\u2591", "\u2592\u2592", "\u2593\u2593", "\u2588\u2588"};
    auto const shade = static_cast<std::size_t>((weight >= .05f) + (weight >= .2f) + (weight >= .4f) + (weight >= .6f));
    if (weight == 0)
        std::printf("   %-*s", cell - 2, "\u00b7");
    else
        std::printf("%s%-*s", shades[shade], cell - 2, short_number(weight).c_str());
}

}  // namespace

void print_heat_map(heat_map const& map) {
    auto const print_cell = isatty(fileno(stdout)) ? print_coloured : print_shaded;
    std::printf("    %-*s", label, "");
    for (auto const& key : map.keys) print_word(key, cell);
    std::puts("");
    for (std::size_t i = 0; i < map.queries.size(); ++i) {
        std::printf("    ");
        print_word(map.queries[i], label);
        for (std::size_t j = 0; j < map.keys.size(); ++j) print_cell(map.weights(i, j));
        std::puts("");
    }
}

}  // namespace picture
