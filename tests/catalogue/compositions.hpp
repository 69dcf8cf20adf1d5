// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts from every slot, put together in all ways, of which each unit here is one.
#pragma once

#include "catalogue/compiled.hpp"

#include <boost/hana/at.hpp>
#include <boost/hana/length.hpp>
#include <boost/hana/tuple.hpp>

namespace compositions {

namespace hana = boost::hana;
using namespace fovea;
using namespace fovea::placeholders;

inline constexpr auto scores = hana::make_tuple(dot, scaled_dot, cosine, gaussian(1.5), l1_distance(2),
                                                compare(sum(q* k) * rsqrt(dim) - 0.01 * kv_idx));
inline constexpr auto rescorings =
    hana::make_tuple(softcap(3), temperature(2), gumbel(5), rescore(score + 0.1 * (kv_idx - q_idx)));
inline constexpr auto masks =
    hana::make_tuple(everything_t{}, causal, causal_at_end, sliding_window(5, 3), chunked(7), where(kv_idx % 3 != 1),
                     prefix_lm(4), sliding_window(2, 2) || global_tokens(2));
inline constexpr auto normalizers =
    hana::make_tuple(softmax, softmax_plus_one, hardmax, sparsemax, entmax15, top_k_softmax(4), weigh(sigmoid(score)),
                     normalized(sigmoid(score)), uniform);
inline constexpr auto aggregators = hana::make_tuple(weighted_sum, max_pool);

template <auto const& Parts>
inline constexpr std::size_t count_of = decltype(hana::length(Parts))::value;

/// Every score with every mask and every normalizer.
inline constexpr std::size_t count = count_of<scores> * count_of<masks> * count_of<normalizers>;

/// The part of one number, as often as all are counted through.
template <auto const& Parts, std::size_t Number>
constexpr auto const& part = Parts[hana::size_c<Number % count_of<Parts>>];

/// The specification of one number; rescorings and aggregators change from one to the next.
template <std::size_t Number>
struct composed : catalogue::specification {
    static constexpr auto of_masks = Number / count_of<normalizers>, of_scores = of_masks / count_of<masks>;
    static constexpr char digits[] = {
        'n', 'u', 'm', 'b', 'e', 'r', ' ', '0' + Number / 100, '0' + Number / 10 % 10, '0' + Number % 10};
    static constexpr std::string_view name{digits, sizeof digits};
    static constexpr bool reads_batch = Number % count_of<rescorings> == 2;
    static constexpr index_t chosen = Number % count_of<normalizers> == 2 ? 1
                                    : Number % count_of<normalizers> == 5 ? 4
                                                                          : 0;
    static auto spec() {
        return part<scores, of_scores> | part<rescorings, Number> | part<masks, of_masks> | part<normalizers, Number>
             | part<aggregators, Number / 3>;
    }
};

}  // namespace compositions
