// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts from every slot, put together in all ways, of which each test program runs a share.
#pragma once

#include <fovea/fovea.hpp>

#include "support/fused.hpp"

#include <boost/hana/at.hpp>
#include <boost/hana/length.hpp>
#include <boost/hana/tuple.hpp>

#include <type_traits>

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
auto composed() {
    constexpr auto of_masks = Number / count_of<normalizers>, of_scores = of_masks / count_of<masks>;
    auto const scored = part<scores, of_scores> | part<rescorings, Number> | part<masks, of_masks>;
    return scored | part<normalizers, Number> | part<aggregators, Number / 3>;
}

/// Sizes that nobody chose.
inline testing::call_sizes random_sizes(testing::dice& random) {
    index_t const key_heads = random.between(1, 3);
    return {random.between(1, 2),
            key_heads * random.between(1, 3),
            key_heads,
            random.between(0, 40),
            random.between(0, 70),
            random.between(1, 20),
            random.between(1, 20),
            random.real(0.5, 3)};
}

/// An engine on a number of threads, which may be one.
template <class Arch>
struct threaded {
    int workers;
    template <class... Arguments>
    void operator()(Arguments const&... arguments) const {
        workspace scratch;
        attend_on<Arch>(threads(workers), scratch, arguments...);
    }
};

/// One composition in every width of vectors, float and double, at random sizes, in a number of threads each time.
template <std::size_t Number>
void check(testing::dice& random) {
    auto const spec = composed<Number>();
    INFO(text(spec));
    auto const run = [&]<class T, class Arch>(std::type_identity<T>, std::type_identity<Arch>) {
        for (int trial = 0; trial < 12; ++trial) {
            auto const sizes = random_sizes(random);
            int const workers = static_cast<int>(random.between(1, 4));
            CHECK_NOTHROW(testing::compare_with_reference<T>(threaded<Arch>{workers}, spec, sizes,
                                                             static_cast<unsigned>(random.between(1, 1000000))));
        }
    };
    [&]<class... Arch>(std::type_identity<std::tuple<Arch...>>) {
        (run(std::type_identity<float>{}, std::type_identity<Arch>{}), ...);
    }(std::type_identity<lane_widths>{});
    run(std::type_identity<double>{}, std::type_identity<arch::best>{});
}

/// Every `step`-th composition from `first` on.
template <std::size_t First, std::size_t Step>
void check_share(unsigned seed) {
    testing::dice random(seed);
    std::size_t checked = 0;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((check<First + I * Step>(random), ++checked), ...);
    }(std::make_index_sequence<(count - First + Step - 1) / Step>{});
    WARN("checked " << checked << " of " << count << " compositions");
}

}  // namespace compositions
