// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// table: prints the medians of a row, and beside it how many times as long each peer takes for the same, as one line a
/// person can read; a blank line parts the families.
class table : public benchmark::BenchmarkReporter {
public:
    explicit table(std::vector<std::string> peers) : peers_(std::move(peers)) {}
    bool ReportContext(Context const& context) override;
    void ReportRuns(std::vector<Run> const& runs) override;
    void Finalize() override;

private:
    struct line {
        std::string what;                            // the name without who computes it
        std::optional<Run> attend;                   // absent where only peers were asked for
        std::map<std::string, double> milliseconds;  // by peer
    };
    void print(line const& row);

    std::vector<std::string> peers_;
    std::optional<line> open_;  // a line is complete when the next one begins
    std::string family_;
};

/// json: Google Benchmark's own file format, with the names as registered (no "/iterations:1/manual_time" behind them).
class json : public benchmark::JSONReporter {
public:
    void ReportRuns(std::vector<Run> const& runs) override;
};

}  // namespace bench
