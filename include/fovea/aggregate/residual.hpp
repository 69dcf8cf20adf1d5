// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/elementary.hpp>
#include <fovea/expr/param.hpp>
#include <fovea/spec/pipe.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// Rows of the caller's that are added to the result, (position, feature) or (batch, position, feature).
template <class T, int Rank>
struct residual_of : stage<role::finish> {
    static constexpr bool adds_rows = true;
    parameter<T, Rank> rows{};

    constexpr explicit residual_of(parameter<T, Rank> const& all) : rows(all) {}
    constexpr auto expression() const {
        using namespace placeholders;
        if constexpr (Rank == 3) return out + rows(batch, q_idx);
        else return out + rows[q_idx];
    }
    void check_rows(index_t batches, index_t queries) const {
        auto const& has = rows.table.extents;
        if ((Rank == 3 ? has[0] : index_t{1}) != batches || has[Rank - 2] != queries)
            raise_error(shape_error("residual adds rows ", has, " to a result of ",
                                    detail::counted(batches, "batch element"), " and ",
                                    detail::counted(queries, "query")));
    }
    static std::string text() { return "residual(x)"; }
};

/// residual: adds the source of the queries to the result, or other rows.
///
///     E' = E + attention(E)    X' = X + attention(E)
///     residual    residual(x)
///
/// Shapes: the result has the extents of what is added: the source as it is before a projection and its normalization,
/// or x, (position, feature) or (batch, position, feature), heads side by side, packed as the queries of a ragged call
/// are. Over ranks, x has the rows of the whole sequence.
/// Cost: one addition for each feature.
/// Edge cases: project(layer_normalized(g, b) | Wq, ...) | ... | residual adds rows that are not normalized.
/// Errors: shape_error where the extents differ. At compile time, for a temporary x.
/// Source: He et al. 2016, equation 1; Xiong et al. 2020 (before or after the normalization).
struct residual_t : stage<role::finish> {
    static constexpr std::string_view name = "residual";
    static constexpr bool adds_source = true;

    template <class Rows>
    constexpr auto operator()(Rows&& rows) const {
        auto const all = detail::table_param<0>(std::forward<Rows>(rows));
        constexpr int rank = decltype(all)::rank;
        static_assert(rank == 2 || rank == 3,
                      "fovea: residual adds rows that are (position, feature) or (batch, position, feature)");
        static_cast<void>(detail::has_features_of_numbers<typename decltype(all.table)::value_type>());
        return residual_of(all);
    }
};
inline constexpr residual_t residual{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
