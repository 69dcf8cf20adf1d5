// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The standard library of MinGW-w64 as GCC reads it, for a compiler that says it is MSVC's; then nothing that says GCC.
#pragma once

#undef _MSC_VER
#define __GNUC__ 12
#define __GNUC_MINOR__ 2
#define __MINGW32__ 1
#define __MINGW64__ 1
#define __STRICT_ANSI__ 1
#define __GCC_ATOMIC_TEST_AND_SET_TRUEVAL 1
#define __GCC_ATOMIC_BOOL_LOCK_FREE 2
#define __GCC_ATOMIC_CHAR_LOCK_FREE 2
#define __GCC_ATOMIC_CHAR8_T_LOCK_FREE 2
#define __GCC_ATOMIC_CHAR16_T_LOCK_FREE 2
#define __GCC_ATOMIC_CHAR32_T_LOCK_FREE 2
#define __GCC_ATOMIC_WCHAR_T_LOCK_FREE 2
#define __GCC_ATOMIC_SHORT_LOCK_FREE 2
#define __GCC_ATOMIC_INT_LOCK_FREE 2
#define __GCC_ATOMIC_LONG_LOCK_FREE 2
#define __GCC_ATOMIC_LLONG_LOCK_FREE 2
#define __GCC_ATOMIC_POINTER_LOCK_FREE 2

#include <_mingw.h>
#define __MINGW_IMPORT extern __attribute__((dllimport))
#include <malloc.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cctype>
#include <cfenv>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <numbers>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <valarray>
#include <vector>

#undef __GNUC__
#undef __GNUC_MINOR__
#undef __MINGW32__
#undef __MINGW64__
#define _MSC_VER 1940
// <intrin.h> of MinGW-w64 defines what Clang has built in.
#define __INTRIN_H
#define __INTRIN_H_
