/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* xsimd includes it wherever there is NEON, and asks AArch64 for nothing of it; headers of Linux for x86-64 lack it. */
