// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How keys and values of each element type and storage are packed or read in place, with a key in each lane.
#pragma once

#include <fovea/driver/all_finite.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/key_terms.hpp>
#include <fovea/driver/dense/packed_keys.hpp>
#include <fovea/kernel/contract_rows.hpp>
#include <fovea/kernel/packing.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// With a key in each lane.
template <class Call>
using row_context = dense_context<Call, row_call<typename Call::number, typename Call::architecture>>;

/// Values at equal distances.
template <class Value>
struct value_rows {
    Value const* first;
    index_t stride;
};

/// The keys and values of one head as a call stores them, whatever their type and place: how they are packed, and how
/// they are read in place.
///
/// bfloat16 that an architecture multiplies as it is stored is packed as bf16 pairs, two features, or two values, to a
/// lane; values only where weights are rounded to match.
template <class Call>
class stored_keys {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Operands = typename Call::operands;
    using Parts = typename Call::parts;
    using context = row_context<Call>;
    using packed = packed_keys<T, Arch>;

public:
    using tile = plan::tile<T, Arch>;
    static constexpr index_t products = plan::count_of<decltype(Parts::products)>;
    static constexpr index_t pairs = plan::count_of<decltype(Parts::pairs)>;
    static constexpr index_t planes = products + plan::key_factors_of<decltype(Parts::pairs)>;
    static constexpr index_t key_terms = plan::count_of<decltype(Parts::keys)>;
    static constexpr bool terms_per_head = plan::any_uses_head<decltype(Parts::keys)>;
    static constexpr index_t lanes = kernel::pack<T, Arch>::lanes;
    using key_type = element_of_rows<decltype(Operands::key)>;
    using value_type = element_of_rows<decltype(Operands::value)>;
    /// True where values may be read where they are: in a view, not in pages.
    static constexpr bool has_value_rows = !is_paged<decltype(Operands::value)>;
    static constexpr bool has_key_rows = !is_paged<decltype(Operands::key)>;
    static constexpr bool converts_values = !std::is_same_v<value_type, T>;
    /// True for a product of operands as they are stored, as bf16 pairs.
    template <class Product>
    static constexpr bool multiplies_bf16_pairs =
        kernel::multiplies_stored<T, Arch, std::remove_cvref_t<decltype(*Operands::query.data)>, key_type>
        && std::is_same_v<std::remove_cvref_t<decltype(Product::of_query)>, q_t>
        && std::is_same_v<std::remove_cvref_t<decltype(Product::of_key)>, k_t>;
    template <class Product>
    using products_of =
        std::conditional_t<multiplies_bf16_pairs<Product>, kernel::bf16_pair_products, kernel::number_products>;
    /// Weights are rounded to bfloat16 where values and results are stored so, and products of it are fast.
    static constexpr bool rounds_weights =
        Call::is_linear
        && kernel::multiplies_stored<T, Arch, value_type, std::remove_cvref_t<decltype(*Operands::result.data)>>;
    static constexpr index_t keys_per_row = rounds_weights ? 2 : 1;  // of packed values
    static constexpr bool always_in_place = Call::may_take_query_lanes;

    stored_keys(context const& call, packed const& to) : call_(call), packed_(to), operands_(call.operands) {}

    bool in_place() const { return always_in_place || packed_.in_place(); }
    index_t value_width() const { return packed_.value_width(); }
    index_t value_features() const { return operands_.value_features(); }

    /// One value as it is stored.
    value_type const* value(index_t block, index_t key) const {
        return operands_.value.place(batch(), head(), packed_.first(block) + key, 0);
    }

    /// Calls f(values) with the values of a block from one of its keys on.
    template <class F>
    void with_values(index_t block, index_t key, F const& f) const {
        if (!packed_.values_in_place()) return f(value_rows<T>{packed_.values(block, key), value_width()});
        if constexpr (has_value_rows) f(value_rows<value_type>{value(block, key), operands_.value.stride(2)});
    }

    /// Calls f(keys) with the keys of a block from one of its keys on, through a body, for kernel::contract_rows.
    template <class Product, class Body, class F>
    void with_keys(Body const& body, index_t block, index_t key, F const& f) const {
        index_t const from = packed_.first(block) + key;
        constexpr auto bytes = static_cast<index_t>(sizeof(key_type));
        index_t stride = 0;
        if constexpr (has_key_rows) stride = operands_.key.stride(2);
        kernel::prefetch_distance const next(features() * bytes, stride * bytes);
        auto const place = [&](index_t i) FOVEA_LAMBDA { return operands_.key.place(batch(), head(), from + i, 0); };
        if constexpr (multiplies_bf16_pairs<Product>) {  // in pages too: queries have been laid out as pairs
            if constexpr (has_key_rows) f(kernel::strided_bf16_pairs<Arch>{place(0), stride, next});
            else f(kernel::placed_bf16_pairs<Arch, decltype(place)>{place, next});
        } else if constexpr (std::is_same_v<Body, k_t> && has_key_rows) {
            f(kernel::strided_keys<T, Arch, key_type>{place(0), stride, next});
        } else {
            auto const row = facts(0);
            auto const base = [&](index_t i)
                                  FOVEA_LAMBDA { return kernel::index_environment<T, Arch, index_t>{row, from + i}; };
            f(kernel::evaluated_keys<T, Arch, Body, decltype(place), decltype(base)>{body, place, base, next});
        }
    }

    /// The sum of a body over the features of one query and one key, straight from the operands.
    template <class Body>
    T compare(Body const& body, kernel::row_facts const& row, index_t key) const {
        return kernel::sum_features<T, Arch>(body, kernel::index_environment<T, Arch, index_t>{row, key},
                                             operands_.query.place(row.batch, row.head, row.q_idx, 0),
                                             operands_.key.place(batch(), head(), key, 0), features());
    }

    /// Planes and terms of the keys of a block, and its values unless they are read in place.
    void pack(index_t block) const {
        auto const& parts = call_.spec.score.parts;
        index_t plane = 0;
        plan::for_each_part(parts.products, [&]([[maybe_unused]] auto const& p) {
            if constexpr (!always_in_place)
                if (!in_place())
                    pack_plane<multiplies_bf16_pairs<std::remove_cvref_t<decltype(p)>>>(block, plane, p.of_key);
            ++plane;
        });
        plan::for_each_part(parts.pairs, [&](auto const& pair) {
            plan::for_each_part(pair.factors.keys,
                                [&](auto const& factor) { pack_plane<false>(block, plane++, factor); });
            if constexpr (std::remove_cvref_t<decltype(pair)>::uses_exponentials) check_factors(block);
        });
        if constexpr (key_terms > 0)
            for (index_t g = 0; g < (terms_per_head ? operands_.group() : 1); ++g) {
                std::fill_n(packed_.terms(block, g), key_terms * tile::block_keys, T{0});  // after the last key too
                compute_key_terms<T, Arch>(parts.keys, facts(g), operands_.key, packed_.range(block),
                                           packed_.terms(block, g), tile::block_keys);
            }
        compute_index_terms<T, Arch>(call_.indices.keys, facts(0), packed_.first(block), packed_.last(block),
                                     packed_.indices(block), tile::block_keys);
        if (!packed_.values_in_place()) pack_values(block);
    }

private:
    index_t batch() const { return packed_.heads().batch; }
    index_t head() const { return packed_.heads().index; }  // of keys
    index_t features() const { return call_.key_features; }

    /// Of the first query of a head of the group.
    kernel::row_facts facts(index_t group_head) const { return call_.facts(packed_.heads(), group_head); }

    template <bool Bf16_pairs, class Body>
    void pack_plane(index_t block, index_t plane, [[maybe_unused]] Body const& body) const {
        T* const to = packed_.keys(block, plane);
        auto const row = facts(0);
        index_t const first = packed_.first(block), last = packed_.last(block);
        for (index_t key = first; key < last; key += tile::panel) {
            if (packed_.values_in_place()) prefetch_values(key, std::min(key + tile::panel, last));
            auto const place = [&](index_t i) FOVEA_LAMBDA { return operands_.key.place(batch(), head(), key + i, 0); };
            index_t const count = std::min(last - key, tile::panel);
            kernel::transpose_target<T> all{.count = count,
                                            .padded_rows = tile::panel,
                                            .available = operands_.keys() - key,
                                            .features = features(),
                                            .first = to + (key - first) * features(),
                                            .stride = tile::panel};
            if constexpr (Bf16_pairs) {
                all.first = to + (key - first) * kernel::bf16_pair_count(features());
                kernel::transpose_bf16_pairs<Arch>(place, all);
            } else if constexpr (std::is_same_v<Body, k_t> && std::is_same_v<key_type, T> && has_key_rows) {
                T one[tile::panel];
                std::fill_n(one, count, T{1});
                driver::products<T, Arch>::transpose({{place(0), operands_.key.stride(2)}, one, all});
            } else {
                kernel::transpose_features<T, Arch>(
                    body, place,
                    [&](index_t i) FOVEA_LAMBDA { return kernel::index_environment<T, Arch, index_t>{row, key + i}; },
                    kernel::unscaled{}, all);
            }
        }
    }

    FOVEA_INLINE void prefetch_values(index_t from, index_t to) const {
        auto const& values = call_.value;
        for (index_t key = from; key < to; ++key)
            for (index_t c = 0; c < values.bytes; c += kernel::cache_line)
                __builtin_prefetch(values.place(batch(), head(), key) + c, 0, 2);
    }

    /// Looks at the factors of all pairwise terms; the zeros after the last key do not count.
    void check_factors(index_t block) const {
        bool& factorable = packed_.factorable(block);
        for (index_t plane = products; plane < planes; ++plane)
            for (index_t j = 0; j < packed_.last(block) - packed_.first(block); ++j)
                factorable =
                    factorable
                    && kernel::within_exponential_range(
                        packed_.keys(block, plane) + (j / tile::panel) * tile::panel * features() + j % tile::panel,
                        features(), tile::panel);
    }

    void pack_values(index_t block) const {
        index_t const n = operands_.value_features(), last = packed_.last(block) - packed_.first(block);
        index_t const width = value_width();
        T* row = packed_.values(block, 0);
        for (index_t k = 0; k < last; k += keys_per_row, row += width) {
            auto const* from = value(block, k);
            if constexpr (rounds_weights)
                kernel::interleave_rows<Arch>(from, k + 1 < last ? value(block, k + 1) : nullptr, n, row);
            else kernel::convert_row<T, Arch>(from, n, row);
            std::fill(row + round_up(n, lanes), row + width, T{0});
        }
    }

    context const& call_;
    packed const& packed_;
    Operands const& operands_;
};

}  // namespace fovea::FOVEA_SET::driver
