// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/report/results.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>

namespace report {
namespace {

using nlohmann::json;

json units_of(kernel const& of) {
    json all = json::array();
    for (auto const& [name, f] : of.on) {
        json each{{"level", name}, {"text", f.text}, {"compile_seconds", f.compile_seconds}};
        if (f.seconds > 0)
            each.update({{"operations", f.operations},
                         {"seconds", f.seconds},
                         {"plain_seconds", f.plain_seconds},
                         {"gflops", f.gflops()},
                         {"of_peak", f.of_peak()},
                         {"plain_gflops", f.plain_gflops()},
                         {"over_plain", f.over_plain()}});
        if (f.bytes > 0) each.update({{"bytes", f.bytes}, {"of_bandwidth", f.of_bandwidth()}});
        all.push_back(std::move(each));
    }
    return all;
}

}  // namespace

void write_json(results const& all, std::string const& path) {
    json text{{"levels", json::array()}, {"kernels", json::array()}, {"shared", json::array()}};
    for (auto const& each : all.levels)
        text["levels"].push_back({{"level", each.name},
                                  {"vectors", each.vectors},
                                  {"peak_f32", each.peak_f32},
                                  {"peak_f64", each.peak_f64}});
    for (auto const& each : all.kernels)
        text["kernels"].push_back({{"library", each.library},
                                   {"kernel", each.name},
                                   {"type", each.type},
                                   {"specification", each.specification},
                                   {"formula", each.formula},
                                   {"units", units_of(each)}});
    for (auto const& each : all.shared)
        text["shared"].push_back({{"library", each.library},
                                  {"level", each.level},
                                  {"unit", each.name},
                                  {"text", each.text},
                                  {"compile_seconds", each.seconds}});
    std::ofstream file(path);
    file << text.dump(2) << "\n";
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace report
