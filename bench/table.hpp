// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>

namespace bench {

/// table: prints the median of every row as one line a person can read; a blank line parts the families.
class table : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(Context const& context) override;
    void ReportRuns(std::vector<Run> const& runs) override;

private:
    void print(Run const& run);

    std::string family_;
    std::map<std::string, double> milliseconds_;  // by name, of the rows printed so far
};

/// json: Google Benchmark's own file format, with the names as registered (no "/iterations:1/manual_time" behind them).
class json : public benchmark::JSONReporter {
public:
    void ReportRuns(std::vector<Run> const& runs) override;
};

}  // namespace bench
