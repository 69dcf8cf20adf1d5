// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>

/// tour: one function per station; each composes attentions, runs them and prints what came out.
namespace tour {

void retrieval();                                           // 1. look up a value by a misspelt name
void self_attention(std::filesystem::path const& pictures); // 2. a sentence looks at itself
void cross_attention();                                     // 3. queries and keys from different places
void scores_and_heads();                                    // 4. additive, hard, multi-head, grouped-query
void graph_attention(std::filesystem::path const& pictures);  // 5. only along edges
void own_words();                                           // 6. a score and a normalizer of one's own

}  // namespace tour
