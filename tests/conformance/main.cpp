// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs fovea on problems whose answers other projects computed; cases/SOURCES.md says where they come from.

#include "runner.hpp"

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
    CLI::App app{"Compares fovea with the results of other attention implementations."};
    std::string directory;
    conformance::selection chosen;
    app.add_option("DIR", directory, "the cases: all of them, one family, or one case")->required();
    app.add_option("--family", chosen.family, "run this family only");
    app.add_option("--case", chosen.test_case, "run this case only: CASE or FAMILY/CASE");
    app.add_flag("--verbose", chosen.verbose, "one line for every case that passes");
    CLI11_PARSE(app, argc, argv);

    try {
        auto const cases = conformance::find_cases(directory);
        return conformance::run_cases(cases, conformance::families(), chosen, std::cout).exit_status();
    } catch (std::exception const& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
