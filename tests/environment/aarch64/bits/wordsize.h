/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* AArch64 has 64 bits, which the C library of another machine does not say. */
#define __WORDSIZE 64
#define __WORDSIZE_TIME64_COMPAT32 1
#define __SYSCALL_WORDSIZE 64
