// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

using namespace fovea;

// Views, tensors, graphs, workspaces and errors are the same types in all units, whatever these are compiled for.
#define DECLARE_UNIT(name)                                                                                             \
    void attend_##name(workspace&, view<float const, 4>, view<float const, 4>, view<float const, 4>, view<float, 4>);  \
    std::string compute_all_##name(view<float const, 4>, view<float, 4>, tensor<float, 3> const&, tensor<float, 3>&,   \
                                   tensor<bfloat16, 4> const&, tensor<std::int32_t, 2> const&, tensor<bool, 2> const&, \
                                   std::vector<std::int32_t> const&, graph const&);
DECLARE_UNIT(narrow)
DECLARE_UNIT(wide)

namespace {

tensor<float, 4> waves(index_t heads, index_t positions, index_t features, float step) {
    tensor<float, 4> result({1, heads, positions, features});
    for (index_t i = 0; i < result.size(); ++i) result.data()[i] = std::sin(step * static_cast<float>(i));
    return result;
}

int differ(char const* what, std::vector<float> const& narrow, std::vector<float> const& wide) {
    float largest = 0;
    for (std::size_t i = 0; i < narrow.size(); ++i)
        largest = std::max(largest, std::abs(narrow[i] - wide[i]) / std::max(1.f, std::abs(wide[i])));
    std::printf("%s: the two units differ by at most %g\n", what, largest);
    return largest < 1e-5f ? 0 : 1;
}

/// The operands of compute_all, which both units are given.
struct whole_unit {
    tensor<float, 4> operand = waves(4, 20, 8, 0.3f);
    tensor<float, 3> x{{2, 12, 16}, 0.1f};
    tensor<bfloat16, 4> pages{{5, 4, 4, 8}, bfloat16(0.5f)};
    tensor<std::int32_t, 2> table{{1, 5}};
    tensor<bool, 2> mask{{20, 20}, true};
    std::vector<std::int32_t> ids = std::vector<std::int32_t>(20, 3);
    std::vector<graph::edge> edges{{0, 1}, {2, 3}, {19, 0}, {19, 19}};
    graph listed{20, edges};

    std::vector<float> run(auto const& compute) {
        tensor<float, 4> out(operand.extents);
        tensor<float, 3> y(x.extents);
        std::string const text = compute(operand.view(), out.view(), x, y, pages, table, mask, ids, listed);
        std::printf("%s\n", text.c_str());
        auto all = out.elements;
        all.insert(all.end(), y.elements.begin(), y.elements.end());
        return all;
    }
};

/// An error that one unit throws is caught in another.
int throws(auto const& attend_in_unit, workspace& scratch) {
    tensor<float, 4> const x({1, 1, 2, 3});
    tensor<float, 4> y({1, 1, 2, 4});
    try {
        attend_in_unit(scratch, x.view(), x.view(), x.view(), y.view());
    } catch (shape_error const& error) {
        return 0;
    }
    std::printf("an error was not thrown, or not caught\n");
    return 1;
}

}  // namespace

// Both units must compute the same attention.
int main() {
    auto const query = waves(2, 37, 24, 0.7f), key = waves(2, 41, 24, 1.1f), value = waves(2, 41, 24, 1.3f);
    tensor<float, 4> narrow(query.extents), wide(query.extents);
    workspace scratch;
    attend_narrow(scratch, query.view(), key.view(), value.view(), narrow.view());
    attend_wide(scratch, query.view(), key.view(), value.view(), wide.view());
    whole_unit unit;
    return differ("attend", narrow.elements, wide.elements)
         + differ("whole unit", unit.run(compute_all_narrow), unit.run(compute_all_wide))
         + throws(attend_narrow, scratch) + throws(attend_wide, scratch);
}
