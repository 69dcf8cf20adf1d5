// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What products need while they multiply, such as the configuration of a matrix unit: entered once for each task.
#pragma once

#include <fovea/kernel/product/product.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET::driver {

/// The scopes of some products, each of them once.
template <class... Scopes>
struct scopes_of;
template <>
struct scopes_of<> {};
template <class First, class... Others>
struct scopes_of<First, Others...> {
    [[no_unique_address]] std::conditional_t<(std::is_same_v<First, Others> || ...), scopes_of<>, First> first;
    [[no_unique_address]] scopes_of<Others...> others;
};

/// An executor whose tasks run in scopes.
template <class Executor, class Scopes>
struct scoped_executor {
    Executor const& executor;

    index_t workers() const { return executor.workers(); }
    template <class Task>
    void run(index_t count, Task const& task) const {
        executor.run(count, [&](index_t i, index_t worker) {
            [[maybe_unused]] Scopes const entered{};
            task(i, worker);
        });
    }
};

/// in_scopes: an executor for tasks that compute these products; the executor itself where they need nothing.
template <kernel::scoped_product... Products, class Executor>
decltype(auto) in_scopes(Executor const& executor) {
    if constexpr ((std::is_trivial_v<typename Products::scope> && ...)) return (executor);
    else return scoped_executor<Executor, scopes_of<typename Products::scope...>>{executor};
}

/// The same for a dense call: for the products of its queries and keys, and of its weights and values, whichever of
/// them is in lanes.
template <class Call, class Executor>
decltype(auto) in_scopes_of(Executor const& executor) {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using scores = kernel::score_product<T, Arch, typename Call::query_element, typename Call::key_element>;
    if constexpr (requires { requires Call::uses_matrix_unit; }) {
        return in_scopes<kernel::matrix_unit_product<T, Arch>>(executor);
    } else if constexpr (requires { typename Call::value_element; }) {
        using values = kernel::value_product<T, Arch, typename Call::value_element, typename Call::result_element,
                                             Call::is_linear>;
        return in_scopes<scores, values>(executor);
    } else {
        return in_scopes<scores>(executor);
    }
}

}  // namespace fovea::FOVEA_SET::driver
