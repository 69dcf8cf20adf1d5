// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The version of the library. It is written here alone: CMake, pkg-config and the recipes in packaging/ read it.
#pragma once

#define FOVEA_VERSION_MAJOR 0
#define FOVEA_VERSION_MINOR 1
#define FOVEA_VERSION_PATCH 0

/// One number to compare with: 10203 is version 1.2.3.
#define FOVEA_VERSION (FOVEA_VERSION_MAJOR * 10000 + FOVEA_VERSION_MINOR * 100 + FOVEA_VERSION_PATCH)
