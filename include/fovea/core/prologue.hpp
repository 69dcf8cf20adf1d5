// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sets aside the macros of others whose names this library or a dependency of it uses. A public header begins with
// this, and ends with core/epilogue.hpp, which gives them back: what it includes is read between them.

// C, <complex.h>
#pragma push_macro("I")
#undef I
#pragma push_macro("complex")
#undef complex
// Qt
#pragma push_macro("slots")
#undef slots
// X11
#pragma push_macro("Bool")
#undef Bool
#pragma push_macro("None")
#undef None
// Unreal Engine
#pragma push_macro("check")
#undef check
// Windows
#pragma push_macro("far")
#undef far
#pragma push_macro("max")
#undef max
#pragma push_macro("min")
#undef min
#pragma push_macro("near")
#undef near
#pragma push_macro("small")
#undef small
// Arduino
#pragma push_macro("A0")
#undef A0
#pragma push_macro("A1")
#undef A1
#pragma push_macro("A2")
#undef A2
#pragma push_macro("A3")
#undef A3
#pragma push_macro("B1")
#undef B1
#pragma push_macro("F")
#undef F
#pragma push_macro("abs")
#undef abs
#pragma push_macro("bit")
#undef bit
#pragma push_macro("round")
#undef round
#pragma push_macro("word")
#undef word
// Objective-C
#pragma push_macro("id")
#undef id
#pragma push_macro("nil")
#undef nil
// <sys/sysmacros.h>
#pragma push_macro("major")
#undef major
#pragma push_macro("minor")
#undef minor
