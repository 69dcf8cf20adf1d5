// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/yardstick/operands.hpp"
#include "bench/yardstick/unfused.hpp"

#include <functional>
#include <string>
#include <vector>

/// peer: other libraries that were found when the build was configured, each on one thread and in its own file.
namespace bench::peer {

/// What a peer is to compute, with memory for it that outlives the call.
template <class T>
struct request {
    yardstick::operands<T>& o;
    unfused::steps<T> steps;
};

/// library: how a peer computes softmax(steps(Q K^T)) V.
template <class T>
struct library {
    std::string name;
    std::function<bool(unfused::steps<T> const&, bool grouped)> able;  // grouped: query heads share key heads
    std::function<std::function<void()>(request<T> const&)> prepare;   // what is not timed; the call is
};

/// All libraries that are here, in the order of their names.
template <class T>
std::vector<library<T>>& libraries() {
    static std::vector<library<T>> all;
    return all;
}

/// A static object of it enters a library.
template <class T>
struct entry {
    explicit entry(library<T> one) { libraries<T>().push_back(std::move(one)); }
};

}  // namespace bench::peer
