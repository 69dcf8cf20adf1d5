// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/shape.hpp"
#include "bench/yardstick/operands.hpp"
#include "bench/yardstick/random.hpp"
#include "bench/yardstick/unfused.hpp"

#include <functional>
#include <string>
#include <vector>

/// peer: other libraries that were found when the build was configured, each on one thread and in its own file.
namespace bench::peer {

/// The task of a peer, with memory for it that outlives the call.
template <class T>
struct request {
    yardstick::operands<T>& o;
    unfused::steps<computed<T>> steps;
};

/// The gradients of a call, and that of its result.
template <class T>
struct gradients {
    fovea::tensor<T, 4> d_result, d_query, d_key, d_value;

    explicit gradients(yardstick::operands<T> const& o)
        : d_result(yardstick::random_tensor<T, 4>(o.result.extents, 11)),
          d_query(o.query.extents),
          d_key(o.key.extents),
          d_value(o.value.extents) {}
};

/// program: a request made ready. Only `call` is timed; `settle` then brings what it computed to the result of the
/// request, where a library returns memory or a layout of its own.
struct program {
    std::function<void()> call;
    std::function<void()> settle = [] {};
};

/// library: how a peer computes softmax(steps(Q K^T)) V.
template <class T>
struct library {
    std::string name;
    std::string version;
    std::function<bool(unfused::steps<computed<T>> const&, shape const&)> able;
    std::function<program(request<T> const&)> prepare;  // what is done once; the program is what is timed
    index_t longest = 2048;                             // every score is stored: beyond this they only wait for memory
    /// The same forward and backward, with gradients of queries, keys and values; empty where the library has none.
    std::function<program(request<T> const&, gradients<T>&)> prepare_training{};
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

/// "eigen 3.4.0, openblas 0.3.29": all that compute anything.
std::string versions();

}  // namespace bench::peer
