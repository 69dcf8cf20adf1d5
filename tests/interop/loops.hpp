// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls on the threads of another library: the same bits as alone, however calls stand beside or within each other.
#pragma once

#include <fovea/fovea.hpp>

#include "catch.hpp"

#include <atomic>
#include <functional>
#include <stdexcept>
#include <vector>

namespace loops {

using namespace fovea;

inline tensor<float, 4> numbers(extents_t<4> const& extents) {
    tensor<float, 4> t(extents);
    for (std::size_t i = 0; i < t.elements.size(); ++i)
        t.elements[i] = static_cast<float>((i * 2654435761u >> 8) % 1000) / 500 - 1;
    return t;
}

/// Work of the normalizer below amid each row, such as loops of the user's own.
inline std::function<void()> amid_a_row;

/// A normalizer of whole rows by someone who uses the other library within it.
struct interrupted_t : stage<role::normalizer> {
    template <class Row>
    static void normalize(Row const& row) {
        typename Row::value_type sum = 0;
        for (index_t i = 0; i < row.size(); ++i) sum += row[i] * row[i];
        if (amid_a_row) amid_a_row();
        row.map([sum](auto s) { return s * s / decltype(s)(sum + 1); });
    }
};
inline constexpr auto whole_rows = scaled_dot | interrupted_t{} | weighted_sum;
inline constexpr auto fused = scaled_dot | causal | softmax | weighted_sum;

/// executor(n) has n workers; loop(n, f) is the library's own parallel loop.
template <class Executor, class Loop>
void check(Executor const& executor, Loop const& loop) {
    extents_t<4> const extents{2, 4, 60, 8};
    auto const x = numbers(extents);
    tensor<float, 4> of_rows(extents), expected(extents);
    amid_a_row = nullptr;
    attend(whole_rows, x, x, x, of_rows);
    attend(fused, x, x, x, expected);
    workspace scratch;
    for (int const workers : {1, 2, 3, 8}) {
        CAPTURE(workers);
        for (index_t const count : {0, 1, 2, 100}) {
            std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
            auto const on = executor(workers);
            driver::runner_of(on).run(count, [&](index_t task, index_t) { ++runs[static_cast<std::size_t>(task)]; });
            for (auto const& n : runs) CHECK(n == 1);
        }
        tensor<float, 4> result(extents);
        for (int i = 0; i < 20; ++i) {
            attend(executor(workers), scratch, fused, x, x, x, result);
            CHECK(result.elements == expected.elements);
        }

        // Loops amid the rows of a call: a thread that waits for one may take another task of the same call.
        std::atomic<int> inner{0};
        amid_a_row = [&] { loop(4, [&](index_t) { ++inner; }); };
        attend(executor(workers), scratch, whole_rows, x, x, x, result);
        CHECK(result.elements == of_rows.elements);
        CHECK(inner == 4 * 2 * 4 * 60);
        amid_a_row = nullptr;

        // Calls within a loop: each with scratch of its own.
        std::vector<tensor<float, 4>> results(8, tensor<float, 4>(extents));
        loop(8, [&](index_t i) { attend(executor(workers), fused, x, x, x, results[static_cast<std::size_t>(i)]); });
        loop(8, [&](index_t i) {
            if (i % 2 == 0) attend(threads(2), fused, x, x, x, results[static_cast<std::size_t>(i)]);
        });
        for (auto const& each : results) CHECK(each.elements == expected.elements);

        // Exceptions of the user's code, and calls behind them.
        std::atomic<int> rows{0};
        amid_a_row = [&] {
            if (++rows == 100) throw std::runtime_error("row 100");
        };
        CHECK_THROWS_WITH(attend(executor(workers), scratch, whole_rows, x, x, x, result), "row 100");
        amid_a_row = nullptr;
        attend(executor(workers), scratch, whole_rows, x, x, x, result);
        CHECK(result.elements == of_rows.elements);
    }
}

}  // namespace loops
