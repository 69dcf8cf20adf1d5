// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls at full speed and for size by turns, each with a workspace that is kept: the least time of each.
#include <fovea/core/tensor.hpp>
#include <fovea/driver/run/workspace.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

using call = void(bool, fovea::workspace&, fovea::view<float const, 4>, fovea::view<float const, 4>,
                  fovea::view<float const, 4>, fovea::view<float, 4>);
call call_for_speed, call_for_size;

namespace {

struct shape {
    char const* name;
    fovea::index_t queries, keys;
    bool is_causal = false;
};

double seconds_of(call* run, shape const& at, fovea::workspace& scratch, fovea::tensor<float, 4> const (&in)[3],
                  fovea::tensor<float, 4>& out) {
    auto const pairs = static_cast<double>(at.queries * at.keys);
    int const repetitions = std::max(1, static_cast<int>(4e5 / pairs));
    auto const begin = std::chrono::steady_clock::now();
    for (int i = 0; i < repetitions; ++i)
        run(at.is_causal, scratch, in[0].view(), in[1].view(), in[2].view(), out.view());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / repetitions;
}

}  // namespace

int main() {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    bool all_agree = true;
    std::puts("| call, 64 features | full, us | for size, us | speed for size |\n|---|---|---|---|");
    for (shape const& at : {shape{"512 queries and keys", 512, 512}, shape{"the same, causal", 512, 512, true},
                            shape{"64 queries and keys", 64, 64}, shape{"the same, causal", 64, 64, true},
                            shape{"1 query, 4096 keys", 1, 4096}, shape{"4 queries, 1024 keys", 4, 1024}}) {
        using operand_type = fovea::tensor<float, 4>;
        operand_type in[3]{operand_type({1, 1, at.queries, 64}), operand_type({1, 1, at.keys, 64}),
                           operand_type({1, 1, at.keys, 64})};
        for (auto& operand : in)
            for (float& element : operand) element = normal(random);
        operand_type full({1, 1, at.queries, 64}), small({1, 1, at.queries, 64});
        fovea::workspace scratch_full, scratch_small;
        double of_full = 1e9, of_small = 1e9;
        for (int round = 0; round < 400; ++round) {
            of_full = std::min(of_full, seconds_of(call_for_speed, at, scratch_full, in, full));
            of_small = std::min(of_small, seconds_of(call_for_size, at, scratch_small, in, small));
        }
        for (auto a = full.begin(), b = small.begin(); a != full.end(); ++a, ++b)
            all_agree = all_agree && std::fabs(*a - *b) < 1e-5f;
        std::printf("| %s | %.1f | %.1f | %.2f |\n", at.name, 1e6 * of_full, 1e6 * of_small, of_full / of_small);
    }
    if (!all_agree) std::puts("results differ");
    return all_agree ? 0 : 1;
}
