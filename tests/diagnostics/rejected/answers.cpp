// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Answers that the test must refuse.

// case: compiles
// found: the mistake compiles
// sentence: fovea: a sentence
static_assert(true, "fovea: a sentence");

// case: late
// found: the sentence is said on line
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
#warning "much"
static_assert(false, "fovea: a sentence");
#endif

// case: said_twice
// found: 2 errors where one sentence is enough
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
static_assert(false, "fovea: a sentence");
int const number = "a flood";
#endif

// case: still_wrong
// found: the corrected program does not compile
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
static_assert(false, "fovea: a sentence");
#else
int const number = "a mistake";
#endif

// case: unsaid
// found: the sentence is not said
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
static_assert(false, "fovea: another sentence");
#endif

// case: warned
// found: the corrected program compiles with warnings
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
static_assert(false, "fovea: a sentence");
#endif
inline int number(int unused) { return 1; }
