// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks of the flex families that scores are composed with; any other is asked for every pair first.
#pragma once

#include "case.hpp"

#include <fovea/fovea.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace conformance {

using index_table = std::vector<fovea::index_t>;

/// Every key is seen: nothing is piped.
struct no_mask {};

template <class Scored>
constexpr auto masked(Scored const& scored, no_mask) {
    return scored;
}
template <class Scored, class Mask>
constexpr auto masked(Scored const& scored, Mask const& mask) {
    return scored | mask;
}

/// Reads the parameters of a mask.
class mask_parameters {
public:
    mask_parameters(test_case const& subject, std::string place, fovea::extents_t<4> const& pairs)
        : subject_(subject), place_(std::move(place)), pairs_(pairs) {}

    fovea::index_t number(std::string const& key) const { return subject_.at<std::int64_t>(path(key)); }
    bool flag(std::string const& key) const { return subject_.at<bool>(path(key)); }
    index_table list(std::string const& key) const {
        auto const found = subject_.at<std::vector<std::int64_t>>(path(key));
        return {found.begin(), found.end()};
    }
    /// A list of [begin, end).
    std::vector<index_table> intervals(std::string const& key) const {
        std::vector<index_table> found;
        while (subject_.contains(path(key + "/" + std::to_string(found.size()))))
            found.push_back(list(key + "/" + std::to_string(found.size())));
        return found;
    }
    fovea::index_t queries() const { return pairs_[2]; }
    fovea::index_t keys() const { return pairs_[3]; }

    /// One number for each position of queries and keys.
    index_table per_position(auto const& number_of) const {
        index_table result;
        for (fovea::index_t i = 0; i < std::max(queries(), keys()); ++i) result.push_back(number_of(i));
        return result;
    }

private:
    std::string path(std::string const& key) const { return place_ + "/params/" + key; }

    test_case const& subject_;
    std::string place_;
    fovea::extents_t<4> pairs_;
};

/// Documents one after the other: the number of each position's document, and where each position's document begins.
struct packed_documents {
    index_table number, start;

    packed_documents(mask_parameters const& parameters, std::string const& lengths) {
        auto const sizes = parameters.list(lengths);
        fovea::index_t document = 0, begin = 0;
        number = parameters.per_position([&](fovea::index_t i) {
            while (document < std::ssize(sizes) && i - begin >= sizes[static_cast<std::size_t>(document)])
                begin += sizes[static_cast<std::size_t>(document++)];
            start.push_back(begin);
            return document;
        });
    }
};

/// The words that a score is composed with, rather than a table of all pairs.
enum class composed { no_mask, causal, sliding_window, prefix_lm, document_causal };

/// use(mask) if these, which are common beside a change of the score, have one of this name, and whether they do.
template <composed... Masks, class Use>
bool with_common_mask(std::string_view name, [[maybe_unused]] mask_parameters const& parameters, Use const& use) {
    constexpr auto composes = [](composed mask) { return ((mask == Masks) || ...); };
    if constexpr (composes(composed::causal))
        if (name == "causal") return use(fovea::causal), true;
    if constexpr (composes(composed::sliding_window))
        if (name == "sliding_window") return use(fovea::sliding_window(parameters.number("window"), 0)), true;
    if constexpr (composes(composed::prefix_lm))
        if (name == "prefix_lm") return use(fovea::prefix_lm(parameters.number("prefix"))), true;
    if constexpr (composes(composed::document_causal))
        if (name == "document_causal") {
            packed_documents const documents(parameters, "lengths");
            return use(fovea::document(documents.number) && fovea::causal), true;
        }
    return false;
}

/// A mask that has been asked for every pair (batch, head, query, key), through the language's own reading.
class verdicts {
public:
    template <class Mask>
    verdicts(Mask const& mask, fovea::extents_t<4> const& pairs)
        : answers_(static_cast<std::size_t>(pairs[0] * pairs[1] * pairs[2] * pairs[3])), pairs_(pairs) {
        auto const condition = mask.predicate();
        std::size_t i = 0;
        for (fovea::index_t b = 0; b < pairs[0]; ++b)
            for (fovea::index_t h = 0; h < pairs[1]; ++h)
                for (fovea::index_t n = 0; n < pairs[2]; ++n)
                    for (fovea::index_t m = 0; m < pairs[3]; ++m)
                        answers_[i++] = fovea::evaluate(condition, fovea::reference::index_environment<double>{
                                                                       {}, b, h, n, m, pairs[2], pairs[3], 0});
    }

    auto mask() const {
        using namespace fovea::placeholders;
        fovea::view<fovea::index_t const, 4> const table(answers_.data(), pairs_);
        return fovea::where(fovea::param(table)(batch, head, q_idx, kv_idx) == 1);
    }

private:
    index_table answers_;
    fovea::extents_t<4> pairs_;
};

/// The mask that case.json names, asked for every pair.
verdicts verdicts_of_mask(test_case const& subject, fovea::extents_t<4> const& pairs);

}  // namespace conformance
