// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The specifications that matter, each compiled once: what tests loop over, as values behind pointers to functions.
#pragma once

#include <fovea/driver/run/workspace.hpp>

#include "catalogue/drawn_call.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace catalogue {

/// Operands as plain numbers, one after another: (batch, head, position, feature).
struct numbers {
    operand_extents extents;
    std::vector<double> query, key, value;
    drawn_tables const* tables;
};

/// The results of a call, in C order: the result, (batch, head, query, key), (batch, head, query).
struct answer {
    std::vector<double> result, weights, lse;
};

/// The gradients of what a call reads, in C order; zeros for tables without one.
struct gradients {
    std::vector<double> query, key, value;
    std::vector<std::vector<double>> tables;
};

/// The definition of a specification.
struct definition {
    std::string (*text)(drawn_tables const&) = nullptr;
    std::vector<char> trained;  // for each table whether it has a gradient
    bool has_log_sum = false;
    bool has_weights = true;
    bool reads_batch = false;
    bool of_products = false;  // alone are its scores, so that they may be of any size and no numbers
    bool differences = true;   // are what its gradients say; not those of an estimate
    bool adds = true;          // values, which bfloat16 weights may meet
    index_t chosen = 0;        // of the greatest scores, where a row depends on which these are
    answer (*in_float)(numbers const&) = nullptr;
    answer (*in_double)(numbers const&) = nullptr;
    answer (*scores)(numbers const&) = nullptr;  // as weights; where some are chosen
    gradients (*gradient)(numbers const&, std::vector<double> const& d_result) = nullptr;  // where there is one
    /// For each pair whether the mask lets it take part: (head, query, key) of one sequence.
    std::vector<char> (*visible)(drawn_sequence const&, drawn_sizes const&, drawn_tables const&) = nullptr;
};

/// One call of attend: its operands, where its results go, and how it runs.
struct attend_call {
    drawn_call const& operands;
    drawn_rows const& result;
    drawn_rows const* lse;      // (batch, head, 1, query)
    drawn_rows const* weights;  // (batch, head, query, key)
    int workers;
    fovea::workspace& scratch;
    index_t batch = -1;  // one batch element, or all
};

/// attend compiled for a specification on operands of some types.
struct attend_engine {
    std::string text;  // "float32, ragged, on avx2, with weights"
    call_types types;
    bool in_double = false;  // computes
    bool lse = false, weights = false;
    void (*run)(attend_call const&) = nullptr;
};

/// One call of gradient.
struct gradient_call {
    drawn_call const& operands;
    drawn_rows const& d_result;
    drawn_rows const *d_query, *d_key, *d_value;               // those of keys and values only where these are no pages
    std::vector<std::unique_ptr<drawn_rows>> const& d_tables;  // (1, 1, 1, elements), or none
    int workers;
    fovea::workspace& scratch;
};

/// gradient compiled for a specification on operands of some types; where it `saves`, behind a call that saves its
/// rows.
struct gradient_engine {
    std::string text;
    call_types types;
    bool in_double = false, saves = false;
    void (*run)(gradient_call const&) = nullptr;
};

/// One specification of the catalogue.
struct entry {
    std::string_view name;
    call_shape shape;
    definition by;
    std::vector<attend_engine> engines;
    std::vector<gradient_engine> gradients;
    std::string (*explain)(drawn_call const&) = nullptr;  // on float32
};

/// All of them, by name; a unit adds its own before main() begins.
std::vector<entry> const& all();
bool add(entry e);

/// The least that a loop over all must have met; one, where only some are built (tests/toolchains/processors.txt).
#ifdef FOVEA_TEST_SOME_ENTRIES
constexpr int at_least(int) { return 1; }
#else
constexpr int at_least(int of_all) { return of_all; }
#endif

/// Random calls of an engine against its definition, in every number of threads, alone and in a batch, from used
/// workspaces. At night every remainder of the numbers of features by 32 is among them, before that half of them for
/// each engine. Errors are reported with the seed and the command that repeats them.
void try_attend(entry const& of, attend_engine const& computed);
/// The same of gradients, which are also held against differences of the definition; how many of these were compared.
int try_gradient(entry const& of, gradient_engine const& computed);

/// The first law that one call breaks, as a sentence; empty where all hold.
std::string broken_law(definition const& by, attend_engine const& computed, drawn_call& call,
                       fovea::testing::dice& from, fovea::workspace& scratch);
std::string broken_law(definition const& by, gradient_engine const& computed, drawn_call& call,
                       fovea::testing::dice& from, fovea::workspace& scratch);
/// The objection of differences of the definition's results to its gradients; empty where they agree.
std::string broken_difference(definition const& by, drawn_call const& call, fovea::testing::dice& from);

}  // namespace catalogue
