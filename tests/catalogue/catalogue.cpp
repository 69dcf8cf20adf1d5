// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "catalogue/catalogue.hpp"

#include <algorithm>

namespace catalogue {

namespace {
std::vector<entry>& entries() {
    static std::vector<entry> all;
    return all;
}
}  // namespace

std::vector<entry> const& all() { return entries(); }

bool add(entry e) {
    auto const by_name = [](entry const& a, entry const& b) { return a.name < b.name; };
    auto const at = std::upper_bound(entries().begin(), entries().end(), e, by_name);
    entries().insert(at, std::move(e));
    return true;
}

}  // namespace catalogue
