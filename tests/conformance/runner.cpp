// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner.hpp"

#include <algorithm>
#include <exception>
#include <fstream>
#include <iomanip>
#include <map>
#include <ostream>
#include <variant>

namespace conformance {
namespace {

namespace fs = std::filesystem;

// FAMILY and CASE are the last two components of a case directory.
std::string family_of(fs::path const& directory) { return directory.parent_path().filename().string(); }
std::string case_of(fs::path const& directory) { return directory.filename().string(); }

// A path that ends in a name, whatever was typed: "cases/", ".", "a/../b".
fs::path normal(fs::path const& path) {
    auto absolute = fs::absolute(path).lexically_normal();
    return absolute.has_filename() ? absolute : absolute.parent_path();
}

bool chosen_by(selection const& chosen, fs::path const& directory) {
    auto const family = family_of(directory), name = case_of(directory);
    return (chosen.family.empty() || chosen.family == family)
        && (chosen.test_case.empty() || chosen.test_case == name || chosen.test_case == family + "/" + name);
}

struct tally {
    summary counts;
    std::size_t gradients = 0, gradients_compared = 0;
    double worst = 0;
    std::string where;
    std::vector<std::string> failures;
    std::map<std::string, std::vector<std::string>> skips;  // reason, cases
    std::vector<std::string> gradients_left;                // gradient tensors that were not compared
};

outcome run_one(test_case const& subject, std::vector<family> const& known) {
    auto const found =
        std::find_if(known.begin(), known.end(), [&](auto const& each) { return each.name == subject.family(); });
    if (found == known.end()) return skipped{"family not expressed yet"};
    try {
        return found->run(subject);
    } catch (std::exception const& error) {
        return failed{std::string("an exception: ") + error.what()};
    }
}

/// `gradients` are those that the case has.
void count(tally& totals, std::string const& name, std::size_t gradients, outcome const& result,
           std::ostream* verbose) {
    totals.gradients += gradients;
    if (auto const* good = std::get_if<passed>(&result)) {
        ++totals.counts.passed;
        totals.gradients_compared += good->gradients;
        for (auto const& each : good->gradients_left) totals.gradients_left.push_back(case_of(name) + "/" + each);
        if (good->worst >= totals.worst) totals.worst = good->worst, totals.where = name + ", " + good->where;
        if (verbose)
            *verbose << "  passed   " << name << ": worst error " << std::setprecision(2) << good->worst
                     << " of its allowance (" << good->where << ")\n";
    } else if (auto const* bad = std::get_if<failed>(&result)) {
        ++totals.counts.failed;
        totals.failures.push_back(name + ": " + bad->message);
    } else {
        ++totals.counts.skipped;
        totals.skips[std::get<skipped>(result).reason].push_back(case_of(name));
    }
}

void print(std::string const& name, tally const& totals, std::ostream& report) {
    auto const& [good, bad, left] = totals.counts;
    report << std::left << std::setw(22) << name << std::right << std::setw(4) << good << " passed" << std::setw(4)
           << bad << " failed" << std::setw(4) << left << " skipped";
    if (good != 0)
        report << "   worst error " << std::setprecision(2) << totals.worst << " of its allowance (" << totals.where
               << ")";
    report << '\n';
    for (auto const& each : totals.failures) report << "  failed   " << each << '\n';
    if (!totals.gradients_left.empty()) {
        report << "  not compared:";
        for (auto const& each : totals.gradients_left) report << ' ' << each;
        report << '\n';
    }
    for (auto const& [reason, names] : totals.skips) {
        report << "  skipped  " << reason << ":";
        for (auto const& each : names) report << ' ' << each;
        report << '\n';
    }
}

}  // namespace

std::vector<family>& families() {
    static std::vector<family> known;
    return known;
}

std::vector<fs::path> find_cases(fs::path const& root) {
    if (!fs::is_directory(root)) throw malformed(root.string() + ": is not a directory");
    auto const top = normal(root);
    std::vector<fs::path> cases;
    if (auto const index = top / "index.txt"; fs::exists(index)) {
        std::ifstream stream(index);
        for (std::string line; std::getline(stream, line);) {
            line.erase(line.find_last_not_of(" \t\r") + 1);
            if (!line.empty()) cases.push_back((top / line).lexically_normal());
        }
        return cases;
    }
    if (fs::exists(top / "case.json")) cases.push_back(top);
    for (auto const& entry : fs::recursive_directory_iterator(top))
        if (entry.is_directory() && fs::exists(entry.path() / "case.json")) cases.push_back(entry.path());
    std::sort(cases.begin(), cases.end());
    return cases;
}

summary run_cases(std::vector<fs::path> const& cases, std::vector<family> const& known, selection const& chosen,
                  std::ostream& report) {
    std::map<std::string, tally> by_family;
    for (auto const& directory : cases) {
        if (!chosen_by(chosen, directory)) continue;
        auto const name = family_of(directory) + "/" + case_of(directory);
        auto& totals = by_family[family_of(directory)];
        try {
            auto const subject = test_case::load(directory);
            std::size_t gradients = 0;
            for (auto const& each : subject.tensors()) gradients += each.role == role::gradient;
            count(totals, name, gradients, run_one(subject, known), chosen.verbose ? &report : nullptr);
        } catch (malformed const& error) {
            count(totals, name, 0, failed{error.what()}, nullptr);
        }
    }

    summary all;
    std::size_t gradients = 0, gradients_compared = 0;
    for (auto const& [name, totals] : by_family) {
        print(name, totals, report);
        all.passed += totals.counts.passed;
        all.failed += totals.counts.failed;
        all.skipped += totals.counts.skipped;
        gradients += totals.gradients;
        gradients_compared += totals.gradients_compared;
    }
    if (by_family.empty()) report << "no case found\n";
    report << gradients_compared << " gradient tensors compared, " << gradients - gradients_compared
           << " gradient tensors were not compared\n";
    report << all.passed << " passed, " << all.failed << " failed, " << all.skipped << " skipped\n";
    return all;
}

}  // namespace conformance
