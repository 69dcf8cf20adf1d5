// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A specification on calls that are drawn, against its definition. What is drawn, run and compared is compiled once:
// specifications stand behind pointers to functions.
#pragma once

#include <fovea/driver/workspace.hpp>

#include "support/drawn_call.hpp"

#include <string>
#include <vector>

/// Operands as plain numbers, one after another: (batch, head, position, feature).
struct numbers {
    fovea::extents_t<4> query_extents, key_extents, value_extents;
    std::vector<double> query, key, value;
};

/// What a call gives, in C order: (batch, head, query, feature), (batch, head, query, key), (batch, head, query).
struct answer {
    std::vector<long double> result, weights, lse;
};

/// The definition of a specification.
struct definition {
    std::string text;
    bool has_log_sum = false;
    bool reads_batch = false;
    bool adds = true;           // values, which bfloat16 weights may meet
    fovea::index_t chosen = 0;  // of the greatest scores, where a row depends on which these are
    answer (*in_float)(numbers const&) = nullptr;
    answer (*in_double)(numbers const&) = nullptr;
    answer (*in_long_double)(numbers const&) = nullptr;
    answer (*scores)(numbers const&) = nullptr;  // as weights, in double; where some are chosen
    /// For each pair whether the mask lets it take part: (head, query, key) of one sequence.
    std::vector<bool> (*visible)(drawn_sequence const&, fovea::index_t heads, fovea::index_t features) = nullptr;
};

/// One call of an engine: its operands, where its results go, and how it runs.
struct engine_call {
    drawn_call const& operands;
    drawn_rows const& result;
    drawn_rows const* lse;      // (batch, head, 1, query)
    drawn_rows const* weights;  // (batch, head, query, key)
    int workers;
    fovea::workspace& scratch;
    fovea::index_t batch = -1;  // one batch element, or all
};

/// What computes a specification on operands of some types.
struct engine {
    std::string text;
    call_types types;
    bool in_double = false;  // computes
    bool lse = false, weights = false;
    void (*run)(engine_call const&) = nullptr;
};

/// Random calls in every number of threads, alone and in a batch, from used workspaces. Every remainder of the numbers
/// of features by 32 is among them. Errors are reported with the seed and the command that repeats them.
void try_engine(definition const& by, engine const& computed);

/// The first law that one call breaks, as a sentence; empty where all hold.
std::string broken_law(definition const& by, engine const& computed, drawn_call& call, fovea::testing::dice& from,
                       fovea::workspace& scratch);
