// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/measure.hpp"
#include "bench/shape.hpp"

#include <vector>

namespace bench {

/// family: rows of one source file. A static object of it announces them, so that a new file in attend/ touches no
/// other; they are registered once the program runs.
struct family {
    explicit family(void (*rows)()) { all().push_back(rows); }

    static void register_all() {
        for (auto const rows : all()) rows();
    }

private:
    static std::vector<void (*)()>& all() {
        static std::vector<void (*)()> families;
        return families;
    }
};

/// add: one row, "<who>/<family>/f32/h:8/n:2048/d:64". `body` allocates its inputs and calls measure; it runs once per
/// repetition.
template <class T, class Body>
void add(std::string const& who_and_family, shape const& sizes, Body body) {
    benchmark::RegisterBenchmark((who_and_family + "/" + to_text<T>(sizes)).c_str(), std::move(body))
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
}

}  // namespace bench
