// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Precompiles what the programs share.
#include "check.hpp"
