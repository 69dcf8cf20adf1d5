/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The C library of this machine believes that another processor than x86-64 has 32 bits. */
