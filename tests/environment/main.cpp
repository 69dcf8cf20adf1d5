// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls in one mode of the floating-point unit, which the first argument names; and, where exceptions are off, one
// with a wrong argument.
#include "mode.hpp"

#ifndef __cpp_exceptions
#include <fovea/fovea.hpp>

#include <cstdlib>
#include <string_view>
#endif

void calls(surroundings const&);

namespace {

/// The handler that is told of a wrong argument ends the program, well where nothing was written before.
void refuse() {
#ifndef __cpp_exceptions
    using namespace fovea;
    static tensor<float, 4> result({1, 1, 4, 3});
    for (float& element : result) element = 7;
    on_error([](char const* message) {
        bool is_right = std::string_view(message).ends_with("query has 5 features, key has 6");
        for (float const element : result) is_right = is_right && element == 7;
        std::printf("a wrong argument: %s\n", message);
        std::fflush(stdout);
        std::_Exit(is_right ? 0 : 1);
    });
    tensor<float, 4> const q({1, 1, 4, 5}), k({1, 1, 4, 6}), v({1, 1, 4, 3});
    attend(dot | softmax | weighted_sum, q, k, v, result);
    std::abort();
#endif
}

}  // namespace

int main(int argc, char** argv) {
    int const failed = run_in_mode(argc, argv, calls);
    if (failed == 0) refuse();
    return failed;
}
