// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/fuzz.hpp"

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

namespace fuzz {
namespace {

/// Prints when the program ends.
struct counters {
    std::map<std::string, long, std::less<>> all;
    ~counters() {
        for (auto const& [name, times] : all) std::fprintf(stderr, "%10ld %s\n", times, name.c_str());
    }
};

counters& counted() {
    static counters all;
    return all;
}

}  // namespace

void finding(std::string const& what) {
    std::fprintf(stderr, "FINDING: %s\n", what.c_str());
    throw found(what);
}

void count(char const* name) {
    auto& all = counted().all;
    auto const known = all.find(std::string_view(name));
    if (known != all.end()) ++known->second;
    else all.emplace(name, 1);
}

}  // namespace fuzz
