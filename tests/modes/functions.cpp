// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementary functions keep their bounds however they are compiled. Nothing here asks whether a number is NaN.
#include <fovea/simd/math.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace fovea;

namespace {

int failures = 0;

/// F on packs, held against the same of a wider type, from one number on to another.
template <class T, class F>
void check(char const* name, F const& f, double low, double high, double allowed) {
    using pack = kernel::pack<T, arch::best>;
    using wider = std::conditional_t<sizeof(T) == 4, double, long double>;
    constexpr int steps = 20000;
    std::array<T, std::size_t{pack::lanes}> result;
    double worst = 0, at = 0;
    for (int i = 0; i <= steps; ++i) {
        auto const x = static_cast<T>(low + (high - low) * i / steps);
        f(pack(x)).store(result.data());
        auto const exact = f(static_cast<wider>(x));
        auto const unit = std::ldexp(wider{1}, std::ilogb(exact) - std::numeric_limits<T>::digits + 1);
        auto const ulps = static_cast<double>(std::abs(static_cast<wider>(result[0]) - exact) / unit);
        if (ulps <= worst) continue;
        worst = ulps;
        at = static_cast<double>(x);
    }
    std::printf("%s of %zu bytes: at most %.2f ulp, at %g\n", name, sizeof(T), worst, at);
    if (!(worst <= allowed)) ++failures;
}

template <class T>
void check_all(double least, double largest) {
    auto const exp_of = [](auto const& x) {
        using std::exp;
        return exp(x);
    };
    auto const exp2_of = [](auto const& x) {
        using std::exp2;
        return exp2(x);
    };
    auto const tanh_of = [](auto const& x) {
        using std::tanh;
        return tanh(x);
    };
    auto const log_of = [](auto const& x) {
        using std::log;
        return log(x);
    };
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
    for (int bits = 0; bits < std::numeric_limits<T>::digits; ++bits)
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
