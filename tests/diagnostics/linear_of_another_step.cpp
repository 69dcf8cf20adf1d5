// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: linear says that step is sum + weight * value, and this step is another
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>

using namespace fovea;

struct squares_t : stage<role::aggregator> {
    static constexpr std::string_view name = "squares";
#ifdef FOVEA_BROKEN
    static constexpr bool linear = true;
#endif
    template <class V, class W>
    static constexpr V step(V const& sum, W const& weight, V const& value) {
        return sum + weight * value * value;
    }
};

void call(view<float const, 3> x, view<float, 3> y) { attend(dot | softmax | squares_t{}, x, y); }
