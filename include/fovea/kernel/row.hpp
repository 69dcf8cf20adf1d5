// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/kernel/contract.hpp>
#include <fovea/kernel/math.hpp>
#include <fovea/spec/row.hpp>

namespace fovea::kernel {

/// The kth key of a row is the key at first + k.
struct consecutive_keys {
    index_t first = 0;
    FOVEA_INLINE index_t operator()(index_t k) const { return first + k; }
};

/// The kth key of a row is the kth in a list.
struct listed_keys {
    std::int32_t const* list = nullptr;
    FOVEA_INLINE index_t operator()(index_t k) const { return list[k]; }
};

/// One row of scores in memory, as a normalizer sees it: whole packs, excluded scores behind the last key.
template <class T, class Arch, class Normalize, class Keys = consecutive_keys>
struct packed_row {
    using value_type = T;
    using vector = pack<T, Arch>;
    using lanes = lanes_of<T, Arch>;
    static constexpr index_t width = vector::lanes;
    static constexpr int parallel = 4;  // packs in flight, to hide the latency of one

    T* scores;
    index_t packs;  // number of packs
    Keys keys{};

    index_t size() const { return packs * width; }
    T& operator[](index_t i) const { return scores[i]; }
    index_t key(index_t i) const { return keys(i); }

    FOVEA_INLINE T max() const { return lanes::max(lane_max()); }
    FOVEA_INLINE bool any_above(T limit) const { return (lane_max() > vector(limit)).any(); }

    /// Ties go to the lowest key, wherever it stands in the row.
    FOVEA_INLINE located<T> first_max() const {
        T const greatest = max();
        located<T> best;
        if (greatest == excluded<T>) return best;
        for (index_t p = 0; p < packs; ++p) {
            if (!(vector::load(scores + p * width) == vector(greatest)).any()) continue;
            for (index_t i = p * width; i < (p + 1) * width; ++i)
                if (scores[i] == greatest && (best.key < 0 || key(i) < best.key)) best = {greatest, key(i)};
        }
        return best;
    }

    template <class F>
    FOVEA_INLINE void map(F f) const {
        for (index_t p = 0; p < packs; ++p) weight(f, p).store(scores + p * width);
    }

    template <class F>
    FOVEA_INLINE T map_and_sum(F f) const {
        vector sum[parallel];
        for (auto& s : sum) s = vector(T{0});
        index_t p = 0;
        for (; p + parallel <= packs; p += parallel)
            unrolled<parallel>([&](auto u) FOVEA_LAMBDA {
                auto const w = weight(f, p + u);
                w.store(scores + (p + u) * width);
                sum[u] = sum[u] + w;
            });
        for (; p < packs; ++p) {
            auto const w = weight(f, p);
            w.store(scores + p * width);
            sum[0] = sum[0] + w;
        }
        return lanes::sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }

private:
    /// The greatest scores, lane by lane.
    FOVEA_INLINE vector lane_max() const {
        vector greatest[parallel];
        for (auto& g : greatest) g = vector(excluded<T>);
        index_t p = 0;
        for (; p + parallel <= packs; p += parallel)
            unrolled<parallel>([&](auto u) FOVEA_LAMBDA {
                greatest[u] = max_of(greatest[u], vector::load(scores + (p + u) * width));
            });
        for (; p < packs; ++p) greatest[0] = max_of(greatest[0], vector::load(scores + p * width));
        return max_of(max_of(greatest[0], greatest[1]), max_of(greatest[2], greatest[3]));
    }
    FOVEA_INLINE static vector max_of(vector const& a, vector const& b) { return {vector::operations::max(a.value, b.value)}; }

    /// f of one pack of scores; 0 for excluded ones, unless the normalizer says that f gives that itself.
    template <class F>
    FOVEA_INLINE vector weight(F const& f, index_t p) const {
        auto const score = vector::load(scores + p * width);
        vector const w(f(score));
        if constexpr (requires { requires Normalize::excluded_vanish; }) return w;
        else return select(score == vector(excluded<T>), vector(T{0}), w);
    }
};

}  // namespace fovea::kernel
