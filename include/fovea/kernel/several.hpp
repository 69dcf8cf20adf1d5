// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Some vectors as one: arch::several.
#pragma once

#include <fovea/kernel/lanes.hpp>
#include <fovea/kernel/storage.hpp>
#include <fovea/kernel/unrolled.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Vectors, integers or masks, each of which an operation is done with.
template <class Part, int Count>
struct parts_of {
    Part part[static_cast<std::size_t>(Count)];

    parts_of() = default;
    template <class Number>
        requires std::is_arithmetic_v<Number>
    FOVEA_INLINE explicit parts_of(Number x) {
        unrolled<Count>([&](auto i) FOVEA_LAMBDA { part[i] = Part(x); });
    }
};

/// f of the first parts, of the second, ...
template <class F, class First, class... Others, int Count>
FOVEA_INLINE auto each(F f, parts_of<First, Count> const& a, parts_of<Others, Count> const&... b) {
    parts_of<std::remove_cvref_t<decltype(f(a.part[0], b.part[0]...))>, Count> result;
    unrolled<Count>([&](auto i) FOVEA_LAMBDA { result.part[i] = f(a.part[i], b.part[i]...); });
    return result;
}

template <class A, int Count>
FOVEA_INLINE auto operator+(parts_of<A, Count> const& a, parts_of<A, Count> const& b) {
    return each([](A const& x, A const& y) FOVEA_LAMBDA { return x + y; }, a, b);
}
template <class A, int Count>
FOVEA_INLINE auto operator-(parts_of<A, Count> const& a, parts_of<A, Count> const& b) {
    return each([](A const& x, A const& y) FOVEA_LAMBDA { return x - y; }, a, b);
}
template <class A, int Count>
FOVEA_INLINE auto operator*(parts_of<A, Count> const& a, parts_of<A, Count> const& b) {
    return each([](A const& x, A const& y) FOVEA_LAMBDA { return x * y; }, a, b);
}
template <class A, int Count>
FOVEA_INLINE auto operator<(parts_of<A, Count> const& a, parts_of<A, Count> const& b) {
    return each([](A const& x, A const& y) FOVEA_LAMBDA { return x < y; }, a, b);
}
template <class A, int Count>
FOVEA_INLINE auto operator<=(parts_of<A, Count> const& a, parts_of<A, Count> const& b) {
    return each([](A const& x, A const& y) FOVEA_LAMBDA { return x <= y; }, a, b);
}
template <class A, int Count>
FOVEA_INLINE auto operator==(parts_of<A, Count> const& a, parts_of<A, Count> const& b) {
    return each([](A const& x, A const& y) FOVEA_LAMBDA { return x == y; }, a, b);
}
template <class A, int Count>
    requires requires(A const& a) { a & a; }
FOVEA_INLINE auto operator&(parts_of<A, Count> const& a, parts_of<A, Count> const& b) {
    return each([](A const& x, A const& y) FOVEA_LAMBDA { return x & y; }, a, b);
}
template <class A, int Count>
    requires requires(A const& a) { a | a; }
FOVEA_INLINE auto operator|(parts_of<A, Count> const& a, parts_of<A, Count> const& b) {
    return each([](A const& x, A const& y) FOVEA_LAMBDA { return x | y; }, a, b);
}
template <class A, int Count>
    requires requires(A const& a) { a ^ a; }
FOVEA_INLINE auto operator^(parts_of<A, Count> const& a, parts_of<A, Count> const& b) {
    return each([](A const& x, A const& y) FOVEA_LAMBDA { return x ^ y; }, a, b);
}
template <class A, int Count>
FOVEA_INLINE auto operator~(parts_of<A, Count> const& a) {
    return each([](A const& x) FOVEA_LAMBDA { return ~x; }, a);
}

template <class T, class Arch, int Count>
struct simd<T, arch::several<Arch, Count>> {
    using one = simd<T, Arch>;
    using vector = parts_of<typename one::vector, Count>;
    using mask = parts_of<typename one::mask, Count>;
    using integers = parts_of<typename one::integers, Count>;
    static constexpr int lanes = Arch::vector_bytes / static_cast<int>(sizeof(T));  // of a part

    FOVEA_INLINE static vector load(T const* from) {
        vector a;
        unrolled<Count>([&](auto i) FOVEA_LAMBDA { a.part[i] = one::load(from + i * lanes); });
        return a;
    }
    FOVEA_INLINE static void store(T* to, vector const& a) {
        unrolled<Count>([&](auto i) FOVEA_LAMBDA { one::store(to + i * lanes, a.part[i]); });
    }
    FOVEA_INLINE static vector fma(vector const& a, vector const& b, vector const& c) {
        return each([](auto const& x, auto const& y, auto const& z) FOVEA_LAMBDA { return one::fma(x, y, z); }, a, b,
                    c);
    }
    FOVEA_INLINE static vector divide(vector const& a, vector const& b) {
        return each([](auto const& x, auto const& y) FOVEA_LAMBDA { return one::divide(x, y); }, a, b);
    }
    FOVEA_INLINE static vector select(mask const& m, vector const& a, vector const& b) {
        return each([](auto const& l, auto const& x, auto const& y) FOVEA_LAMBDA { return one::select(l, x, y); }, m, a,
                    b);
    }
    FOVEA_INLINE static vector min(vector const& a, vector const& b) {
        return each([](auto const& x, auto const& y) FOVEA_LAMBDA { return one::min(x, y); }, a, b);
    }
    FOVEA_INLINE static vector max(vector const& a, vector const& b) {
        return each([](auto const& x, auto const& y) FOVEA_LAMBDA { return one::max(x, y); }, a, b);
    }
    FOVEA_INLINE static vector abs(vector const& a) {
        return each([](auto const& x) FOVEA_LAMBDA { return one::abs(x); }, a);
    }
    FOVEA_INLINE static vector sqrt(vector const& a) {
        return each([](auto const& x) FOVEA_LAMBDA { return one::sqrt(x); }, a);
    }
    FOVEA_INLINE static bool any(mask const& m) {
        bool found = false;
        unrolled<Count>([&](auto i) FOVEA_LAMBDA { found = found || one::any(m.part[i]); });
        return found;
    }
    FOVEA_INLINE static void hold(vector& a) {
        unrolled<Count>([&](auto i) FOVEA_LAMBDA { one::hold(a.part[i]); });
    }
    FOVEA_INLINE static integers as_integers(vector const& a) {
        return each([](auto const& x) FOVEA_LAMBDA { return one::as_integers(x); }, a);
    }
    FOVEA_INLINE static vector as_reals(integers const& a) {
        return each([](auto const& x) FOVEA_LAMBDA { return one::as_reals(x); }, a);
    }
    template <class OfIntegers>
    FOVEA_INLINE static mask as_mask(parts_of<OfIntegers, Count> const& m) {
        return each([](auto const& x) FOVEA_LAMBDA { return one::as_mask(x); }, m);
    }
    FOVEA_INLINE static vector to_real(integers const& a) {
        return each([](auto const& x) FOVEA_LAMBDA { return one::to_real(x); }, a);
    }
    template <int Bits>
    FOVEA_INLINE static integers shift_left(integers const& a) {
        return each([](auto const& x) FOVEA_LAMBDA { return one::template shift_left<Bits>(x); }, a);
    }
    template <int Bits>
    FOVEA_INLINE static integers shift_right(integers const& a) {
        return each([](auto const& x) FOVEA_LAMBDA { return one::template shift_right<Bits>(x); }, a);
    }
};

template <class T, class Arch, int Count>
struct lanes_of<T, arch::several<Arch, Count>> : generic_lanes<T, arch::several<Arch, Count>> {
    using vector = pack<T, arch::several<Arch, Count>>;
    using one = lanes_of<T, Arch>;
    static constexpr bool scale_saturates = one::scale_saturates;

    FOVEA_INLINE static vector fraction(vector const& a) {
        return {each([](auto const& x) FOVEA_LAMBDA { return one::fraction({x}).value; }, a.value)};
    }
    FOVEA_INLINE static vector scale(vector const& a, vector const& n) {
        return {each([](auto const& x, auto const& y) FOVEA_LAMBDA { return one::scale({x}, {y}).value; }, a.value,
                     n.value)};
    }
    FOVEA_INLINE static vector two_to_fraction(vector const& a)
        requires requires(pack<T, Arch> const& x) { one::two_to_fraction(x); }
    {
        return {each([](auto const& x) FOVEA_LAMBDA { return one::two_to_fraction({x}).value; }, a.value)};
    }
    FOVEA_INLINE static vector reversed(vector const& a) {
        vector b;
        unrolled<Count>([&](auto i)
                            FOVEA_LAMBDA { b.value.part[i] = one::reversed({a.value.part[Count - 1 - i]}).value; });
        return b;
    }
    FOVEA_INLINE static vector reciprocal(vector const& a) {
        return {each([](auto const& x) FOVEA_LAMBDA { return one::reciprocal({x}).value; }, a.value)};
    }
};

/// Elements of another type are converted vector by vector.
template <class Element, class T, class Arch, int Count>
    requires(!std::is_same_v<Element, T>)
struct storage<Element, T, arch::several<Arch, Count>> {
    using vector = pack<T, arch::several<Arch, Count>>;

    FOVEA_INLINE static vector load(Element const* from) {
        vector a;
        unrolled<Count>([&](auto i) FOVEA_LAMBDA {
            a.value.part[i] = storage<Element, T, Arch>::load(from + i * pack<T, Arch>::lanes).value;
        });
        return a;
    }
};

}  // namespace fovea::FOVEA_SET::kernel
