// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands after their projections and the maps of their heads: rows of features times a matrix, with a bias, then the
// functions of a row map.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/kernel/lookup.hpp>
#include <fovea/spec/concepts.hpp>
#include <fovea/spec/head_map_rows.hpp>
#include <fovea/spec/result_shapes.hpp>
#include <fovea/spec/shapes.hpp>

namespace fovea::FOVEA_SET::kernel {

/// The features of one head at one position, a pack at a time.
template <class T, class Arch>
struct feature_row {
    using value_type = T;
    using vector = pack<T, Arch>;
    using lane_operations = lanes_of<T, Arch>;

    T* features;
    index_t count;

    index_t size() const { return count; }
    T& operator[](index_t i) const { return features[i]; }

    template <class F>
    T sum(F f) const {
        vector total(T{0});
        index_t c = 0;
        for (; c + vector::lanes <= count; c += vector::lanes) total = total + f(vector::load(features + c));
        if (c < count)
            total = total
                  + select(vector::iota() < vector(count - c),
                           vector(f(lane_operations::load(features + c, count - c))), vector(T{0}));
        return lane_operations::sum(total);
    }

    template <class F>
    void map(F f) const {
        for_packs(count, [&](index_t c, index_t n) {
            lane_operations::store(f(lane_operations::load(features + c, n)), features + c, n);
        });
    }
    template <class F, class Element>
    void map(F f, Element const* table) const {
        for_packs(count, [&](index_t c, index_t n) {
            lane_operations::store(f(lane_operations::load(features + c, n), load_as<T, Arch>(table + c, n)),
                                   features + c, n);
        });
    }

    template <class F>
    void map_halves(index_t half, F f, T const* a, T const* b) const {
        for_packs(half, [&](index_t c, index_t n) {
            T* const first = features + c;
            auto const [x, y] = f(lane_operations::load(first, n), lane_operations::load(first + half, n),
                                  lane_operations::load(a + c, n), lane_operations::load(b + c, n));
            lane_operations::store(x, first, n);
            lane_operations::store(y, first + half, n);
        });
    }
    template <class F>
    void map_neighbors(index_t pairs, F f, T const* a, T const* b) const {
        for_packs(pairs, [&](index_t c, index_t n) {
            typename lane_operations::array even{}, odd{};
            T* const from = features + 2 * c;
            for (index_t i = 0; i < n; ++i) {
                even[static_cast<std::size_t>(i)] = from[2 * i];
                odd[static_cast<std::size_t>(i)] = from[2 * i + 1];
            }
            auto const [x, y] = f(vector::load(even.data()), vector::load(odd.data()), lane_operations::load(a + c, n),
                                  lane_operations::load(b + c, n));
            x.store(even.data());
            y.store(odd.data());
            for (index_t i = 0; i < n; ++i) {
                from[2 * i] = even[static_cast<std::size_t>(i)];
                from[2 * i + 1] = odd[static_cast<std::size_t>(i)];
            }
        });
    }

private:
    /// Calls f(offset, size) for each run of at most one pack.
    template <class F>
    static void for_packs(index_t n, F f) {
        index_t c = 0;
        for (; c + vector::lanes <= n; c += vector::lanes) f(c, vector::lanes);
        if (c < n) f(c, n - c);
    }
};

}  // namespace fovea::FOVEA_SET::kernel

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
        in_tile_configurations<product>(executor).run(panels, [&](index_t p, index_t worker) {
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

/// The maps of each head, one after the other on each row of `rows`; a row is first copied from `source` where that
/// lies elsewhere. What is the same for all heads of a position is prepared once.
template <class T, class Arch, class Map, class Source, class Executor>
void map_heads(Executor const& executor, workspace& scratch, Map const& map, view<Source, 4> const& source,
               view<T, 4> const& rows) {
    constexpr index_t positions_at_once = 64;
    index_t const features = rows.extent(3), positions = rows.extent(2);
    index_t const blocks = ceil_div(positions, positions_at_once);
    executor.run(rows.extent(0) * blocks, [&](index_t task, index_t worker) {
        auto& memory = scratch.worker(worker);
        memory.clear();
        T* const numbers = memory.take<T>(prepared_numbers(map, features));
        index_t const batch = task / blocks, begin = task % blocks * positions_at_once;
        for (index_t n = begin; n < std::min(begin + positions_at_once, positions); ++n) {
            prepare_head_maps(map, numbers, features, head_place{batch, 0, n});
            for (index_t h = 0; h < rows.extent(1); ++h) {
                T* const row = rows.place(batch, h, n, index_t{0});
                auto const* const from = source.place(batch, h, n, index_t{0});
                if (static_cast<void const*>(from) != row)
                    for (index_t c = 0; c < features; ++c) row[c] = static_cast<T>(from[c]);
                T const* prepared = numbers;
                kernel::feature_row<T, Arch> const all{row, features};
                for_each_head_map(map, [&](auto const& each) {
                    prepared = apply_head_map(each, all, head_place{batch, h, n}, prepared);
                });
            }
        }
    });
}

/// A source through a row map, cut into heads: a view of the source itself, or rows in scratch memory.
template <class T, class Arch, class Map, class Source, class Executor>
auto projected_rows(Executor const& executor, workspace& scratch, Map const& map, view<Source, 4> const& source,
                    index_t heads) {
    if constexpr (successive_map<Map>) {
        return projected_rows<T, Arch>(executor, scratch, map.second,
                                       projected_rows<T, Arch>(executor, scratch, map.first, source, 1), heads);
    } else if constexpr (linear_map<map_below<Map>>) {
        auto const& below = row_map_below(map);
        auto const rows = fresh_rows<T>(scratch, {source.extent(0), 1, source.extent(2), outputs_of(below)});
        matrix_product<T, Arch>(executor, scratch, below, source, rows);
        auto const split = split_heads(rows, heads, "projection");
        if constexpr (headwise_map<Map>) map_heads<T, Arch>(executor, scratch, map, split, split);
        return split;
    } else {
        auto const split = heads == 1 ? source : split_heads(source, heads, "source");
        if constexpr (headwise_map<Map>) {
            auto const rows = fresh_rows<T>(scratch, split.extents);
            map_heads<T, Arch>(executor, scratch, map, split, rows);
            return rows;
        } else {
            return split;
        }
    }
}

/// The same, to be read.
template <class T, class Arch, class Map, class Source, class Executor>
auto project(Executor const& executor, workspace& scratch, Map const& map, view<Source, 4> const& source,
             index_t heads) {
    using element = std::conditional_t<makes_no_rows<Map>, Source, T>;
    return view<element const, 4>(projected_rows<T, Arch>(executor, scratch, map, source, heads));
}
/// Rows in pages or of blocks, which no projection changes.
template <class T, class Arch, class Map, class Rows, class Executor>
Rows project(Executor const&, workspace&, Map const&, Rows const& rows, index_t) {
    return rows;
}

/// True where two roles may read the same source through the same matrix, by the types of maps and sources; and where
/// they do.
template <class MapA, class MapB, class A, class B>
inline constexpr bool may_be_shared =
    linear_map<std::remove_cvref_t<MapA>> && std::is_same_v<std::remove_cvref_t<MapA>, std::remove_cvref_t<MapB>>
    && std::is_same_v<std::remove_cvref_t<A>, std::remove_cvref_t<B>>;
template <class MapA, class MapB, class A, class B>
bool same_projection(MapA const& a, MapB const& b, view<A, 4> const& x, view<B, 4> const& y) {
    if constexpr (may_be_shared<MapA, MapB, A, B>)
        return a.matrix.data == b.matrix.data && a.matrix.strides == b.matrix.strides
            && a.matrix.extents == b.matrix.extents && has_bias(a) == has_bias(b)
            && (!has_bias(a) || a.bias->data == b.bias->data) && x.data == y.data && x.strides == y.strides
            && x.extents == y.extents;
    else return false;
}

/// Calls f(queries, keys, values) with the operands of a call after its projection; what two roles share is computed
/// once.
template <class T, class Arch, class A, class Call, class Executor, class F>
void with_projected(Executor const& executor, workspace& scratch, A const& a, Call const& call, F const& f) {
    auto const& q = call.query;
    if constexpr (projection<decltype(a.project)>) {
        using heads = typename std::remove_cvref_t<decltype(a.project)>::heads_type;
        auto const& p = a.project;
        auto const x = project<T, Arch>(executor, scratch, p.query, q, heads::query);
        auto const y = [&] {
            if constexpr (may_be_shared<decltype(p.query), decltype(p.key), decltype(q), decltype(call.key)>)
                if (heads::group == 1 && same_projection(p.query, p.key, q, call.key)) return x;
            return project<T, Arch>(executor, scratch, p.key, call.key, heads::key_value);
        }();
        auto const z = [&] {
            if constexpr (may_be_shared<decltype(p.key), decltype(p.value), decltype(call.key), decltype(call.value)>)
                if (same_projection(p.key, p.value, call.key, call.value)) return y;
            return project<T, Arch>(executor, scratch, p.value, call.value, heads::key_value);
        }();
        f(x, y, z);
    } else {
        f(q, call.key, call.value);
    }
}

}  // namespace fovea::FOVEA_SET::driver
