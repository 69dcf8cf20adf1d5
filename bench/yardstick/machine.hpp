// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

/// yardstick: what this machine can do, measured, so that speed is told as a ratio.
namespace yardstick {

/// fma_peak: floating-point operations per second of independent fused multiply-adds in registers,
/// in the widest vectors this file was compiled for, on `threads` threads at once.
///
/// Takes about three milliseconds; call it right before and right after what it judges. T: float, double.
template <class T>
double fma_peak(int threads = 1);

/// read_bandwidth: bytes per second of summing a buffer far larger than the last-level cache.
double read_bandwidth(int threads = 1);

/// architecture: the vectors fma_peak was compiled for, "512-bit vectors, fused multiply-add".
std::string architecture();

}  // namespace yardstick
