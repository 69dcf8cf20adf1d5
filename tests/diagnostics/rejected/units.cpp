// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Diagnostics that are of no case, or of two, and one behind which nothing is compiled: no answer of the unit counts.

#ifdef FOVEA_BROKEN
static_assert(false, "fovea: of no case");
#else
inline int number(int unused) { return 1; }
#endif

template <int N>
struct endless : endless<N + 1> {};

// case: answered
// found: a diagnostic names 0 cases
// found: a diagnostic names 2 cases
// found: a diagnostic names 0 cases
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
static_assert(false, "fovea: a sentence");
#endif

template <class T>
struct refused {
    static_assert(sizeof(T) == 0, "fovea: a sentence");
};

// case: of_another
// found: the mistake compiles
// found: a diagnostic names 0 cases
// found: a diagnostic names 2 cases
// found: a diagnostic names 0 cases
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
case_answered::refused<int> const made;
#endif

// case: stops
// found: a diagnostic names 0 cases
// found: a diagnostic names 2 cases
// found: nothing after this is compiled
// found: a diagnostic names 0 cases
// sentence: template instantiation
#ifdef FOVEA_BROKEN
endless<0> const made;
#endif

// case: stopped
// found: the mistake compiles
// found: a diagnostic names 0 cases
// found: a diagnostic names 2 cases
// found: a diagnostic names 0 cases
// sentence: fovea: a sentence
#ifdef FOVEA_BROKEN
static_assert(false, "fovea: a sentence");
#endif
