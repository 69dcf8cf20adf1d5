// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that the address sanitizer, where the program has it, takes for forbidden.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FUZZ_IS_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define FUZZ_IS_SANITIZED
#endif

#ifdef FUZZ_IS_SANITIZED
#include <sanitizer/asan_interface.h>
#endif

namespace fuzz {

#ifdef FUZZ_IS_SANITIZED
inline constexpr bool is_sanitized = true;
inline void hide(void const* from, std::size_t size) { __asan_poison_memory_region(from, size); }
inline void show(void const* from, std::size_t size) { __asan_unpoison_memory_region(from, size); }
#else
inline constexpr bool is_sanitized = false;
inline void hide(void const*, std::size_t) {}
inline void show(void const*, std::size_t) {}
#endif

}  // namespace fuzz
