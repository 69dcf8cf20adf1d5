// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The variants of the dense engine that units for size (FOVEA_SIZE) leave out: all that depends on it below the
// plan is said here.
#pragma once

#include <fovea/core/config.hpp>

namespace fovea::FOVEA_SET::plan {

/// The ways of running dense calls that a unit compiles beside the one that runs any of them: keys in lanes, in
/// register tiles of full height or one query at a time.
struct variants {
    bool query_lanes;         // a query in each lane, which reads keys where they lie
    bool split_keys;          // the keys of few queries in parts, which threads share
    bool register_heights;    // register tiles of fewer rows: for a few queries, and the last of many
    bool parts_of_panels;     // single vectors of keys, where a run begins or ends within a panel
    bool transposed_queries;  // tiles of queries for packed keys, a column for each
    bool side_by_side;        // several packs of a row become weights at a time, and short rows need no cascade of sums
    bool prefetches;          // of blocks and results that follow; rows in place are prefetched in any case
};
inline constexpr variants compiled = for_size ? variants{}
                                              : variants{.query_lanes = true,
                                                         .split_keys = true,
                                                         .register_heights = true,
                                                         .parts_of_panels = true,
                                                         .transposed_queries = true,
                                                         .side_by_side = true,
                                                         .prefetches = true};

}  // namespace fovea::FOVEA_SET::plan
