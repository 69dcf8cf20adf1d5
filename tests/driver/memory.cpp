// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native memory posix
// The memory that a call adds to that of its process grows with the sequence, never with its square.
#include <fovea/fovea.hpp>

#include "catch.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>

using namespace fovea;

namespace {

constexpr index_t size = 16;

/// The most memory this process has had in use, in bytes.
double peak_resident() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return 1024.0 * static_cast<double>(used.ru_maxrss);
}

/// Bytes by which a call lets the peak grow, measured in a process of its own; its operands are in use before.
double growth(index_t n, auto const& run) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    std::fflush(nullptr);
    pid_t const child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        tensor<float, 2> const x({n, size}, 1);
        tensor<float, 2> y({n, size});
        double const before = peak_resident();
        run(x, y);
        double const grown = peak_resident() - before;
        _exit(write(ends[1], &grown, sizeof grown) == sizeof grown ? 0 : 1);
    }
    double grown = -1;
    int status = 1;
    CHECK(read(ends[0], &grown, sizeof grown) == sizeof grown);
    waitpid(child, &status, 0);
    CHECK(status == 0);
    close(ends[0]);
    close(ends[1]);
    return grown;
}

/// Four times the sequence: four times the memory, with room for what does not depend on it. The scores of all pairs
/// would be a thousand million bytes.
void check_linear(auto const& spec) {
    auto const run = [&spec](auto const& x, auto& y) { attend(spec, x, x, x, y); };
    double const few = growth(4096, run), many = growth(16384, run);
    CAPTURE(few, many);
    CHECK(many < 4 * few + 4e6);
    CHECK(many < 32e6);
}

}  // namespace

TEST_CASE("the memory a call takes is linear in the sequence", "[driver]") {
    check_linear(scaled_dot | softmax | weighted_sum);
    check_linear(scaled_dot | causal | softmax | weighted_sum);
    check_linear(scaled_dot | causal | sparsemax | weighted_sum);
}

TEST_CASE("threads have scratch each, and no more", "[driver]") {
    auto const run = [](auto const& x, auto& y) {
        attend(threads(4), scaled_dot | causal | softmax | weighted_sum, x, x, x, y);
    };
    double const grown = growth(16384, run);
    CAPTURE(grown);
    CHECK(grown < 32e6);
}
