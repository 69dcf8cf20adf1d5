// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The keys of a row that may have a weight, with their scores and values.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/spec/pipe.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace fovea::FOVEA_SET::driver {

/// What stands for a normalizer where only scores are of interest: values are not read.
struct no_key_wins : stage<role::normalizer> {
    static constexpr std::string_view name = "";
    template <class T>
    struct state {};
    template <class State, class Row>
    static constexpr void fold(State&, Row const&) {}
    template <class State>
    static constexpr void merge(State&, State const&) {}
    template <class State>
    static constexpr index_t selected(State const&) {
        return -1;
    }
};

/// The numbers of keys in a list.
struct numbered_keys {
    index_t const* list = nullptr;
    index_t operator()(index_t k) const { return list[k]; }
};

/// Some keys of a row, in memory that grows: what a message has of them is how many there are, and then their
/// positions, scores and values.
template <class T, class V>
struct candidate_list {
    std::vector<index_t> keys;
    std::vector<T> scores;
    std::vector<V> values;  // (keys, features)

    index_t size() const { return static_cast<index_t>(keys.size()); }

    void append(candidate_list const& more) {
        keys.insert(keys.end(), more.keys.begin(), more.keys.end());
        scores.insert(scores.end(), more.scores.begin(), more.scores.end());
        values.insert(values.end(), more.values.begin(), more.values.end());
    }
    candidate_list part(std::vector<std::size_t> const& places, index_t features) const {
        candidate_list some;
        for (std::size_t const i : places) {
            some.keys.push_back(keys[i]);
            some.scores.push_back(scores[i]);
            auto const value = values.begin() + static_cast<std::ptrdiff_t>(i) * features;
            some.values.insert(some.values.end(), value, value + features);
        }
        return some;
    }

    /// The scores, and the positions, with excluded ones after them up to whole vectors of `width`.
    std::vector<T> padded_scores(index_t width) const {
        auto all = scores;
        all.resize(static_cast<std::size_t>(round_up(std::max<index_t>(size(), 1), width)), excluded<T>);
        return all;
    }
    std::vector<index_t> padded_keys(index_t width) const {
        auto all = keys;
        all.resize(static_cast<std::size_t>(round_up(std::max<index_t>(size(), 1), width)), index_t{-1});
        return all;
    }

    static index_t bytes_of(index_t keys, index_t features) {
        return static_cast<index_t>(sizeof(index_t))
             + keys
                   * static_cast<index_t>(sizeof(index_t) + sizeof(T) + static_cast<std::size_t>(features) * sizeof(V));
    }
    /// Copies the list; returns where the copy ends.
    std::byte* pack(std::byte* to) const {
        auto const put = [&](auto const* from, std::size_t n) {
            if (n > 0) std::memcpy(to, from, n * sizeof *from);
            to += n * sizeof *from;
        };
        index_t const count = size();
        put(&count, 1);
        put(keys.data(), keys.size());
        put(scores.data(), scores.size());
        put(values.data(), values.size());
        return to;
    }
    /// The counterpart of pack: what comes is added.
    std::byte const* unpack(index_t features, std::byte const* from) {
        auto const take = [&]<class Element>(std::vector<Element>& list, index_t n) {
            auto const old = list.size();
            list.resize(old + static_cast<std::size_t>(n));
            if (n > 0) std::memcpy(list.data() + old, from, static_cast<std::size_t>(n) * sizeof(Element));
            from += static_cast<std::size_t>(n) * sizeof(Element);
        };
        index_t count = 0;
        std::memcpy(&count, from, sizeof count);
        from += sizeof count;
        take(keys, count);
        take(scores, count);
        take(values, count * features);
        return from;
    }
};

}  // namespace fovea::FOVEA_SET::driver
