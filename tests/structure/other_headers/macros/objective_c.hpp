// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of Objective-C.
#define nil 0
#define Nil 0
#define id void*
#define BOOL signed char
#define YES 1
#define NO 0
