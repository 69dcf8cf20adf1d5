// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Projections: rows of features times a matrix, with a bias.
#pragma once

#include <fovea/driver/call/product_scopes.hpp>
#include <fovea/driver/call/products.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/spec/projected_shapes.hpp>

namespace fovea::FOVEA_SET::driver {

/// matrix_product: rows of features through a linear map, the bias added.
///
///     to[b, n, :] = from[b, n, :] W + bias          from, to: (batch, 1, position, feature)
///
/// One panel of columns at a time, of as many inputs as fit the L1 cache: that block of the matrix is packed
/// once and multiplied by all rows, straight from the source and into the result where their elements are of type T.
template <class T, class Arch, class Map, class From, class To>
class matrix_product_loop {
    using tile = plan::key_lanes_blocking<T, Arch>;
    static constexpr index_t block = 256;  // inputs
    using element = std::remove_cvref_t<decltype(*std::declval<Map const&>().matrix.data)>;
    /// How rows of the source are multiplied by the matrix: rows as weights, inputs as keys.
    using product = kernel::score_product<T, Arch, std::remove_const_t<From>, element>;
    static constexpr index_t per_step = product::step::per_step;

public:
    matrix_product_loop(Map const& map, view<From, 4> const& from, view<To, 4> const& to)
        : map_(map), from_(from), to_(to) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch) const {
        index_t const panels = ceil_div(outputs_of(map_), tile::panel);
        in_scopes<product>(executor).run(panels, [&](index_t p, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            buffers all{memory.take<T>(block * tile::panel), memory.take<T>(tile::rows * block),
                        memory.take<T>(index_t{tile::rows} * tile::panel)};
            run_panel(all, p * tile::panel);
        });
    }

private:
    struct buffers {
        T* panel;       // (steps over the inputs of a block, panel)
        T* row_copies;  // (rows, inputs of a block)
        T* sums;        // (rows, panel)
    };

    index_t positions() const { return from_.extent(2); }
    index_t rows() const { return from_.extent(0) * positions(); }
    auto* source(index_t row, index_t input) const {
        return from_.place(row / positions(), index_t{0}, row % positions(), input);
    }
    To* target(index_t row, index_t column) const {
        return to_.place(row / positions(), index_t{0}, row % positions(), column);
    }

    void run_panel(buffers& all, index_t first) const {
        index_t const inputs = inputs_of(map_), columns = std::min(tile::panel, outputs_of(map_) - first);
        T bias[tile::panel] = {};
        for (index_t c = 0; c < columns && has_bias(map_); ++c) bias[c] = static_cast<T>((*map_.bias)(first + c));
        for (index_t i = 0; i < std::max<index_t>(inputs, 1); i += block) {
            index_t const count = std::min(block, inputs - i);
            pack(all.panel, first, columns, i, count);
            for (index_t r = 0; r < rows(); r += tile::rows) run_rows(all, bias, {first, columns, i, count}, r);
        }
    }

    /// Some inputs, from i on, and columns of the matrix.
    struct matrix_block {
        index_t first, columns, i, count;
    };

    /// A few rows through one block of the matrix: into the result, which holds what the blocks before have added.
    void run_rows(buffers& all, T const* bias, matrix_block const& of, index_t r) const {
        auto const [first, columns, i, count] = of;
        index_t const present = std::min<index_t>(tile::rows, rows() - r);
        index_t const batch = r / positions(), position = r - batch * positions();
        bool const together = present == tile::rows && position + present <= positions();
        T const* x = nullptr;
        index_t x_stride = block;
        if constexpr (std::is_same_v<std::remove_const_t<From>, T>)
            if (together) x = from_.place(batch, index_t{0}, position, i), x_stride = from_.stride(2);
        if (!x) x = copy_rows(all.row_copies, r, present, i, count);
        T* sums = all.sums;
        index_t sum_stride = tile::panel;
        if constexpr (std::is_same_v<To, T>)
            if (together && columns == tile::panel) {
                sums = to_.place(batch, index_t{0}, position, first), sum_stride = to_.stride(2);
                if (r + present < rows()) prefetch_next(sums + present * sum_stride, sum_stride);
            }
        for (index_t n = 0; n < present; ++n) {
            if (i == 0) std::copy_n(bias, tile::panel, sums + n * sum_stride);
            else if (sums == all.sums)
                for (index_t c = 0; c < columns; ++c)
                    sums[n * sum_stride + c] = static_cast<T>(target(r + n, first)[c]);
        }
        T ones[tile::rows];
        std::fill_n(ones, tile::rows, T{1});
        kernel::prefetch_queue next;
        if (x != all.row_copies && r + present < rows())
            next = kernel::prefetch_queue({.first = x + present * x_stride,
                                           .rows = present,
                                           .row_bytes = count * static_cast<index_t>(sizeof(T)),
                                           .stride_bytes = x_stride * static_cast<index_t>(sizeof(T))});
        packed_products<product>::accumulate(
            {{{x, x_stride, {}}, count, {all.panel, tile::panel}, sums, sum_stride, ones},
             tile::panel,
             tile::rows,
             tile::rows},
            next);
        if (sums != all.sums) return;
        for (index_t n = 0; n < present; ++n)
            for (index_t c = 0; c < columns; ++c) target(r + n, first)[c] = static_cast<To>(sums[n * sum_stride + c]);
    }

    /// Prefetches the lines that the next rows will be added to.
    static void prefetch_next(T const* sums, index_t stride) {
        constexpr index_t line = cache_line / static_cast<index_t>(sizeof(T));
        for (index_t n = 0; n < tile::rows; ++n)
            for (index_t c = 0; c < tile::panel; c += line) __builtin_prefetch(sums + n * stride + c, 1, 3);
    }

    /// Copies of rows, as many as the register tile has; the last one is repeated where some are missing.
    T const* copy_rows(T* to, index_t r, index_t present, index_t i, index_t count) const {
        for (index_t n = 0; n < tile::rows; ++n) {
            auto const* const x = source(r + std::min(n, present - 1), i);
            T* const row = to + n * block;
            for (index_t c = 0; c < count; ++c) row[c] = static_cast<T>(x[c]);
            std::fill(row + count, row + round_up(count, per_step), T{0});
            product::round_weights(row, count);
        }
        return to;
    }

    /// A block of the matrix, zeros after its last column: (steps over inputs, panel).
    void pack(T* to, index_t first, index_t columns, index_t i, index_t count) const {
        if constexpr (Map::is_transposed) {
            product::transpose(
                k_t{}, [&](index_t c) FOVEA_LAMBDA { return map_.matrix.place(first + c, i); },
                [](index_t) FOVEA_LAMBDA { return 0; }, kernel::unscaled{},
                kernel::transpose_target<T>{.count = columns,
                                            .padded_rows = tile::panel,
                                            .available = columns,
                                            .features = count,
                                            .first = to,
                                            .stride = tile::panel});
        } else {
            auto const pack_rows = [&](auto width) {  // known beforehand for all panels but the last
                for (index_t n = 0; n < count; n += per_step, to += tile::panel) {
                    auto const* const row = map_.matrix.place(i + n, first);
                    product::pack_values(row, n + 1 < count ? map_.matrix.place(i + n + 1, first) : nullptr, width, to);
                    std::fill(to + width, to + tile::panel, T{0});
                }
            };
            if (columns == tile::panel) pack_rows(std::integral_constant<index_t, tile::panel>{});
            else pack_rows(columns);
        }
    }

    Map const& map_;
    view<From, 4> from_;
    view<To, 4> to_;
};

template <class T, class Arch, class Map, class From, class To, class Executor>
void matrix_product(Executor const& executor, workspace& scratch, Map const& map, view<From, 4> const& from,
                    view<To, 4> const& to) {
    static_assert(std::is_same_v<To, T>, "the result of a matrix product holds its sums");
    matrix_product_loop<T, Arch, Map, From, To>(map, from, to).run(executor, scratch);
}

}  // namespace fovea::FOVEA_SET::driver
