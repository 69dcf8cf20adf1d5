// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/people.hpp"

#include <cctype>
#include <cstdint>
#include <string>

namespace people {
namespace {

/// FNV-1a: the same number on every platform.
std::uint32_t hash(std::string_view text) {
    std::uint32_t state = 2166136261u;
    for (char const c : text) state = (state ^ static_cast<unsigned char>(c)) * 16777619u;
    return state;
}

std::string normalized(std::string_view name) {
    std::string text = "^";
    for (char const c : name) text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text + "$";
}

}  // namespace

std::vector<person> const& all() {
    static std::vector<person> const list{
        {"Ada Lovelace", 1815},
        {"Alan Turing", 1912},
        {"Blaise Pascal", 1623},
        {"Carl Friedrich Gauss", 1777},
        {"Charles Babbage", 1791},
        {"Claude Shannon", 1916},
        {"Emmy Noether", 1882},
        {"Grace Hopper", 1906},
        {"John von Neumann", 1903},
        {"Katherine Johnson", 1918},
        {"Leonhard Euler", 1707},
        {"Sofya Kovalevskaya", 1850},
        {"Sophie Germain", 1776},
        {"Srinivasa Ramanujan", 1887},
        {"Maryam Mirzakhani", 1977},
        {"Alonzo Church", 1903},
    };
    return list;
}

fovea::tensor<float, 4> character_runs(std::vector<std::string_view> const& names) {
    fovea::tensor<float, 4> result({1, 1, static_cast<fovea::index_t>(names.size()), features});
    for (std::size_t row = 0; row < names.size(); ++row) {
        std::string const text = normalized(names[row]);
        for (std::size_t length = 2; length <= 3; ++length)
            for (std::size_t first = 0; first + length <= text.size(); ++first)
                result(0, 0, row, hash(std::string_view(text).substr(first, length)) % features) += 1;
    }
    return result;
}

}  // namespace people
