// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>

#include <concepts>

namespace fovea::FOVEA_SET {

namespace detail {
/// run(count, task) calls task(index, worker) for all indices below a count, no two of one worker at the same time.
template <class E>
concept numbers_workers = requires(E const& e) {
    typename E::executor_tag;
    { e.workers() } -> std::convertible_to<index_t>;
};
template <class E>
concept has_bulk = requires(E& e, void (*f)(index_t)) { e.bulk(index_t{1}, f); };

/// The argument that a function of a bulk_executor is tried with.
struct some_call {
    void operator()(index_t) const noexcept {}
};
}  // namespace detail

/// An executor: bulk(n, f) calls f(i) once for each i below n, in any order, on any threads, and returns when all calls
/// have returned; workers() is how many of them may run at the same time.
///
/// f does not throw, does not wait for another call of f, and may be called by a thread that is in the middle of one.
template <class E>
concept executor = detail::numbers_workers<E> || (detail::has_bulk<E const> && requires(E const& e) {
                       { e.workers() } -> std::convertible_to<index_t>;
                   });

}  // namespace fovea::FOVEA_SET
