// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a score or a mask reads a table along the keys: what has to come from memory before it is computed.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/prefetch.hpp>

namespace fovea::FOVEA_SET::kernel {

/// The first element that a row reads along its keys, if it reads any.
struct table_place {
    char const* first = nullptr;
    index_t bytes = 0;  // of an element
};

/// Evaluating an expression here finds the place of its first table that is read along the keys; parts of the score
/// are 0.
template <class T, class Arch>
struct table_finder : index_environment<T, Arch, positions<T, Arch>> {
    using base = index_environment<T, Arch, positions<T, Arch>>;
    table_place& found;

    using base::operator();
    template <plan::part Part, std::size_t I>
    FOVEA_INLINE pack<T, Arch> operator()(plan::reference<Part, I>) const {
        return pack<T, Arch>(T{0});
    }

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (along_keys<Index...>)
            if (found.first == nullptr && table.stride(Rank - 1) == 1)
                found = {
                    reinterpret_cast<char const*>(table.data + offset_of_numbers(table, at...)
                                                  + clamped_index(first_along_keys(at...), table.extent(Rank - 1))),
                    static_cast<index_t>(sizeof(Element))};
        return base::lookup(table, at...);
    }
};

/// Consecutive keys.
struct key_range {
    index_t first, count;
};

/// The cache lines of a table that some rows read at a run of keys: none unless the rows of the table are one stride
/// apart, of at least a line. Rows that are closer share lines, which the first of them brings into the L1 cache. They
/// are prefetched while microkernels take `steps` steps.
template <class T, class Arch, class Expression>
prefetch_queue table_lines(Expression const& expression, row_facts const* rows, index_t count, key_range keys,
                           index_t steps) {
    auto const place = [&](index_t r) {
        table_place found;
        static_cast<void>(evaluate(expression, table_finder<T, Arch>{{rows[r], {keys.first}}, found}));
        return found;
    };
    auto const first = place(0);
    if (count < 2 || first.first == nullptr) return {};
    index_t const stride = place(1).first - first.first, distance = stride < 0 ? -stride : stride;
    if (distance < cache_line || place(count - 1).first != first.first + (count - 1) * stride) return {};
    index_t const row_bytes = keys.count * first.bytes, lines = count * ceil_div(row_bytes, cache_line);
    return prefetch_queue({.first = first.first, .rows = count, .row_bytes = row_bytes, .stride_bytes = stride},
                          std::max<index_t>(steps / lines, 1));
}

}  // namespace fovea::FOVEA_SET::kernel
