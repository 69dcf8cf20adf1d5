// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of <windows.h>.
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define near
#define far
#define NEAR near
#define FAR far
#define small char
#define hyper long long
#define interface struct
#define ERROR 0
#define NO_ERROR 0L
#define IN
#define OUT
#define OPTIONAL
#define CONST const
#define VOID void
#define STRICT 1
#define TRUE 1
#define FALSE 0
#define DELETE (0x00010000L)
#define TRANSPARENT 1
#define OPAQUE 2
#define ALTERNATE 1
#define WINDING 2
#define ABSOLUTE 1
#define RELATIVE 2
#define GetObject GetObjectA
#define CreateEvent CreateEventA
#define Yield()
