// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "outcome.hpp"

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace conformance {

/// How the cases of one family are expressed in fovea.
struct family {
    std::string_view name;
    outcome (*run)(test_case const&);
};

/// The families there are; each file in families/ adds its own by a namespace-scope `registration`.
std::vector<family>& families();

struct registration {
    registration(std::string_view name, outcome (*run)(test_case const&)) { families().push_back({name, run}); }
};

/// The cases to run, and how much to say.
struct selection {
    std::string family;     // empty: all
    std::string test_case;  // "CASE" or "FAMILY/CASE"; empty: all
    bool verbose = false;   // one line per case
};

struct summary {
    std::size_t passed = 0, failed = 0, skipped = 0;

    /// 1 when anything failed or no case was found.
    int exit_status() const { return failed != 0 || passed + failed + skipped == 0 ? 1 : 0; }
};

/// The case directories below `root`: those of `root/index.txt` if there is one, else every directory with a case.json,
/// `root` itself included. Throws `malformed` if `root` is no directory.
std::vector<std::filesystem::path> find_cases(std::filesystem::path const& root);

/// Runs the selected cases and reports; the last line is "N passed, N failed, N skipped".
summary run_cases(std::vector<std::filesystem::path> const& cases, std::vector<family> const& known,
                  selection const& chosen, std::ostream& report);

}  // namespace conformance
