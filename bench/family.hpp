// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/measure.hpp"
#include "bench/shape.hpp"

namespace bench {

/// family: rows of one source file. A static object of it registers them when the program starts, so that a new file
/// in attend/ touches no other.
struct family {
    explicit family(void (*rows)()) { rows(); }
};

/// add: one row, "<who>/<f32|f64>/h:8/n:2048/d:64". `body` allocates its inputs and calls measure; it runs once per
/// repetition.
template <class T, class Body>
void add(std::string const& who, shape const& sizes, Body body) {
    benchmark::RegisterBenchmark((who + "/" + to_text<T>(sizes)).c_str(), std::move(body))
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
}

}  // namespace bench
