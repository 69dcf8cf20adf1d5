// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls on the threads of OpenMP.
#include "interop/loops.hpp"

#include <omp.h>

#include <thread>

using namespace fovea;

namespace {

struct openmp {
    int team;
    index_t workers() const { return team; }
    void bulk(index_t n, auto const& f) const {
#pragma omp parallel for num_threads(team) schedule(static, 1)
        for (index_t i = 0; i < n; ++i) f(i);
    }
};

}  // namespace

TEST_CASE("calls on the threads of OpenMP", "[interop]") {
    auto const loop = [](index_t n, auto const& f) {
#pragma omp parallel for
        for (index_t i = 0; i < n; ++i) f(i);
    };
    loops::check([](int workers) { return openmp{workers}; }, loop);
    omp_set_max_active_levels(2);  // parallel regions within parallel regions
    loops::check([](int workers) { return openmp{workers}; }, loop);
}

TEST_CASE("the program has the threads of OpenMP", "[interop]") {
    std::atomic<int> others{0};
    auto const self = std::this_thread::get_id();
    openmp{4}.bulk(4, [&](index_t) { others += std::this_thread::get_id() != self; });
    CHECK(others == 3);
}
