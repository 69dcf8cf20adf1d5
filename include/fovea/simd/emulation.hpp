// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectors made of arrays, with the operations the library uses of a real one.
#pragma once

#include <fovea/core/config.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace fovea::FOVEA_SET::kernel::emulation {

template <class T, int Lanes>
struct vector {
    std::array<T, std::size_t{Lanes}> lane{};

    vector() = default;
    explicit vector(T value) { lane.fill(value); }
};

template <int Lanes>
struct lane_mask {
    std::array<bool, std::size_t{Lanes}> lane{};
};

template <class T, int N, class F>
vector<T, N> each(vector<T, N> const& a, F f) {
    vector<T, N> r;
    for (std::size_t i = 0; i < N; ++i) r.lane[i] = f(a.lane[i]);
    return r;
}
template <class T, int N, class F>
vector<T, N> each(vector<T, N> const& a, vector<T, N> const& b, F f) {
    vector<T, N> r;
    for (std::size_t i = 0; i < N; ++i) r.lane[i] = f(a.lane[i], b.lane[i]);
    return r;
}
template <class T, int N, class F>
lane_mask<N> test(vector<T, N> const& a, vector<T, N> const& b, F f) {
    lane_mask<N> r;
    for (std::size_t i = 0; i < N; ++i) r.lane[i] = f(a.lane[i], b.lane[i]);
    return r;
}
template <int N, class F>
lane_mask<N> both(lane_mask<N> const& a, lane_mask<N> const& b, F f) {
    lane_mask<N> r;
    for (std::size_t i = 0; i < N; ++i) r.lane[i] = f(a.lane[i], b.lane[i]);
    return r;
}

/// f of two numbers; integers wrap around, as those of real vectors do.
template <class T, class F>
T wrapped(T x, T y, F f) {
    if constexpr (std::is_integral_v<T>) {
        using bits = std::make_unsigned_t<T>;
        return static_cast<T>(f(static_cast<bits>(x), static_cast<bits>(y)));
    } else {
        return f(x, y);
    }
}

template <class T, int N>
vector<T, N> operator+(vector<T, N> const& a, vector<T, N> const& b) {
    return each(a, b, [](T x, T y) { return wrapped(x, y, [](auto l, auto r) { return l + r; }); });
}
template <class T, int N>
vector<T, N> operator-(vector<T, N> const& a, vector<T, N> const& b) {
    return each(a, b, [](T x, T y) { return wrapped(x, y, [](auto l, auto r) { return l - r; }); });
}
template <class T, int N>
vector<T, N> operator*(vector<T, N> const& a, vector<T, N> const& b) {
    return each(a, b, [](T x, T y) { return wrapped(x, y, [](auto l, auto r) { return l * r; }); });
}
template <class T, int N>
vector<T, N> operator/(vector<T, N> const& a, vector<T, N> const& b) {
    return each(a, b, [](T x, T y) { return static_cast<T>(x / y); });
}
template <class T, int N>
lane_mask<N> operator<(vector<T, N> const& a, vector<T, N> const& b) {
    return test(a, b, [](T x, T y) { return x < y; });
}
template <class T, int N>
lane_mask<N> operator<=(vector<T, N> const& a, vector<T, N> const& b) {
    return test(a, b, [](T x, T y) { return x <= y; });
}
template <class T, int N>
lane_mask<N> operator==(vector<T, N> const& a, vector<T, N> const& b) {
    return test(a, b, [](T x, T y) { return x == y; });
}
template <int N>
lane_mask<N> operator&(lane_mask<N> const& a, lane_mask<N> const& b) {
    return both(a, b, [](bool x, bool y) { return x && y; });
}
template <int N>
lane_mask<N> operator|(lane_mask<N> const& a, lane_mask<N> const& b) {
    return both(a, b, [](bool x, bool y) { return x || y; });
}
template <int N>
lane_mask<N> operator~(lane_mask<N> const& a) {
    return both(a, a, [](bool x, bool) { return !x; });
}

}  // namespace fovea::FOVEA_SET::kernel::emulation
