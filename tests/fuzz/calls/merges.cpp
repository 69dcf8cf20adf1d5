// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Partial results joined: all views of merge.
#include <fovea/driver/merge.hpp>

#include "calls/calls.hpp"

#include <cmath>
#include <limits>

using namespace fovea;

namespace {

/// One row of two parts, by the formula.
struct joined {
    double first = 0, second = 0, lse = -std::numeric_limits<double>::infinity();

    joined(double a, double b) {
        double const most = std::max(a, b);
        if (most == lse) return;
        double const sum = std::exp(a - most) + std::exp(b - most);
        first = std::exp(a - most) / sum, second = std::exp(b - most) / sum, lse = most + std::log(sum);
    }
};

}  // namespace

void fuzz::merges(bytes& in) {
    memory all(in);
    sizes const n(in);
    auto const part = [&](char const* name) {
        return all.read<float>(name, n.batches, n.heads, n.queries, n.value_features);
    };
    auto const sum = [&](char const* name) {
        auto const placed = all.read<float>(name, n.batches, n.heads, n.queries);
        all.fill_last<float>([&] {
            auto const x = all.random().below(40);
            return x < 4 ? -std::numeric_limits<float>::infinity() : static_cast<float>(x) - 20;
        });
        return placed;
    };
    auto const first = part("part 1");
    auto const first_sums = sum("lse of part 1");
    auto const second = part("part 2");
    auto const second_sums = sum("lse of part 2");
    auto const result = all.written<float>("result", n.batches, n.heads, n.queries, n.value_features);
    auto const sums = all.written<float>("lse", n.batches, n.heads, n.queries);
    all.allow_same(0, 4), all.allow_same(2, 4), all.allow_same(1, 5), all.allow_same(3, 5);
    extents_t<3> const rows{result.extent(0), result.extent(1), result.extent(2)};
    all.must_refuse(first.extents != result.extents || second.extents != result.extents, "a part does not fit");
    all.must_refuse(first_sums.extents != rows || second_sums.extents != rows, "the lse of a part does not fit");
    all.must_refuse(sums.extents != rows, "lse does not fit");

    all.settle();
    bool const compared = !all.is_refused() && all.is_comparable();
    tensor<float, 4> first_copy, second_copy;
    tensor<float, 3> first_sums_copy, second_sums_copy;
    if (compared) {
        first_copy = memory::copy(first), second_copy = memory::copy(second);
        first_sums_copy = memory::copy(first_sums), second_sums_copy = memory::copy(second_sums);
    }
    if (!all.call([&] { merge(first, first_sums, second, second_sums, result, sums); }) || !compared) return;
    tensor<double, 4> expected(result.extents);
    tensor<double, 3> sums_expected(sums.extents);
    auto const features = static_cast<std::size_t>(result.extent(3));
    for (std::size_t i = 0; i < sums_expected.elements.size(); ++i) {
        joined const row(first_sums_copy.elements[i], second_sums_copy.elements[i]);
        sums_expected.elements[i] = row.lse;
        for (std::size_t c = i * features; c < (i + 1) * features; ++c) {
            // A part without keys is not looked at.
            if (row.first != 0) expected.elements[c] += row.first * first_copy.elements[c];
            if (row.second != 0) expected.elements[c] += row.second * second_copy.elements[c];
        }
    }
    all.expect("result", result, expected);
    all.expect("lse", sums, sums_expected);
}
