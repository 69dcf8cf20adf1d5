// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The targets of the program compute the same, and errors of each arrive here.
#include <fovea/fovea.hpp>

#include <cmath>
#include <cstdio>

using namespace fovea;

void attend_in_app(view<float const, 4> x, view<float, 4> result);
void attend_in_object(view<float const, 4> x, view<float, 4> result);
void attend_in_static(view<float const, 4> x, view<float, 4> result);

namespace {

tensor<float, 4> attended(void (*attend_in)(view<float const, 4>, view<float, 4>)) {
    tensor<float, 4> x({1, 2, 9, 8}), result(x.extents);
    for (index_t i = 0; i < x.size(); ++i) x.data()[i] = std::cos(static_cast<float>(i));
    attend_in(x, result);
    return result;
}

bool refuses(void (*attend_in)(view<float const, 4>, view<float, 4>)) {
    tensor<float, 4> const x({1, 2, 9, 8});
    tensor<float, 4> wrong({1, 2, 9, 7});
    try {
        attend_in(x, wrong);
    } catch (shape_error const&) {
        return true;
    }
    return false;
}

}  // namespace

int main() {
    auto const app = attended(attend_in_app), object = attended(attend_in_object), other = attended(attend_in_static);
    bool right = refuses(attend_in_app) && refuses(attend_in_object) && refuses(attend_in_static);
    for (index_t i = 0; i < app.size(); ++i) {
        float const x = other.data()[i];
        right = right && std::abs(x - app.data()[i]) < 1e-5f && std::abs(x - object.data()[i]) < 1e-5f && x != 0;
    }
    std::printf("the three targets are %s\n", right ? "right" : "wrong");
    return right ? 0 : 1;
}
