// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementary functions keep their bounds however they are compiled. Nothing here asks whether a number is NaN.
#include <fovea/simd/math.hpp>

#include "../support/ulps.hpp"

#include <array>
#include <cstdio>

using namespace fovea;

namespace {

int failures = 0;

/// F on packs, held against the same of a wider type, from one number on to another.
template <class T, class F>
void check(char const* name, F const& f, double low, double high, double allowed) {
    using pack = kernel::pack<T, arch::best>;
    constexpr int steps = 20000;
    std::array<T, std::size_t{pack::lanes}> result;
    double worst = 0, at = 0;
    for (int i = 0; i <= steps; ++i) {
        auto const x = static_cast<T>(low + (high - low) * i / steps);
        f(pack(x)).store(result.data());
        double const distance = ulps(static_cast<wider<T>>(f(static_cast<wider<T>>(x))), result[0]);
        if (distance <= worst) continue;
        worst = distance;
        at = static_cast<double>(x);
    }
    std::printf("%s of %zu bytes: at most %.2f ulp, at %g\n", name, sizeof(T), worst, at);
    if (!(worst <= allowed)) ++failures;
}

template <class T>
void check_all(double least, double largest) {
    check<T>("exp", exp_of, least * 0.69, largest * 0.69, 3);  // 2, but for sums in another order
    check<T>("exp2", exp2_of, least, largest, 3);
    check<T>("tanh", tanh_of, 0.001, 20, 5);
    check<T>("log", log_of, 1.5, 1e6, 2);
}

/// Integers as reals, exactly.
template <class T>
void check_integers() {
    using registers = kernel::registers<T, arch::best>;
    using pack = kernel::pack<T, arch::best>;
    using integer = kernel::integer_like<T>;
    std::array<T, std::size_t{pack::lanes}> result;
    for (int bits = 0; bits < limits<T>::digits; ++bits)
        for (integer const n : {integer{1} << bits, -(integer{1} << bits), (integer{1} << bits) - 1}) {
            pack(registers::to_real(typename registers::integers(n))).store(result.data());
            if (static_cast<integer>(result[0]) == n && static_cast<T>(n) == result[0]) continue;
            std::printf("the integer %lld becomes %.17g\n", static_cast<long long>(n), static_cast<double>(result[0]));
            ++failures;
        }
}

}  // namespace

int main() {
    check_integers<float>();
    check_integers<double>();
    check_all<float>(-125.9, 127.9);
    check_all<double>(-1021.9, 1023.9);
    return failures == 0 ? 0 : 1;
}
