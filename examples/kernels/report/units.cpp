// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/report/units.hpp"

#include "kernels/calls/libraries.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace report {
namespace {

std::string name_of(std::filesystem::path const& object) {
    std::string const name = object.filename().string();
    return name.ends_with("ch") ? "headers" : name.substr(0, name.find('.'));
}

/// The note that examples/kernels/time_compilation has left beside an object.
double seconds_of(std::string const& object) {
    double compiler = 0, system = 0;
    std::ifstream(object + ".seconds") >> compiler >> system;
    return compiler + system;
}

/// Bytes of code and constants of each object in a folder of objects, by its path, as `size` says.
std::map<std::string, double> texts_of(std::vector<unit> const& units) {
    std::string command = EXAMPLE_SIZE;
    for (auto const& each : units)
        if (each.name != "headers") command += " '" + each.path + "'";
    std::FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("cannot run " EXAMPLE_SIZE);
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    if (pclose(pipe) != 0) throw std::runtime_error(EXAMPLE_SIZE " cannot read all units");
    std::map<std::string, double> bytes;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string data, bss, all, hexadecimal, path;
        double code = 0;
        if (fields >> code >> data >> bss >> all >> hexadecimal >> std::ws && std::getline(fields, path))
            bytes[path] = code;
    }
    return bytes;
}

}  // namespace

std::vector<unit> read_units(std::string const& list) {
    std::ifstream in(list);
    if (!in) throw std::runtime_error("cannot read " + list);
    std::vector<unit> units;
    for (std::string line; std::getline(in, line);) {
        auto const fields = calls::fields_of(line);
        if (fields.size() != 3) continue;
        unit each{fields[0], fields[1], fields[2], name_of(fields[2])};
        each.seconds = seconds_of(each.path);
        units.push_back(std::move(each));
    }
    auto const bytes = texts_of(units);
    for (auto& each : units)
        if (auto const found = bytes.find(each.path); found != bytes.end()) each.text = found->second;
    return units;
}

}  // namespace report
