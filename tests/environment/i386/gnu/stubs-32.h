/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The C library of this machine asks for this where a processor has 32 bits. */
