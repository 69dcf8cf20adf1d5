// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a map, gate or list of keys with members must report the arrays it reads: add memory(visit), empty
// if it holds only numbers
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>

using namespace fovea;

/// Each head is multiplied by a number of its own.
struct louder_t {
    using head_map_tag = void;
    view<float const, 1> factor;  // (head)

    template <class Row>
    void apply(Row const& row, head_place const& at) const {
        auto const f = static_cast<typename Row::value_type>(factor(at.head));
        row.map([f](auto x) { return x * f; });
    }
    static std::string text() { return "louder"; }
#ifndef FOVEA_BROKEN
    template <class Visit>
    void memory(Visit const& visit) const {
        visit(factor, "the factors for ");
    }
#endif
};

void call(view<float, 2> matrix, view<float const, 1> factors, view<float, 2> x, view<float, 2> result) {
    auto const spec = project(linear(matrix) | louder_t{factors}, matrix, matrix, heads<4>) | dot;
    reference::attend(spec | softmax | weighted_sum, x, result);
}
