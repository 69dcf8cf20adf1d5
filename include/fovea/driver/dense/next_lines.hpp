// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a dense loop prefetches beside its products: the block of keys and values that follows, or tables.
#pragma once

#include <fovea/driver/prefetch.hpp>

namespace fovea::FOVEA_SET::driver {

/// The lines that a dense loop prefetches beside its products: those of the keys of the next block, then of its values,
/// and, where there is no next block to be read, those of tables that the scores read.
struct next_lines {
    row_lines keys{}, values{};
    kernel::prefetch_queue tables{};

    kernel::prefetch_queue& queue() {
        if (auto& of_keys = keys.queue(); !of_keys.empty()) return of_keys;
        if (auto& of_values = values.queue(); !of_values.empty()) return of_values;
        return tables;
    }
};

}  // namespace fovea::FOVEA_SET::driver
