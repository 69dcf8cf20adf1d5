// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Executors of other libraries: whatever the order, the threads and the nesting of their calls, a task runs once, no
// two tasks have one worker at the same time, and results have the same bits.
#include <fovea/fovea.hpp>

#include "catch.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace fovea;

namespace {

using calls = std::function<void(index_t)>;

/// Pieces of work that may be taken amid others, as work stealing does: the rest of the bulk that runs.
struct stealing {
    using list = std::vector<std::function<void()>>;
    /// That of the outermost bulk of a thread. A list of the thread's own would be destroyed when it ends, which
    /// MinGW-w64 does after it has given the memory of the thread back.
    static inline thread_local list* pending = nullptr;

    class scope {
    public:
        scope() {
            if (outermost_) pending = &list_;
        }
        scope(scope const&) = delete;
        scope& operator=(scope const&) = delete;
        ~scope() {
            if (outermost_) pending = nullptr;
        }

    private:
        list list_;
        bool outermost_ = pending == nullptr;
    };

    static void take_one() {
        if (pending == nullptr || pending->empty()) return;
        auto const next = std::move(pending->back());
        pending->pop_back();
        next();
    }
};

/// Conduct that executors are allowed, and some that they are not.
struct manner {
    char const* name;
    std::function<void(index_t, calls const&)> bulk;
};
std::vector<manner> const& manners() {
    static std::vector<manner> const all{
        {"in order",
         [](index_t n, calls const& f) {
             for (index_t i = 0; i < n; ++i) f(i);
         }},
        {"in reverse",
         [](index_t n, calls const& f) {
             for (index_t i = n; i-- > 0;) f(i);
         }},
        {"the odd ones first",
         [](index_t n, calls const& f) {
             for (index_t i = 1; i < n; i += 2) f(i);
             for (index_t i = 0; i < n; i += 2) f(i);
         }},
        {"a thread for each",
         [](index_t n, calls const& f) {
             std::vector<std::thread> all_threads;
             for (index_t i = 0; i < n; ++i) all_threads.emplace_back(f, i);
             for (auto& each : all_threads) each.join();
         }},
        {"one other thread for all",
         [](index_t n, calls const& f) {
             std::thread([&] {
                 for (index_t i = 0; i < n; ++i) f(i);
             }).join();
         }},
        {"amid one another",
         [](index_t n, calls const& f) {
             stealing::scope const in_this;
             for (index_t i = 1; i < n; ++i) stealing::pending->push_back([&f, i] { f(i); });
             f(0);
             while (!stealing::pending->empty()) stealing::take_one();
         }},
        {"by threads of the pool", [](index_t n, calls const& f) { threads(3).bulk(n, f); }},
        {"none, as a group that was cancelled", [](index_t, calls const&) {}},
        {"the first only", [](index_t, calls const& f) { f(0); }},
        {"each twice at once", [](index_t n, calls const& f) { threads(4).bulk(2 * n, [&](index_t i) { f(i / 2); }); }},
    };
    return all;
}

struct own_executor {
    manner const& how;
    index_t count;
    index_t workers() const { return count; }
    void bulk(index_t n, calls const& f) const { how.bulk(n, f); }
};

/// A normalizer of whole rows in the middle of which other work may be taken.
struct interrupted_t : stage<role::normalizer> {
    template <class Row>
    static void normalize(Row const& row) {
        typename Row::value_type sum = 0;
        for (index_t i = 0; i < row.size(); ++i) sum += row[i] * row[i];
        stealing::take_one();
        row.map([sum](auto s) { return s * s / decltype(s)(sum + 1); });
    }
};

tensor<float, 4> numbers(extents_t<4> const& extents) {
    tensor<float, 4> t(extents);
    for (std::size_t i = 0; i < t.elements.size(); ++i)
        t.elements[i] = static_cast<float>((i * 2654435761u >> 8) % 1000) / 500 - 1;
    return t;
}

/// call(executor, workspace, result) with all executors and numbers of workers.
template <class Call>
void check_same_bits(extents_t<4> const& extents, Call const& call) {
    tensor<float, 4> expected(extents);
    workspace alone, scratch;
    call(serial, alone, expected);
    for (auto const& how : manners())
        for (index_t const workers : {1, 2, 7}) {
            CAPTURE(how.name, workers);
            tensor<float, 4> result(extents, 7);
            call(own_executor{how, workers}, scratch, result);
            CHECK(result.elements == expected.elements);
        }
}

}  // namespace

TEST_CASE("tasks run once, and no two have one worker at the same time", "[threads]") {
    for (auto const& how : manners())
        for (index_t const workers : {1, 2, 5})
            for (index_t const count : {0, 1, 2, 9, 200}) {
                CAPTURE(how.name, workers, count);
                std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count)), busy(5);
                std::atomic<int> shared{0};
                own_executor const executor{how, workers};
                driver::runner_of(executor).run(count, [&](index_t task, index_t worker) {
                    if (worker >= workers || busy[static_cast<std::size_t>(worker)].fetch_add(1) != 0) ++shared;
                    ++runs[static_cast<std::size_t>(task)];
                    stealing::take_one();
                    std::this_thread::yield();
                    --busy[static_cast<std::size_t>(worker)];
                });
                CHECK(shared == 0);
                CHECK(std::all_of(runs.begin(), runs.end(), [](auto const& n) { return n == 1; }));
            }
}

TEST_CASE("calls on executors of other libraries have the same bits", "[threads]") {
    auto const q = numbers({2, 4, 70, 8}), k = numbers({2, 2, 90, 8});
    check_same_bits({2, 4, 70, 8}, [&](auto const& executor, workspace& scratch, auto& out) {
        attend(executor, scratch, scaled_dot | causal | softmax | weighted_sum, q, k, k, out);
    });
    check_same_bits({2, 4, 70, 8}, [&](auto const& executor, workspace& scratch, auto& out) {
        attend(executor, scratch, scaled_dot | interrupted_t{} | weighted_sum, q, k, k, out);
    });
    view<float const, 4> const packed_q(q.data(), {1, 4, 140, 8}), packed_k(k.data(), {1, 4, 90, 8});
    std::vector<int> const starts{0, 3, 40, 41, 41, 90, 100, 140}, key_starts{0, 9, 20, 30, 45, 60, 61, 90};
    check_same_bits({1, 4, 140, 8}, [&](auto const& executor, workspace& scratch, auto& out) {
        attend(executor, scratch, ragged(starts, key_starts), scaled_dot | interrupted_t{} | weighted_sum, packed_q,
               packed_k, packed_k, out);
    });
    tensor<float, 3> const sums({2, 4, 70}, 0.5f);
    check_same_bits({2, 4, 70, 8},
                    [&](auto const& executor, workspace&, auto& out) { merge(executor, q, sums, q, sums, out); });
}

TEST_CASE("numbers of workers that make no sense are taken for ones that do", "[threads]") {
    auto const x = numbers({1, 4, 40, 8});
    tensor<float, 4> expected({1, 4, 40, 8});
    attend(scaled_dot | softmax | weighted_sum, x, x, x, expected);
    for (index_t const workers : {-3, 0, 1, 1 << 30}) {
        tensor<float, 4> result({1, 4, 40, 8});
        attend(own_executor{manners()[0], workers}, scaled_dot | softmax | weighted_sum, x, x, x, result);
        CHECK(result.elements == expected.elements);
    }
    auto const lambda = bulk_executor(3, [](index_t n, auto const& f) {
        for (index_t i = 0; i < n; ++i) f(i);
    });
    tensor<float, 4> result({1, 4, 40, 8});
    attend(lambda, scaled_dot | softmax | weighted_sum, x, x, x, result);
    CHECK(result.elements == expected.elements);
}

TEST_CASE("an exception of a task leaves the call on any executor, and no task runs behind it", "[threads]") {
    for (auto const& how : manners())
        for (index_t const workers : {1, 4}) {
            CAPTURE(how.name, workers);
            std::atomic<int> worked{0}, inside{0};
            std::atomic<bool> throws{false};
            auto const failing = [&](index_t task, index_t) {
                ++inside, ++worked;
                stealing::take_one();
                --inside;
                if (throws) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // or all are done before it has
                if (task != 7) return;
                throws = true;
                throw std::runtime_error("task 7");
            };
            own_executor const executor{how, workers};
            CHECK_THROWS_WITH(driver::runner_of(executor).run(1000, failing), "task 7");
            CHECK(inside == 0);
            CHECK(worked < 1000);
        }
}

TEST_CASE("an exception of an executor leaves the call", "[threads]") {
    auto const x = numbers({1, 4, 40, 8});
    tensor<float, 4> result({1, 4, 40, 8}), expected({1, 4, 40, 8});
    constexpr auto spec = scaled_dot | softmax | weighted_sum;
    attend(spec, x, x, x, expected);
    workspace scratch;
    for (bool const after_one : {false, true}) {
        auto const failing = bulk_executor(3, [=](index_t, auto const& f) {
            if (after_one) f(0);
            throw std::runtime_error("no threads");
        });
        CHECK_THROWS_WITH(attend(failing, scratch, spec, x, x, x, result), "no threads");
        attend(threads(2), scratch, spec, x, x, x, result);
        CHECK(result.elements == expected.elements);
    }
}

TEST_CASE("other threads round as the caller does, and as they did before", "[threads]") {
    for (int const mode : {FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST}) {
        std::atomic<int> others{0}, changed{0};
        auto const in_threads = bulk_executor(3, [&](index_t n, auto const& f) {
            std::vector<std::thread> all;
            for (index_t i = 0; i < n; ++i)
                all.emplace_back([&, i] {
                    std::fesetround(FE_DOWNWARD);
                    f(i);
                    if (std::fegetround() != FE_DOWNWARD) ++changed;
                });
            for (auto& each : all) each.join();
        });
        std::fesetround(mode);
        driver::runner_of(in_threads).run(50, [&](index_t, index_t) {
            if (std::fegetround() != mode) ++others;
            std::this_thread::yield();
        });
        std::fesetround(FE_TONEAREST);
        CHECK(others == 0);
        CHECK(changed == 0);
    }
}

TEST_CASE("calls within the tasks of an executor, and at once", "[threads]") {
    auto const x = numbers({1, 4, 40, 8});
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    tensor<float, 4> expected({1, 4, 40, 8});
    attend(spec, x, x, x, expected);
    for (auto const& how : manners()) {
        CAPTURE(how.name);
        std::vector<tensor<float, 4>> results(6, tensor<float, 4>({1, 4, 40, 8}));
        own_executor const executor{how, 3};
        driver::runner_of(executor).run(6, [&](index_t task, index_t) {
            attend(executor, spec, x, x, x, results[static_cast<std::size_t>(task)]);
        });
        for (auto const& result : results) CHECK(result.elements == expected.elements);
    }
}

TEST_CASE("threads and serial are executors as others are", "[threads]") {
    STATIC_REQUIRE(executor<threads>);
    STATIC_REQUIRE(executor<serial_t>);
    STATIC_REQUIRE(executor<own_executor>);
    STATIC_REQUIRE(!executor<std::vector<float>>);
    STATIC_REQUIRE(!executor<workspace>);
    for (auto const& n : {1, 4}) {
        std::atomic<int> sum{0};
        threads(n).bulk(10, [&](index_t i) { sum += static_cast<int>(i); });
        CHECK(sum == 45);
    }
    int sum = 0;
    serial.bulk(10, [&](index_t i) { sum += static_cast<int>(i); });
    CHECK(sum == 45);
}
