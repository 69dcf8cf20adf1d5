// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Wrong on purpose: shared functions whose code depends on the flags, as the check of shared symbols must notice.
namespace fovea {

template <class T>
[[gnu::noinline]] T halved(T number) {
    return number * T(0.5);
}

/// The end of a function that used wide registers, and often all that shows it.
template <class T>
[[gnu::noinline]] void ended(T number) {
    asm volatile("vzeroupper" : : "x"(number));
}

}  // namespace fovea

float HALVE(float number) {
    fovea::ended(number);
    return fovea::halved(number);
}
