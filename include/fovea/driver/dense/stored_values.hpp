// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How values of each element type and storage are packed or read in place, with a key in each lane.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/head_rows.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The values of one head as a call stores them, whatever their type and place: how they are packed, and how they are
/// read in place.
template <class Call>
class stored_values {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using values_type = head_values<key_lanes_of<Call>>;
    static constexpr index_t lanes = kernel::pack<T, Arch>::lanes;

public:
    using rows = std::remove_const_t<decltype(Call::operands::value)>;
    using element = read_as<rows, T>;
    using product = kernel::value_product<T, Arch, element, typename Call::result_element, Call::is_linear>;
    static constexpr index_t keys_per_row = Call::keys_per_row;  // of packed values
    static_assert(keys_per_row == product::step::per_step);

    stored_values(typename Call::operands const& operands, values_type const& to)
        : rows_(operands.value), values_(to) {}

    index_t features() const { return rows_.extent(3); }

    /// One value as it is stored, or loaded.
    element const* operator()(index_t key) const { return row_of(rows_, values_.rows(key, 1), values_.loaded()); }

    /// Calls f(values, offset, count) with `count` values from a position on, some at a time.
    template <class F>
    void with_values(index_t key, index_t count, F const& f) const {
        if (!values_.in_place()) return f(kernel::even_rows<T>{values_.copy(key), values_.stride()}, index_t{0}, count);
        for_rows_in_place(rows_, values_.rows(key, count), values_.loaded(), f);
    }

    /// Packs the values of a block.
    void pack(index_t block) const {
        auto const all = values_.range(block);
        index_t const count = all.last - all.first;
        index_t const width = values_.stride();
        T* row = values_.copy(all.first);
        if constexpr (loaded_rows<rows>) {
            for_runs(rows_, all, values_.loaded(), [&](auto const& run, index_t) {
                for (index_t k = 0; k < run.count; ++k, row += width)
                    pack_row(run.first + k * run.stride, nullptr, row);
            });
        } else {
            constexpr index_t most = key_lanes_of<Call>::block_keys;
            auto const from = addresses_of<most>(rows_, all, values_.loaded());
            for (index_t k = 0; k < count; k += keys_per_row, row += width)
                pack_row(from(k), k + 1 < count ? from(k + 1) : nullptr, row);
        }
    }

private:
    void pack_row(element const* from, element const* next, T* row) const {
        product::pack_values(from, next, features(), row);
        std::fill(row + round_up(features(), lanes), row + values_.stride(), T{0});
    }
    rows const& rows_;
    values_type const& values_;
};

}  // namespace fovea::FOVEA_SET::driver
