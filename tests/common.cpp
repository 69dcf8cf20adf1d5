// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nothing but what is precompiled with it.
#include "support/common.hpp"
