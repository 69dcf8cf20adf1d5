// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tutorial, step 5: a normalizer of one's own, held to the laws of normalizers and to the definition.
#include <fovea/fovea.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/laws.hpp>

#include <cmath>
#include <cstdio>

using namespace fovea;

//! [word]
/// softplus: each weight is log(1 + exp(score)).
struct softplus_t : stage<role::normalizer> {
    static constexpr std::string_view name = "softplus";

    template <class V>  // a number, or a vector of them
    static V weight(V const& score) {
        using std::abs, std::exp, std::log, std::max;
        return max(score, V(0)) + log(V(1) + exp(-abs(score)));  // no score is too large
    }
};
inline constexpr softplus_t softplus{};
//! [word]

int main() {
    //! [laws]
    testing::check_normalizer_laws(softplus);
    auto const engine = [](auto const&... arguments) { attend(arguments...); };
    testing::compare_with_reference<float>(engine, scaled_dot | causal | softplus | weighted_sum);
    std::puts("softplus keeps the laws of normalizers and agrees with its definition");
    //! [laws]
}
