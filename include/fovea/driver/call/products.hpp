// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix products of the dense traversals: templates on element types and the architecture alone, so that a program
// with many specifications compiles them once. What they need while they multiply, such as the configuration of a
// matrix unit, is entered once for each task.
#pragma once

#include <fovea/driver/call/row_runs.hpp>
#include <fovea/driver/run/part.hpp>
#include <fovea/kernel/prefetch.hpp>
#include <fovea/kernel/product/contract_rows.hpp>
#include <fovea/kernel/product/lane_products.hpp>
#include <fovea/kernel/product/outer_product.hpp>
#include <fovea/kernel/product/product.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/simd/architecture.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>
#include <type_traits>

namespace fovea::FOVEA_SET::driver {

/// The scopes of some products, each of them once.
template <class... Scopes>
struct scopes_of;
template <>
struct scopes_of<> {};
template <class First, class... Others>
struct scopes_of<First, Others...> {
    FOVEA_NO_UNIQUE_ADDRESS std::conditional_t<(std::is_same_v<First, Others> || ...), scopes_of<>, First> first;
    FOVEA_NO_UNIQUE_ADDRESS scopes_of<Others...> others;
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

template <class Executor, class Scopes>
inline constexpr bool is_part<scoped_executor<Executor, Scopes>> = is_part<Executor>;

/// in_tile_configurations: an executor for tasks that compute these products; the executor itself where they need
/// nothing.
template <kernel::configured_product... Products, class Executor>
decltype(auto) in_tile_configurations(Executor const& executor) {
    if constexpr ((std::is_trivial_v<typename Products::scope> && ...)) return (executor);
    else return scoped_executor<Executor, scopes_of<typename Products::scope...>>{executor};
}

/// The same for a dense call: for the products of its queries and keys, and of its weights and values, whichever of
/// them is in lanes.
template <class Call, class Executor>
decltype(auto) in_tile_configurations_of(Executor const& executor) {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using scores = kernel::score_product<T, Arch, typename Call::query_element, typename Call::key_element>;
    if constexpr (requires { requires Call::uses_matrix_unit; }) {
        return in_tile_configurations<kernel::matrix_unit_product<T, Arch>>(executor);
    } else if constexpr (requires { typename Call::value_element; }) {
        using values = kernel::value_product<T, Arch, typename Call::value_element, typename Call::result_element,
                                             Call::is_linear>;
        return in_tile_configurations<scores, values>(executor);
    } else {
        return in_tile_configurations<scores>(executor);
    }
}

}  // namespace fovea::FOVEA_SET::driver

namespace fovea::FOVEA_SET::kernel {

/// contract: products of a tile of queries with a panel of keys, in registers.
///
///     scores[r][c] = sum_f queries[f][r] * keys[f][c]
///
/// `features` counts steps, each of which may take several features; a step may leave the scale of each row to its
/// sums. Lines of `next` are prefetched meanwhile.
template <int Rows, int Vectors, class T, class Arch, class Step = number_products>
[[gnu::noinline]] void contract(T const* FOVEA_RESTRICT queries,  // (features, Rows), or (packs, Rows, lanes)
                                T const* FOVEA_RESTRICT keys,     // (features, Vectors * lanes)
                                index_t key_stride,               // from feature to feature
                                index_t features,
                                T* FOVEA_RESTRICT scores,  // (Rows, Vectors * lanes)
                                index_t row_stride, [[maybe_unused]] T const* scales, prefetch_queue& next) {
    register_tile<Rows, Vectors, T, Arch> tile;
    vector_operand<T> panel{keys, key_stride};
    if constexpr (plan::compiled.transposed_queries) {
        broadcast_operand<T, unit_stride, constant_stride<Rows>> const columns{queries, {}, {}};
        tile.add_products_and_prefetch(Step{}, columns, panel, features, next);
    } else {
        constexpr index_t lanes = pack<T, Arch>::lanes;
        for (index_t f = 0; f < features; f += lanes, queries += Rows * lanes, panel.advance(lanes)) {
            broadcast_operand<T, constant_stride<lanes>, unit_stride> const rows{queries, {}, {}};
            tile.add_products(Step{}, rows, panel, std::min(lanes, features - f), [](auto const&) FOVEA_LAMBDA {});
        }
    }
    if constexpr (Step::scales) tile.scale_rows(scales);
    tile.store(scores, row_stride);
}

}  // namespace fovea::FOVEA_SET::kernel

namespace fovea::FOVEA_SET::driver {

/// Calls f(std::integral_constant<int, N>) with the smallest register tile of at least `rows` rows.
template <class Tile, int I = 0, class F>
void with_rows(index_t rows, F&& f) {
    if constexpr (I == Tile::last_height) f(std::integral_constant<int, Tile::height(I)>{});
    else if (rows <= Tile::height(I)) f(std::integral_constant<int, Tile::height(I)>{});
    else with_rows<Tile, I + 1>(rows, f);
}

/// Divides `width` columns among calls f(vectors, first column): each takes the first of `Vectors` that fits.
template <int... Vectors, class F>
void for_columns(index_t width, index_t lanes, F const& f) {
    index_t c = 0;
    auto const columns = [&](auto vectors) {
        for (; c + vectors() * lanes <= width; c += vectors() * lanes) f(vectors, c);
    };
    (columns(std::integral_constant<int, Vectors>{}), ...);
}

/// Scores of a run of packed keys: whole panels, and single vectors where the run begins or ends within a panel.
template <class Products, class Arch, class T>
FOVEA_CONTROL void contract_panels(panel_product<T> const& p, kernel::prefetch_queue& next) {
    using tile = plan::key_lanes_blocking<T, Arch>;
    with_rows<tile>(p.mr, [&](auto rows) {
        for (index_t pack = p.first; pack < p.last;) {
            index_t const offset = pack % tile::nv;
            T const* const from = p.keys + (pack - offset) * tile::lanes * p.features + offset * tile::lanes;
            T* const to = p.scores + pack * tile::lanes;
            auto const multiply = [&](auto count, index_t column) {
                kernel::contract<rows(), count(), T, Arch, Products>(p.queries, from + column, tile::panel, p.features,
                                                                     to + column, p.stride, p.scales, next);
            };
            if (offset == 0 && p.last - pack >= tile::nv) {
                multiply(std::integral_constant<int, tile::nv>{}, 0);
                pack += tile::nv;
            } else if constexpr (plan::compiled.parts_of_panels) {
                multiply(std::integral_constant<int, 1>{}, 0);
                ++pack;
            } else {  // scores beside the run are not read
                multiply(std::integral_constant<int, tile::nv>{}, -offset * tile::lanes);
                pack += tile::nv - offset;
            }
        }
    });
}

/// Scores of keys in place: of a single row, or of several at a time.
template <class Arch, class T, class Keys>
void contract_in_place(Keys const& keys, kernel::row_products<T> const& p) {
    using tile = plan::key_lanes_blocking<T, Arch>;
    if (tile::rows_in_place(p.rows) == 1) kernel::contract_rows<1, T, Arch>(keys, p);
    else kernel::contract_rows<tile::rows_in_place(2), T, Arch>(keys, p);
}

/// Adds packed values to the sums of a tile of rows, as many columns at a time as registers hold.
template <class Arch, class T, class Aggregate>
FOVEA_CONTROL void accumulate_tile(Aggregate const& aggregate, weighted_rows<T> const& w,
                                   kernel::prefetch_queue& next) {
    using tile = plan::key_lanes_blocking<T, Arch>;
    auto piece = w.all;
    piece.keys = kernel::steps_over<Aggregate>(piece.keys);
    with_rows<tile>(w.mr, [&](auto rows) {
        for_columns<tile::value_vectors(rows()), tile::nv, 1>(w.width, tile::lanes, [&](auto vectors, index_t c) {
            piece.values = w.all.values.from(0, c);
            piece.sums = w.all.sums + c;
            kernel::accumulate<rows(), vectors(), T, Arch>(aggregate, piece, next);
        });
    });
}

/// Adds weighted values to the sums of few rows: as many columns at a time as registers hold, of about 8 KiB of values,
/// which the next rows then find in the L1 cache.
template <class Product, class T, class Values, class Aggregate>
FOVEA_CONTROL void accumulate_few(Aggregate const& aggregate, weighted_rows<T, Values> const& w) {
    using Value = kernel::element_in_place<Values>;
    using Arch = typename Product::architecture;
    using tile = plan::key_lanes_blocking<T, Arch>;
    constexpr index_t per_step = Product::step::per_step;
    constexpr bool as_stored = per_step > 1 && !std::is_same_v<Value, T>;
    auto const& all = w.all;
    index_t const block =
        w.in_order ? all.keys : round_up(std::max<index_t>(8192 / kernel::bytes_of_features<Values>(w.width), 8), 2);
    T ones[tile::rows];
    std::fill_n(ones, tile::rows, T{1});
    T const* rescale = all.rescale;
    kernel::prefetch_queue none;
    for (index_t k = 0; k < all.keys; k += block, rescale = ones) {
        index_t const count = std::min(block, all.keys - k), weight = k / per_step;
        auto piece = all;
        piece.keys = as_stored ? count : kernel::steps_over<typename Product::step>(count);
        auto const add = [&](auto vectors, index_t c, auto of_rows) {
            constexpr int rows = of_rows();
            piece.values = all.values.from(as_stored ? k : weight, c);
            for (index_t r = 0; r < w.rows; r += rows) {
                piece.weights = all.weights.from_row(r).from_step(weight);
                piece.sums = all.sums + r * all.sum_stride + c;
                piece.rescale = rescale + r;
                if constexpr (as_stored) Product::template accumulate_as_stored<rows, vectors()>(piece);
                else kernel::accumulate<rows, vectors(), T, Arch>(aggregate, piece, none);
            }
        };
        auto const rows_with = [&](auto vectors, index_t c) {
            add(vectors, c, std::integral_constant<int, tile::rows_with(vectors())>{});
        };
        auto const one_row = [&](auto vectors, index_t c) { add(vectors, c, std::integral_constant<int, 1>{}); };
        constexpr int packs = kernel::packs_at_once<T, Arch, Values>;
        if constexpr (as_stored) {
            for_columns<8, 4, 2>(w.width, tile::lanes, rows_with);
        } else if constexpr (packs > 1) {  // rows are decoded once for as many sums as registers hold
            if (w.rows > 1) for_columns<4, packs>(w.width, tile::lanes, rows_with);
            else for_columns<8, packs>(w.width, tile::lanes, one_row);
        } else if constexpr (kernel::are_scaled<Values>) {
            if (w.rows > 1) for_columns<4, 1>(w.width, tile::lanes, rows_with);
            else for_columns<8, 1>(w.width, tile::lanes, rows_with);
        } else if constexpr (!plan::compiled.register_heights) {
            for_columns<tile::most_value_vectors, 4, 1>(w.width, tile::lanes, rows_with);
        } else if (w.rows > 1) {
            for_columns<tile::most_value_vectors, 4, 1>(w.width, tile::lanes, rows_with);
        } else {  // the sums of a row alone, in columns enough to hide the latency of a multiply-add
            for_columns<8, 4, 2, 1>(w.width, tile::lanes, one_row);
        }
    }
}

/// Adds the rows of a tile, weighted by P^T or dS^T, to the sums of keys, whose number any rest may have.
template <class Product, class T>
void accumulate_transposed(weighted_rows<T, kernel::even_rows<T>, kernel::transposed_weights<T>> const& w) {
    using Arch = typename Product::architecture;
    using tile = plan::key_lanes_blocking<T, Arch>;
    auto piece = w.all;
    T ones[tile::rows];
    piece.rescale = std::fill_n(ones, tile::rows, T{1}) - tile::rows;
    kernel::prefetch_queue none;
    for_columns<8, 4, 1>(w.width, tile::lanes, [&](auto vectors, index_t c) {
        piece.values = w.all.values.from(0, c);
        index_t key = 0;
        auto const add = [&](auto keys) {
            for (; key + keys() <= w.rows; key += keys()) {
                piece.weights = w.all.weights.from_row(key);
                piece.sums = w.all.sums + key * w.all.sum_stride + c;
                kernel::accumulate<keys(), vectors(), T, Arch>(typename Product::step{}, piece, none);
            }
        };
        add(std::integral_constant<int, tile::rows_with(vectors())>{});
        add(std::integral_constant<int, 1>{});
    });
}

/// Transposes sums with a row in each lane into rows of results, times their factors.
template <class Arch, class T, class Element>
void store_transposed(result_rows<T, Element> const& rows) {
    using vector = kernel::pack<T, Arch>;
    constexpr int lanes = static_cast<int>(vector::lanes);
    auto const factor = vector::load(rows.factors);
    auto const each = [&](auto const& f) FOVEA_LAMBDA { kernel::unrolled<lanes>(f); };  // kept in registers
    auto const store_to = [&](auto const& to, index_t count) FOVEA_LAMBDA {
        for (index_t c = 0; c < rows.features; c += lanes) {
            index_t const left = rows.features - c;
            vector block[vector::lanes];
            T const* const from = rows.sums + c * rows.width;
            auto const sum = [&](index_t i) FOVEA_LAMBDA { return vector::load(from + i * rows.width) * factor; };
            if (left >= lanes) each([&](index_t i) FOVEA_LAMBDA { block[i] = sum(i); });
            else each([&](index_t i) FOVEA_LAMBDA { block[i] = i < left ? sum(i) : vector(T{0}); });
            kernel::lanes_of<T, Arch>::transpose(block);
            if (left >= lanes) {
                each([&](index_t r) FOVEA_LAMBDA {
                    if (r < count) kernel::store_as<T, Arch>(block[r], to(r) + c, vector::lanes);
                });
            } else {
                vector copy[vector::lanes];
                each([&](index_t r) FOVEA_LAMBDA { copy[r] = block[r]; });
                for (index_t r = 0; r < count; ++r) kernel::store_as<T, Arch>(copy[r], to(r) + c, left);
            }
        }
    };
    if (rows.count == lanes && rows.to.heads == 1) {  // no address is kept, and no row is asked for
        auto const first = rows.to(0);
        auto const stride = rows.to.position_stride;
        store_to([=](index_t r) FOVEA_LAMBDA { return first + r * stride; }, lanes);
        return;
    }
    Element* to[vector::lanes];
    for (index_t r = 0; r < rows.count; ++r) to[r] = rows.to(r);
    store_to([&](index_t r) FOVEA_LAMBDA { return to[r]; }, rows.count);
}

/// packed_products: the products of a tile with a key, or a feature of a value, in each lane, with operands in the
/// format of `Product`; the same for all specifications.
template <class Product>
struct packed_products {
    using T = typename Product::number;

    static void contract(panel_product<T> const& p, kernel::prefetch_queue& next);
    static void accumulate(weighted_rows<T> const& w, kernel::prefetch_queue& next);
    static void accumulate_few(weighted_rows<T> const& w);
    /// The product of gradients of keys and values: keys += P^T rows.
    static void accumulate_transposed(weighted_rows<T, kernel::even_rows<T>, kernel::transposed_weights<T>> const& w)
        requires(Product::step::per_step == 1);
};

template <class Product>
FOVEA_CONTROL void packed_products<Product>::contract(panel_product<T> const& p, kernel::prefetch_queue& next) {
    if constexpr (Product::available) contract_panels<typename Product::step, typename Product::architecture>(p, next);
}
template <class Product>
FOVEA_CONTROL void packed_products<Product>::accumulate(weighted_rows<T> const& w, kernel::prefetch_queue& next) {
    if constexpr (Product::available)
        accumulate_tile<typename Product::architecture>(typename Product::step{}, w, next);
}
template <class Product>
FOVEA_CONTROL void packed_products<Product>::accumulate_few(weighted_rows<T> const& w) {
    if constexpr (Product::available) driver::accumulate_few<Product>(typename Product::step{}, w);
}
template <class Product>
void packed_products<Product>::accumulate_transposed(
    weighted_rows<T, kernel::even_rows<T>, kernel::transposed_weights<T>> const& w)
    requires(Product::step::per_step == 1)
{
    driver::accumulate_transposed<Product>(w);
}

/// products: those of operands of type T, the type of the arithmetic, as they lie; the same for all specifications.
template <class T, class Arch>
struct products {
    using query_lanes = plan::query_lanes_blocking<T, Arch>;

    // With a query in each lane, a kernel::lane_product.
    using number = T;
    using element = T;
    using blocking = query_lanes;
    struct scope {};
    static constexpr bool packs_values = false, scales_queries = true;
    static void contract_query_lanes(kernel::key_operand<T> const& keys, kernel::lane_sums<T> const& sums,
                                     kernel::prefetch_queue& next);
    static void accumulate_query_lanes(kernel::value_operand<T> const& values, kernel::lane_sums<T> const& sums,
                                       kernel::prefetch_queue& next);
    static void store(result_rows<T, T> const& rows);

    // With a feature in each lane.
    static void contract_in_place(kernel::keys_in_place<T, Arch, kernel::even_rows<T>> const& keys,
                                  kernel::row_products<T> const& p);

    static void transpose(transposition<T> const& t);
};

template <class T, class Arch>
void products<T, Arch>::contract_query_lanes(kernel::key_operand<T> const& keys, kernel::lane_sums<T> const& sums,
                                             kernel::prefetch_queue& next) {
    kernel::multiply_in_tiles<query_lanes, Arch>(keys, sums, next);
}
template <class T, class Arch>
void products<T, Arch>::accumulate_query_lanes(kernel::value_operand<T> const& values, kernel::lane_sums<T> const& sums,
                                               kernel::prefetch_queue& next) {
    kernel::multiply_in_tiles<query_lanes, Arch>(values, sums, next);
}

template <class T, class Arch>
void products<T, Arch>::store(result_rows<T, T> const& rows) {
    store_transposed<Arch>(rows);
}

template <class T, class Arch>
void products<T, Arch>::contract_in_place(kernel::keys_in_place<T, Arch, kernel::even_rows<T>> const& keys,
                                          kernel::row_products<T> const& p) {
    driver::contract_in_place<Arch>(keys, p);
}

/// The same of keys of any kind: of rows of type T by what is compiled once for all specifications.
template <class Arch, class T, class Keys>
void contract_stored(Keys const& keys, kernel::row_products<T> const& p) {
    if constexpr (std::is_same_v<Keys, kernel::keys_in_place<T, Arch, kernel::even_rows<T>>>)
        products<T, Arch>::contract_in_place(keys, p);
    else contract_in_place<Arch>(keys, p);
}

template <class T, class Arch>
void products<T, Arch>::transpose(transposition<T> const& t) {
    auto const scale = [&](index_t i) FOVEA_LAMBDA { return t.scales[i]; };
    kernel::transpose_features<T, Arch>(q_t{}, t.rows, [](index_t) FOVEA_LAMBDA { return 0; }, scale, t.destination);
}

}  // namespace fovea::FOVEA_SET::driver
