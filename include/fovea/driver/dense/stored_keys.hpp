// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How keys of each element type and storage are packed or read in place, with a key in each lane.
#pragma once

#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/key_lanes_sums_functions.hpp>
#include <fovea/driver/dense/key_terms.hpp>
#include <fovea/driver/dense/packed_keys.hpp>
#include <fovea/kernel/contract_rows.hpp>
#include <fovea/kernel/packing.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

template <class Call>
struct key_lanes_context_of {
    using type = score_context<Call, key_lanes_call<typename Call::number, typename Call::architecture>>;
};
template <class Call>
    requires requires { typename Call::normalizer; }
struct key_lanes_context_of<Call> {
    using type = dense_context<Call, key_lanes_attention<typename Call::number, typename Call::architecture>>;
};

/// A call with a key in each lane: an attention, or scores alone.
template <class Call>
using key_lanes_context = typename key_lanes_context_of<Call>::type;

/// The keys of one head as a call stores them, whatever their type and place: how they are packed, and how they are
/// read in place.
///
/// The products of the call say in which format (kernel/product/product.hpp).
template <class Call>
class stored_keys {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Operands = typename Call::operands;
    using Parts = typename Call::parts;
    using context = key_lanes_context<Call>;
    using packed = packed_keys<T, Arch>;

public:
    using tile = plan::key_lanes_blocking<T, Arch>;
    static constexpr index_t products = plan::count_of<decltype(Parts::products)>;
    static constexpr index_t pairs = plan::count_of<decltype(Parts::pairs)>;
    static constexpr index_t planes = products + plan::key_factors_of<decltype(Parts::pairs)>;
    static constexpr index_t key_terms = plan::count_of<decltype(Parts::keys)>;
    static constexpr bool terms_per_head = plan::any_uses_head<decltype(Parts::keys)>;
    static constexpr index_t lanes = kernel::pack<T, Arch>::lanes;
    using key_rows = std::remove_const_t<decltype(Operands::key)>;
    using key_type = read_as<key_rows, T>;
    /// How a part of the score that is a product is multiplied.
    template <class Part>
    using product_of = kernel::score_product<T, Arch, typename Call::query_element, key_type,
                                             std::remove_cvref_t<decltype(Part::of_query)>,
                                             std::remove_cvref_t<decltype(Part::of_key)>>;
    static constexpr bool always_in_place = !Call::packs_keys;

    stored_keys(context const& call, packed const& to) : call_(call), packed_(to), operands_(call.operands) {}

    bool in_place() const { return always_in_place || packed_.in_place(); }
    /// Calls f(keys, offset, count) with `count` keys of a block from one of its keys on, some at a time, through a
    /// body, for kernel::contract_rows.
    template <class Part, class Body, class F>
    void with_keys(Body const& body, index_t block, index_t key, index_t count, F const& f) const {
        for_rows_in_place(operands_.key, range(block, key, count), packed_.loaded(),
                          [&]<class Rows>(Rows const& rows, index_t offset, index_t present) {
                              if constexpr (std::is_same_v<Body, k_t>) {
                                  using keys = typename product_of<Part>::template keys_in_place<Rows>;
                                  f(keys{rows}, offset, present);
                              } else {
                                  index_t const from = packed_.first(block) + key + offset;
                                  auto const row = facts(0);
                                  auto const base = [&](index_t i) FOVEA_LAMBDA {
                                      return kernel::index_environment<T, Arch, index_t>{row, from + i};
                                  };
                                  f(kernel::evaluated_keys<T, Arch, Body, Rows, decltype(base)>{body, rows, base},
                                    offset, present);
                              }
                          });
    }

    /// The sum of a body over the features of one query and one key, straight from the operands.
    template <class Body>
    T compare(Body const& body, kernel::row_facts const& row, index_t key) const {
        return kernel::sum_features<T, Arch>(body, kernel::index_environment<T, Arch, index_t>{row, key},
                                             operands_.query.place(row.batch, row.head, row.q_idx, 0),
                                             row_of(operands_.key, {batch(), head(), key, key + 1}, packed_.loaded()),
                                             features());
    }

    /// Planes and terms of the keys of a block.
    void pack(index_t block) const {
        auto const& parts = call_.spec.score.parts;
        index_t plane = 0;
        plan::for_each_part(parts.products, [&]([[maybe_unused]] auto const& p) {
            if constexpr (!always_in_place)
                if (!in_place()) pack_plane<product_of<std::remove_cvref_t<decltype(p)>>>(block, plane, p.of_key);
            ++plane;
        });
        plan::for_each_part(parts.pairs, [&](auto const& pair) {
            plan::for_each_part(pair.factors.keys, [&](auto const& factor) {
                pack_plane<kernel::number_product<T, Arch>>(block, plane++, factor);
            });
            if constexpr (std::remove_cvref_t<decltype(pair)>::uses_exponentials) check_factors(block);
        });
        if constexpr (key_terms > 0)
            for (index_t g = 0; g < (terms_per_head ? operands_.group() : 1); ++g) {
                std::fill_n(packed_.terms(block, g), key_terms * tile::block_keys, T{0});  // after the last key too
                compute_key_terms<T, Arch>(parts.keys, facts(g), operands_.key, packed_.range(block), packed_.loaded(),
                                           packed_.terms(block, g), tile::block_keys);
            }
        compute_index_terms<T, Arch>(call_.indices.keys, facts(0), packed_.first(block), packed_.last(block),
                                     packed_.indices(block), tile::block_keys);
    }

private:
    row_range range(index_t block, index_t key, index_t count) const {
        index_t const first = packed_.first(block) + key;
        return {batch(), head(), first, first + count};
    }
    index_t batch() const { return packed_.heads().batch; }
    index_t head() const { return packed_.heads().index; }  // of keys
    index_t features() const { return call_.key_features; }

    /// Of the first query of a head of the group.
    kernel::row_facts facts(index_t group_head) const { return call_.facts(packed_.heads(), group_head); }

    template <class Product, class Body>
    void pack_plane(index_t block, index_t plane, [[maybe_unused]] Body const& body) const {
        T* const to = packed_.keys(block, plane);
        auto const row = facts(0);
        index_t const first = packed_.first(block), last = packed_.last(block);
        for (index_t key = first; key < last; key += tile::panel) {
            if (call_.how.values == plan::reading::in_place) prefetch_values(key, std::min(key + tile::panel, last));
            index_t const count = std::min(last - key, tile::panel);
            // Rows in memory after those of the panel are prefetched.
            index_t const available = loaded_rows<key_rows> ? count : operands_.keys() - key;
            auto const place = addresses_of<tile::panel + 2 * lanes>(
                operands_.key, {batch(), head(), key, key + available}, packed_.loaded());
            index_t const column = (key - first) * kernel::steps_over<typename Product::step>(features());
            kernel::transpose_target<T> const all{.count = count,
                                                  .padded_rows = tile::panel,
                                                  .available = available,
                                                  .features = features(),
                                                  .first = to + column,
                                                  .stride = tile::panel};
            if constexpr (std::is_same_v<Product, kernel::number_product<T, Arch>> && std::is_same_v<Body, k_t>
                          && std::is_same_v<key_type, T> && evenly_spaced<key_rows>) {
                T one[tile::panel];
                std::fill_n(one, count, T{1});
                driver::products<T, Arch>::transpose({place, one, all});
            } else {
                Product::transpose(
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

    context const& call_;
    packed const& packed_;
    Operands const& operands_;
};

}  // namespace fovea::FOVEA_SET::driver
