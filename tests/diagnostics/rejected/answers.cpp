// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Answers that the test must refuse, each for the reasons that are found; one that it must not refuse has none.

template <class T>
struct refused {
    static_assert(sizeof(T) == 0, "fovea: a sentence");
};

// case: answered
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
refused<int> const made;
#endif

// case: answered_alone
// alone: the sentence of the case before, of the same type
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
refused<int> const made;
#endif

// case: answered_by_the_compiler
// gcc: invalid conversion from
// clang: cannot initialize a variable of type
#ifdef FOVEA_BROKEN
int const number = "words";
int const other = "a flood";
#endif

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

// case: late_words
// found: the sentence is said on line
// gcc: invalid conversion from
// clang: cannot initialize a variable of type
#ifdef FOVEA_BROKEN
#warning "much"
int const number = "words";
#endif

// case: said_twice
// found: 2 errors where one sentence is enough
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
static_assert(false, "fovea: a sentence");
int const number = "a flood";
#endif

// case: same_types
// found: the mistake compiles, or another case makes it with the same types
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
refused<int> const made;
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

// case: unsaid_and_flooded
// found: the sentence is not said
// found: 2 errors where one sentence is enough
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
static_assert(false, "fovea: another sentence");
int const number = "a flood";
#endif

// case: warned
// found: the corrected program compiles with warnings
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
static_assert(false, "fovea: a sentence");
#endif
inline int number(int unused) { return 1; }

// case: without_a_sentence
// found: 0 lines '// sentence: ...' where one is needed
#ifdef FOVEA_BROKEN
static_assert(false, "fovea: a sentence");
#endif
