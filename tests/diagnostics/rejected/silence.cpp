// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiler that fails without a word answers no mistake, and compiles no corrected program.

// case: unanswered
// found: the mistake compiles
// found: a diagnostic names 0 cases
// found: a diagnostic names 0 cases
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
static_assert(false, "fovea: a sentence");
#endif
