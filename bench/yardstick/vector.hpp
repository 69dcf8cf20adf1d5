// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// Vectors of the machine in the language of GCC and Clang, without the library: for measuring the machine, and for
// loops written by hand to compare with.
#if defined(__AVX512F__)
#define YARDSTICK_VECTOR_BYTES 64
#define YARDSTICK_CHAINS 24  // of 32 registers; two pipes of latency four need eight
#elif defined(__AVX__)
#define YARDSTICK_VECTOR_BYTES 32
#define YARDSTICK_CHAINS 12  // of 16 registers
#elif defined(__aarch64__)
#define YARDSTICK_VECTOR_BYTES 16
#define YARDSTICK_CHAINS 24
#else
#define YARDSTICK_VECTOR_BYTES 16
#define YARDSTICK_CHAINS 12
#endif

namespace yardstick {

template <class T>
struct vector_of {
    typedef T type __attribute__((vector_size(YARDSTICK_VECTOR_BYTES)));
};
template <class T>
using vector = typename vector_of<T>::type;

template <class T>
inline constexpr std::ptrdiff_t lanes = YARDSTICK_VECTOR_BYTES / sizeof(T);

template <class T>
inline vector<T> load(T const* from) {
    vector<T> v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
template <class T>
inline void store(vector<T> const& v, T* to) {
    std::memcpy(to, &v, sizeof v);
}
template <class T>
inline vector<T> all(T x) {
    return vector<T>{} + x;
}

}  // namespace yardstick
