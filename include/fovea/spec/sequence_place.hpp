// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a sequence lies among those that are packed one after another.
#pragma once

#include <fovea/core/index.hpp>

namespace fovea::FOVEA_SET {

/// One sequence of a ragged batch: its number, and where its queries and keys begin and how many there are.
struct sequence_place {
    index_t number = 0, sequences = 0;
    index_t first_query = 0, queries = 0;
    index_t first_key = 0, keys = 0;
    index_t all_queries = 0, all_keys = 0;  // of all sequences together
};

}  // namespace fovea::FOVEA_SET
