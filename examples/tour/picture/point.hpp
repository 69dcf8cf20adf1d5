// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace picture {

struct point {
    double x, y;
};

}  // namespace picture
