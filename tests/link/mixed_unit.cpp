// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Wrong on purpose: a shared function whose code depends on the flags, as the check of shared symbols must notice.
namespace fovea {

template <class T>
[[gnu::noinline]] T halved(T number) {
    return number * T(0.5);
}

}  // namespace fovea

float HALVE(float number) { return fovea::halved(number); }
