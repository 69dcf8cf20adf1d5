// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The module of WebAssembly: what page.js calls. A function that returns an address returns that of numbers in a row,
// which stay until its next call.
#include "calls.hpp"

#include "data/karate_club.hpp"
#include "picture/layout.hpp"

#include <utility>
#include <vector>

extern "C" {

/// A function of the page that throws: what is wrong is told to it, and it does not return.
[[clang::import_module("page"), clang::import_name("refuse")]] void refuse(char const* sentence);
}

namespace {

[[maybe_unused]] auto const before = fovea::on_error(refuse);

auto const fused = [](auto&&... arguments) { fovea::attend(std::forward<decltype(arguments)>(arguments)...); };

/// Two numbers for each friendship, counted from 0.
std::vector<std::pair<int, int>> friendships() {
    std::vector<std::pair<int, int>> result;
    for (auto const& [a, b] : karate_club::friendships) result.emplace_back(a - 1, b - 1);
    return result;
}

}  // namespace

extern "C" {

//! [exported]
[[clang::export_name("friends_weights")]] float const* friends_weights(float temperature) {
    static fovea::tensor<float, 4> shares({1, browser::club_heads, karate_club::members, karate_club::members});
    browser::attend_to_friends(fused, temperature, shares);
    return shares.data();
}
//! [exported]

[[clang::export_name("past_weights")]] float const* past_weights(int seen, float period, float limit) {
    static fovea::tensor<float, 2> shares({browser::positions, browser::positions});
    browser::attend_to_past(fused, static_cast<browser::past>(seen), period, limit, shares);
    return shares.data();
}

[[clang::export_name("heads")]] int heads() { return browser::club_heads; }
[[clang::export_name("members")]] int members() { return karate_club::members; }
[[clang::export_name("positions")]] int positions() { return browser::positions; }
[[clang::export_name("friendship_count")]] int friendship_count() { return karate_club::friendships.size(); }
[[clang::export_name("stayed")]] bool stayed(int member) { return karate_club::stayed(member + 1); }

/// The ends of each friendship.
[[clang::export_name("friendships")]] int const* friendship_ends() {
    static std::vector<int> ends;
    ends.clear();
    for (auto const& [a, b] : friendships()) ends.insert(ends.end(), {a, b});
    return ends.data();
}

/// Where each member is drawn in a box: x, y.
[[clang::export_name("places")]] float const* places(float width, float height) {
    static std::vector<float> result;
    result.clear();
    for (auto const& at : picture::layout(karate_club::members, friendships(), double{width}, double{height}))
        result.insert(result.end(), {static_cast<float>(at.x), static_cast<float>(at.y)});
    return result.data();
}
}
