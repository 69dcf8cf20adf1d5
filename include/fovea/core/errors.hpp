// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace fovea {

/// A view, table or length does not fit: the message names the argument, what it has and what was needed.
struct shape_error : std::invalid_argument {
    FOVEA_TAGGED explicit shape_error(std::string const& text) : std::invalid_argument(text) {}
};

/// A graph is not a valid neighbour list: the message names the offending offset or index.
struct graph_error : std::invalid_argument {
    FOVEA_TAGGED explicit graph_error(std::string const& text) : std::invalid_argument(text) {}
};

}  // namespace fovea

namespace fovea::FOVEA_SET {

// Messages are joined by functions of the library's own: those of the standard library have one name in all units.
inline std::string operator+(std::string a, std::string b) { return std::move(a.append(b)); }
inline std::string operator+(std::string a, char const* b) { return std::move(a.append(b)); }
inline std::string operator+(char const* a, std::string b) { return std::move(b.insert(0, a)); }

}  // namespace fovea::FOVEA_SET
