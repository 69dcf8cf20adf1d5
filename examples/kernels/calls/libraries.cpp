// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/calls/libraries.hpp"

#include <fovea/bindings/dispatch.hpp>

#include "kernels.h"
#include "kernels16.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace calls {
namespace {

/// The words of a text.
std::vector<std::string> words(std::string const& text) {
    std::istringstream in(text);
    std::vector<std::string> all;
    for (std::string word; in >> word;) all.push_back(word);
    return all;
}

std::span<fovea_kernel const> all_of(fovea_kernel const* (*list)(std::size_t*)) {
    std::size_t count = 0;
    fovea_kernel const* const first = list(&count);
    return {first, count};
}

/// Text as one word of the shell.
std::string quoted(std::string const& text) {
    std::string word = "'";
    for (char const c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

}  // namespace

std::vector<library> const& libraries() {
    static std::vector<library> const all{
        {"kernels", words(EXAMPLE_LEVELS), all_of(kernels_kernels), kernels_workspace_create,
         kernels_workspace_destroy},
        {"kernels16", words(EXAMPLE_LEVELS_16), all_of(kernels16_kernels), kernels16_workspace_create,
         kernels16_workspace_destroy}};
    return all;
}

std::vector<std::string> const& levels() {
    static std::vector<std::string> const all = [] {
        std::vector<std::string> found;
        for (auto const& each : fovea::bindings::architectures)
            for (auto const& of : libraries())
                if (std::find(of.levels.begin(), of.levels.end(), each.name) != of.levels.end()
                    && (found.empty() || found.back() != each.name))
                    found.emplace_back(each.name);
        return found;
    }();
    return all;
}

bool runs_here(std::string const& level) {
    auto const rank = fovea::bindings::rank_of_architecture(level);
    return rank < fovea::bindings::architectures.size() && fovea::bindings::architectures[rank].runs_here();
}

std::string why_skipped(library const& of, fovea_kernel const& kernel, std::string const& level) {
    if (std::find(of.levels.begin(), of.levels.end(), level) == of.levels.end())
        return of.name + " is not built for " + level;
    if (!runs_here(level))
        return level + " is not used here: the processor has no such instructions, or faster ones beside them";
    if (kernel.architecture == nullptr || kernel.architecture != level)
        return "of " + level + " only kernels for 16 bits are built";
    return "";
}

int run_limited(std::string const& self, std::string const& program, std::string const& level,
                std::function<void(std::string const&)> const& on_line) {
    auto const path = std::filesystem::absolute(self).parent_path() / program;
    auto const command = "FOVEA_ARCHITECTURE=" + level + " " + quoted(path.string()) + " " + level;
    std::FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
    std::string line;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
        if (c != '\n') {
            line += static_cast<char>(c);
            continue;
        }
        on_line(line);
        line.clear();
    }
    int const status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

std::vector<std::string> fields_of(std::string const& line) {
    std::vector<std::string> fields{""};
    for (char const c : line) {
        if (c == '\t') fields.emplace_back();
        else fields.back() += c;
    }
    return fields;
}

}  // namespace calls
