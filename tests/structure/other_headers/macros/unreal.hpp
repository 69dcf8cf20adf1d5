// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of the Unreal Engine, and of Apple's <AssertMacros.h>.
#define UE_CHECK(expr)                 \
    {                                  \
        if (!(expr)) __builtin_trap(); \
    }
#define check(expr) UE_CHECK(expr)
#define checkf(expr, format, ...) UE_CHECK(expr)
#define checkSlow(expr) UE_CHECK(expr)
#define verify(expr) UE_CHECK(expr)
#define verifyf(expr, format, ...) UE_CHECK(expr)
#define ensure(expr) (!!(expr))
#define require(expr, label) UE_CHECK(expr)
#define unimplemented() UE_CHECK(false)
#define TEXT(x) x
#define PI 3.1415926535897932
#define HALF_PI 1.5707963267948966
#define DELTA 0.00001f
#define SMALL_NUMBER 1e-8f
#define BIG_NUMBER 3.4e+38f
#define INDEX_NONE -1
#define FORCEINLINE inline
#define RESTRICT __restrict
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
