// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/outputs.hpp>

#include <string>

namespace fovea::FOVEA_SET {

template <class T>
struct bound_column_sums {
    view<T, 3> target;
    static constexpr bool reduces_over_queries = true;

    void begin() const {
        if (target.empty()) return;
        for (index_t b = 0; b < target.extent(0); ++b)
            for (index_t h = 0; h < target.extent(1); ++h)
                for (index_t j = 0; j < target.extent(2); ++j) target(b, h, j) = T(0);
    }
    template <class Row>
    void weights(row_place const& at, Row const& row) const {
        T* const to = target.place(at.batch, at.head, index_t{0});
        for (index_t i = 0; i < row.size(); ++i)
            if (row[i] != 0) to[row.key(i)] = rounded_to<T>(to[row.key(i)] + row[i]);
    }
};

template <class T, int Rank>
struct column_sums_output {
    using output_tag = void;
    static constexpr std::string_view name = "column_sums";
    view<T, Rank> target;

    bound_column_sums<T> bind(operand_shapes const& shapes) const {
        static_assert(Rank >= 1 && Rank <= 3, "fovea: column_sums is (key), (head, key) or (batch, head, key)");
        auto const sums = with_leading_axes<3>(target);
        extents_t<3> const needed{shapes.batches(), shapes.heads(), shapes.keys()};
        if (sums.extents != needed)
            raise_error(
                shape_error("column_sums is ", target.extents, " and must be ", needed, ", (batch, head, key)"));
        return {sums};
    }
};

/// column_sums: asks for the weight that each key receives from all queries together.
///
///     c_j = sum_i w_ij
///
/// Shapes: the target is (batch, head, key); batch and head may be omitted if they are one.
/// Cost: one more addition for each pair; the queries of a head are processed one after another, so that the sums have
/// the same bits for any number of threads.
/// Edge cases: a key that no query sees gets 0.
/// Errors: shape_error where the target does not fit the call; nothing is written then.
/// Source: Zhang et al. 2023 (H2O), which evicts the keys that receive the least.
template <class Target>
constexpr auto column_sums(Target&& target) {
    return detail::output_to<column_sums_output>(std::forward<Target>(target));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed column_sums(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
