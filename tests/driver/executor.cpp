// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: alone native
// Executors: every task once, worker numbers that no two tasks have at the same time, exceptions after all have left;
// whatever calls stand side by side or within each other.
#include <fovea/fovea.hpp>

#include "catch.hpp"

#ifndef FOVEA_TEST_WITHOUT_FORK
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <atomic>
#include <cfenv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace fovea;

namespace {

/// Runs tasks and notes what breaks the contract.
struct counted_tasks {
    std::vector<std::atomic<int>> runs, busy;
    std::atomic<int> shared_worker{0};

    counted_tasks(index_t count, index_t workers)
        : runs(static_cast<std::size_t>(count)), busy(static_cast<std::size_t>(workers)) {}
    void operator()(index_t task, index_t worker) {
        auto& mine = busy.at(static_cast<std::size_t>(worker));
        if (mine.fetch_add(1) != 0) ++shared_worker;
        ++runs[static_cast<std::size_t>(task)];
        std::this_thread::yield();
        --mine;
    }
    bool held() const {
        for (auto const& n : runs)
            if (n != 1) return false;
        return shared_worker == 0;
    }
};

bool runs_all(auto const& executor, index_t count) {
    counted_tasks all(count, executor.workers());
    executor.run(count, [&](index_t task, index_t worker) { all(task, worker); });
    return all.held();
}

}  // namespace

TEST_CASE("every task runs once, and a worker does one at a time", "[driver]") {
    for (int n : {1, 2, 3, 8, 64})
        for (index_t count : {0, 1, 2, 7, 300}) {
            CAPTURE(n, count);
            CHECK(runs_all(threads(n), count));
        }
    CHECK(runs_all(serial, 5));
}

TEST_CASE("any number of threads is taken for one that makes sense", "[driver]") {
    CHECK(threads(0).workers() == 1);
    CHECK(threads(-7).workers() == 1);
    CHECK(threads(INT_MIN).workers() == 1);
    CHECK(threads(64).workers() == 64);
    CHECK(threads(INT_MAX).workers() >= 64);
    CHECK(threads(INT_MAX).workers() <= 4096);
    CHECK(runs_all(threads(INT_MAX), 3));
    tensor<float, 2> const x({5, 4}, 1);
    tensor<float, 2> y({5, 4});
    attend(threads(INT_MAX), scaled_dot | softmax | weighted_sum, x, y);
    CHECK(y(4, 3) == 1);
}

TEST_CASE("regions within tasks come to an end", "[driver]") {
    std::atomic<int> inner{0};
    threads(3).run(6, [&](index_t, index_t) {
        threads(4).run(5, [&](index_t, index_t) { threads(2).run(2, [&](index_t, index_t) { ++inner; }); });
    });
    CHECK(inner == 6 * 5 * 2);
}

TEST_CASE("calls from several threads at once share the pool", "[driver]") {
    std::atomic<int> broken{0};
    std::vector<std::thread> callers;
    for (int t = 0; t < 6; ++t)
        callers.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i)
                if (!runs_all(threads(1 + t), 1 + i)) ++broken;
        });
    for (auto& caller : callers) caller.join();
    CHECK(broken == 0);
}

TEST_CASE("an exception of a task is thrown when all have left, and the pool goes on", "[driver]") {
    constexpr int repeats = 50;
    std::atomic<int> worked{0};
    for (int repeat = 0; repeat < repeats; ++repeat) {
        std::atomic<int> inside{0};
        auto const failing = [&](index_t task, index_t) {
            ++inside;
            ++worked;
            std::this_thread::yield();
            --inside;
            if (task == 7) throw std::runtime_error("task 7");
        };
        CHECK_THROWS_WITH(threads(4).run(1000, failing), "task 7");
        CHECK(inside == 0);
    }
    CHECK(worked < repeats * 1000);  // one thread may be held up until the others have done all
    CHECK_THROWS_AS(threads(3).run(9, [](index_t, index_t) { throw 5; }), int);
    CHECK(runs_all(threads(4), 100));
}

TEST_CASE("an exception of a region within a task ends both", "[driver]") {
    auto const nested = [](index_t, index_t) {
        threads(2).run(4, [](index_t task, index_t) {
            if (task == 3) throw std::runtime_error("inner");
        });
    };
    CHECK_THROWS_WITH(threads(2).run(4, nested), "inner");
    CHECK(runs_all(threads(4), 100));
}

TEST_CASE("helpers round as the caller does", "[driver]") {
    CHECK(runs_all(threads(4), 100));  // the pool has begun with the usual rounding
    for (int const mode : {FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST}) {
        std::fesetround(mode);
        std::atomic<int> others{0};
        threads(4).run(200, [&](index_t, index_t) {
            if (std::fegetround() != mode) ++others;
            std::this_thread::yield();
        });
        std::fesetround(FE_TONEAREST);
        CHECK(others == 0);
    }
}

#ifndef FOVEA_TEST_WITHOUT_FORK
TEST_CASE("a child process has a pool of its own", "[driver]") {
    CHECK(runs_all(threads(4), 100));
    pid_t const child = fork();
    if (child == 0) {
        bool held = true;
        for (int i = 0; i < 20; ++i) held = held && runs_all(threads(3), 50);
        _exit(held ? 0 : 1);
    }
    REQUIRE(child > 0);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    CHECK(runs_all(threads(4), 100));
}

TEST_CASE("a program may end within a task", "[driver]") {
    std::fflush(nullptr);
    pid_t const child = fork();
    if (child == 0)
        threads(3).run(50, [](index_t task, index_t) {
            std::this_thread::yield();
            if (task == 20) std::exit(7);
        });
    REQUIRE(child > 0);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 7));
}
#endif
