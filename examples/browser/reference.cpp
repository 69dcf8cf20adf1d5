// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The weights of the page by the definition, in double, on this machine: one number a line.
//
//     reference friends TEMPERATURE
//     reference past SEEN PERIOD LIMIT
#include "calls.hpp"

#include "data/karate_club.hpp"

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace {

auto const defined = [](auto&&... arguments) {
    fovea::reference::attend(std::forward<decltype(arguments)>(arguments)...);
};

void write_out(auto const& shares) {
    for (float const share : shares) std::printf("%.9g\n", static_cast<double>(share));
}

}  // namespace

int main(int count, char** values) {
    std::string_view const call = count > 1 ? values[1] : "";
    if (call == "friends" && count == 3) {
        fovea::tensor<float, 4> shares({1, browser::club_heads, karate_club::members, karate_club::members});
        browser::attend_to_friends(defined, std::stof(values[2]), shares);
        write_out(shares);
    } else if (call == "past" && count == 5) {
        fovea::tensor<float, 2> shares({browser::positions, browser::positions});
        auto const seen = static_cast<browser::past>(std::stoi(values[2]));
        browser::attend_to_past(defined, seen, std::stof(values[3]), std::stof(values[4]), shares);
        write_out(shares);
    } else {
        std::fprintf(stderr, "reference friends TEMPERATURE | reference past SEEN PERIOD LIMIT\n");
        return 1;
    }
}
