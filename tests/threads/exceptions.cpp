// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exceptions of what a user wrote: thrown from the call when nobody works on it any more; nothing is left behind, and
// workspace and pool serve the next call.
#include "support/random_graph.hpp"
#include "threads/same_everywhere.hpp"

#include <atomic>
#include <stdexcept>
#include <string>

using namespace fovea;

namespace {

std::atomic<int> rows_until_failure{-1}, rows_at_work{0};

/// A normalizer of whole rows that nobody can look into, and that fails at some row.
struct failing_t : stage<role::normalizer> {
    template <class Row>
    static void normalize(Row const& row) {
        ++rows_at_work;
        std::vector<typename Row::value_type> copied;  // what it owns must be given back
        for (index_t i = 0; i < row.size(); ++i) copied.push_back(row[i]);
        bool const fails = rows_until_failure >= 0 && rows_until_failure-- == 0;
        --rows_at_work;
        if (fails) throw std::runtime_error("this row fails, said by a function of the user");
        row.map([](auto s) { return s - s + decltype(s)(1); });
    }
};

/// Calls that fail at the first row, amid others and at the last.
template <class Call>
void check_failures(int rows, extents_t<4> const& extents, Call const& call) {
    tensor<float, 4> expected(extents);
    workspace scratch;
    rows_until_failure = -1;
    call(serial, scratch, expected);
    for (int const n : {1, 2, 4})
        for (int const at : {0, rows / 2, rows - 1}) {
            CAPTURE(n, at);
            tensor<float, 4> result(extents);
            rows_until_failure = at;
            CHECK_THROWS_WITH(call(threads(n), scratch, result), "this row fails, said by a function of the user");
            CHECK(rows_at_work == 0);
            rows_until_failure = -1;
            call(threads(n), scratch, result);
            CHECK(result.elements == expected.elements);
        }
}

/// An executor of a user's own that fails amid the tasks, or behind them.
struct failing_executor {
    using executor_tag = void;
    index_t tasks;
    index_t workers() const { return 2; }
    template <class Task>
    void run(index_t count, Task const& task) const {
        for (index_t i = 0; i < std::min(count, tasks); ++i) task(i, i % 2);
        throw std::runtime_error("this executor fails");
    }
};

}  // namespace

TEST_CASE("an exception of a user's normalizer in dense rows", "[threads]") {
    random_operands const x({2, 2, 90, 8}, 1, 60);
    check_failures(2 * 2 * 90, x.result, [&](auto const& executor, workspace& scratch, auto& out) {
        attend(executor, scratch, scaled_dot | causal | failing_t{} | weighted_sum, x.q, x.k, x.v, out);
    });
}

TEST_CASE("an exception of a user's normalizer over a graph", "[threads]") {
    random_operands const x({2, 2, 90, 8}, 2, 60);
    auto const edges = random_graph(90, 60, 400);
    check_failures(90, x.result, [&](auto const& executor, workspace& scratch, auto& out) {
        attend(executor, scratch, scaled_dot | neighbors(edges) | failing_t{} | weighted_sum, x.q, x.k, x.v, out);
    });
}

TEST_CASE("an exception of a user's normalizer in a ragged batch", "[threads]") {
    random_operands const x({1, 2, 90, 8}, 2, 90);
    std::vector<index_t> const offsets{0, 7, 30, 31, 60, 90};
    check_failures(2 * 90, x.result, [&](auto const& executor, workspace& scratch, auto& out) {
        attend(executor, scratch, ragged(offsets), scaled_dot | failing_t{} | weighted_sum, x.q, x.k, x.v, out);
    });
}

TEST_CASE("an exception of a user's executor leaves the call", "[threads]") {
    random_operands const x({2, 2, 40, 8}, 2, 40);
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    tensor<float, 4> expected(x.result), result(x.result);
    attend(spec, x.q, x.k, x.v, expected);
    workspace scratch;
    for (index_t const tasks : {0, 1, 100}) {
        CHECK_THROWS_WITH(attend(failing_executor{tasks}, scratch, spec, x.q, x.k, x.v, result), "this executor fails");
        attend(threads(2), scratch, spec, x.q, x.k, x.v, result);
        CHECK(result.elements == expected.elements);
    }
}

TEST_CASE("exceptions of calls that run at once do not meet", "[threads]") {
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::atomic<int> own{0};
        threads(4).run(4, [&](index_t caller, index_t) {
            try {
                threads(3).run(30, [&](index_t task, index_t) {
                    if (task == 5) throw std::runtime_error(std::to_string(caller));
                });
            } catch (std::runtime_error const& error) {
                if (error.what() == std::to_string(caller)) ++own;
            }
        });
        CHECK(own == 4);
    }
}
