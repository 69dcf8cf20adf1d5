// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a matrix unit cannot multiply by parts: sums that are not finite, again as products of numbers.
#pragma once

#include <fovea/kernel/product/amx_packing.hpp>
#include <fovea/kernel/product/lane_products.hpp>

#include <limits>

namespace fovea::FOVEA_SET::kernel {

/// An infinite number times a part that is 0, or two products of parts beyond all numbers, make NaN of what the
/// definition may give a number: sums of parts that are not finite are computed again, of the packed numbers, each
/// being the sum of its parts.
template <class T, class Arch, class Parts>
struct amx_numbers : amx_packing<T, Arch, Parts> {
    using packing = amx_packing<T, Arch, Parts>;
    using packing::side, packing::elements;
    using typename packing::element, typename packing::vector;

    FOVEA_INLINE static bool finite(vector const& x) {
        return !(!(abs(x) <= vector(std::numeric_limits<T>::max()))).any();
    }

    /// Those of S^T.
    template <int N>
    [[gnu::cold, gnu::noinline]] static void contract_again(key_operand<element> const keys, lane_sums<T> const& all) {
        index_t const features = round_up(all.steps, elements), plane = features / 2 * all.width;
        for (index_t k = 0; k < all.element_count; ++k)
            for (index_t lane = 0; lane < N * side; lane += side) {
                T* const at = all.sums + k * all.width + lane;
                auto const by_parts = vector::load(at);
                if (finite(by_parts)) continue;
                auto const scale = vector::load(all.scales + lane);
                vector sum(T{0});
                for (index_t f = 0; f < all.steps; ++f) {
                    T key{0};
                    for (index_t part = 0; part < Parts::key; ++part)
                        key += static_cast<T>(keys.from_row(k).first[part * features + f]);
                    vector query(T{0});
                    for (index_t part = 0; part < Parts::query; ++part) {
                        auto const pairs = vector::load(all.vectors + part * plane + f / 2 * all.width + lane);
                        query = query + (f % 2 == 0 ? parts::lower(pairs) : parts::upper(pairs));
                    }
                    sum = fma(vector(key), query * scale, sum);
                }
                replaced(by_parts, sum).store(at);
            }
    }
    /// One vector of O^T, of the weights and values of a block.
    [[gnu::cold, gnu::noinline]] static vector accumulate_again(value_operand<element> const values,
                                                                lane_sums<T> const& all, index_t feature, index_t lane,
                                                                vector const by_parts) {
        vector sum(T{0});
        for (index_t k = 0; k < all.steps; ++k)
            sum = fma(vector::load(all.vectors + k * all.width + lane),
                      vector(packing::value_at(values.first, values.step_stride, k, feature)), sum);
        return replaced(by_parts, sum);
    }

private:
    using parts = bf16_parts<T, Arch, 1>;
    static vector replaced(vector const& by_parts, vector const& by_numbers) {
        return select(abs(by_parts) <= vector(std::numeric_limits<T>::max()), by_parts, by_numbers);
    }
};

}  // namespace fovea::FOVEA_SET::kernel
