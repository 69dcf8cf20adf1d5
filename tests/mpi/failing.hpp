// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/index.hpp>

/// An executor that throws in the task with a number of all that it is given.
template <class Error>
struct failing {
    using executor_tag = void;
    int* left;
    fovea::index_t workers() const { return 1; }
    void run(fovea::index_t count, auto const& task) const {
        for (fovea::index_t i = 0; i < count; ++i) {
            if ((*left)-- == 0) throw Error();
            task(i, fovea::index_t{0});
        }
    }
    void bulk(fovea::index_t n, auto const& f) const {
        for (fovea::index_t i = 0; i < n; ++i) f(i);
    }
};
