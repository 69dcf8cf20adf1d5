// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/peer/graph.hpp"
#include "bench/peer/peer.hpp"

#include <map>

namespace bench::peer {
namespace {

template <class T>
void collect(std::map<std::string, std::string>& found) {
    for (auto const& library : libraries<T>()) found[library.name] = library.version;
}

}  // namespace

std::string versions() {
    std::map<std::string, std::string> found;
    collect<float>(found);
    collect<double>(found);
    collect<fovea::bfloat16>(found);
    collect<fovea::float16>(found);
    for (auto const& library : graph_libraries()) found[library.name] = library.version;
    std::string text;
    for (auto const& [name, version] : found) text += (text.empty() ? "" : ", ") + name + " " + version;
    return text;
}

}  // namespace bench::peer
