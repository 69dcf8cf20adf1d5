// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Partial results over pieces are merged in one tree, whoever holds the pieces.
#include <fovea/driver/dense/piece_tree.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <string>

using namespace fovea;

namespace {

std::vector<std::string> merged(std::vector<std::string> of, std::vector<driver::merge_step> const& steps) {
    for (auto const& [to, from] : steps) of[to] = "(" + of[to] + " " + of[from] + ")";
    return of;
}

/// What comes of all pieces where each holder merges what it has, and then its partial results are merged.
std::string merged_by(std::vector<int> const& holders, std::size_t& sent) {
    std::vector<std::size_t> firsts;
    std::vector<std::string> partial;
    auto const trees = driver::subtrees_of(holders);
    for (auto const& tree : trees) {
        std::vector<std::size_t> pieces;
        std::vector<std::string> names;
        for (std::size_t p = tree.first; p < std::min(tree.first + tree.size, holders.size()); ++p) {
            if (holders[p] == driver::no_holder) continue;
            CHECK(holders[p] == tree.holder);
            pieces.push_back(p);
            names.push_back(std::to_string(p));
        }
        std::vector<driver::merge_step> steps;
        driver::add_merges(pieces, tree.first, tree.size, steps);
        firsts.push_back(tree.first);
        partial.push_back(merged(names, steps).front());
    }
    sent = trees.size();
    std::vector<driver::merge_step> steps;
    driver::add_merges(firsts, 0, std::bit_ceil(holders.size()), steps);
    return partial.empty() ? "" : merged(partial, steps).front();
}

}  // namespace

TEST_CASE("the tree of merges does not depend on who holds which pieces", "[driver]") {
    testing::dice random{31};
    for (unsigned count : {0u, 1u, 2u, 3u, 7u, 8u, 13u, 64u}) {
        std::vector<int> seen(count);
        for (auto& piece : seen) piece = random.chance(0.8) ? 0 : driver::no_holder;
        std::size_t sent = 0;
        auto const alone = merged_by(seen, sent);
        CHECK(sent <= 1);
        for (int holders : {1, 2, 5}) {
            auto dealt = seen;
            for (auto& piece : dealt)
                if (piece == 0) piece = static_cast<int>(random.between(0, holders - 1));
            CHECK(merged_by(dealt, sent) == alone);
        }
    }
}

TEST_CASE("merges by hand", "[driver]") {
    std::size_t sent = 0;
    CHECK(merged_by({0, 0, 0, 1, 1}, sent) == "(((0 1) (2 3)) 4)");
    CHECK(sent == 4);  // 0 and 1; 2; 3; 4
    CHECK(merged_by({0, driver::no_holder, driver::no_holder, 1}, sent) == "(0 3)");
    CHECK(sent == 2);
    CHECK(merged_by({driver::no_holder, 3, 3, driver::no_holder}, sent) == "(1 2)");
    CHECK(sent == 1);
}
